"""Render segments as Markdown: by document and heading path, each passage a blockquote with its citation."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise

from leadline.citations import cite, uncitable
from leadline.records import Evidence
from leadline_plugins.text.tokens import has_cjk
from leadline_plugins.writing.brief.segments import Segment
from leadline_plugins.writing.brief.selection import Rated

OMITTED = "[…]"
# In a document, sections rated at least this share of the best come first.
_LEADING = 0.9
_MARKUP = re.compile(r"[\\`*_<\[\]]")
_IMAGE = re.compile(r"(?<!\\)!\[")
_DEFINED = re.compile(r"(?<=\n):   ")
_INDENT = re.compile(r"^ {4}", re.MULTILINE)
_CELLS = re.compile(r"(?<!\\)\|")


def brief_markdown(
    rated: Rated, shown: Sequence[int], titles: Mapping[str, str], urls: Mapping[str, str], level: int
) -> str:
    """Return the Markdown of the shown segments, with headings from `level`; the best document comes first.

    Documents with equal titles have their addresses in their headings.
    """
    best: dict[str, float] = {}
    for place in shown:
        name = rated.source(place)
        best[name] = max(best.get(name, 0.0), rated.ratings[place])
    often = Counter(titles.get(name, "") for name in best)
    parts: list[str] = []
    for name in sorted(best, key=lambda name: -best[name]):
        title = titles.get(name, "")
        where = f" ({urls[name]})" if often[title] > 1 and name in urls else ""
        parts.append(f"{'#' * level} {escape_markdown(f'{title or name}{where}')}")
        own = [rated.segments[place] for place in _ordered(rated, [one for one in shown if rated.source(one) == name])]
        parts += _document(own, rated.passages, title, level + 1)
    return "\n\n".join(parts)


def _ordered(rated: Rated, shown: Sequence[int]) -> list[int]:
    """Return the segments of a document by section: those nearly as good as the best first, in document order."""
    best: dict[tuple[str, ...], float] = {}
    for place in shown:
        path = _passage(rated, place).path
        best[path] = max(best.get(path, 0.0), rated.ratings[place])
    top = max(best.values())
    spans = {
        path: min(_passage(rated, one).span for one in shown if _passage(rated, one).path == path) for path in best
    }

    def order(place: int) -> tuple[bool, tuple[int, int], tuple[int, int], int]:
        passage = _passage(rated, place)
        return best[passage.path] < _LEADING * top, spans[passage.path], passage.span, rated.segments[place].start

    return sorted(shown, key=order)


def _passage(rated: Rated, place: int) -> Evidence:
    return rated.passages[rated.segments[place].passage]


def _document(own: Sequence[Segment], passages: Sequence[Evidence], title: str, level: int) -> Iterator[str]:
    """Yield the passages of a document, each under its heading path and page."""
    last, shown = "", ""
    groups = [(passages[place], list(group)) for place, group in groupby(own, key=lambda unit: unit.passage)]
    leads = [*(passage.lead for passage, _ in groups[1:]), ""]
    for (passage, parts), following in zip(groups, leads, strict=True):
        if " ".join(unit.text for unit in parts) in following:
            continue  # the next passage starts with the same text
        where = _where(passage, title)
        if where and where != last:
            yield f"{'#' * level} *{escape_markdown(where)}*"
        last = where
        introduced = parts[0].block.kind != "table" and passage.lead in shown
        yield _quoted(passage.model_copy(update={"lead": ""}) if introduced else passage, parts)
        shown += f"{passage.lead}\n{' '.join(unit.text for unit in parts)}\n"


def _where(passage: Evidence, title: str) -> str:
    """Return the heading path of a passage without the document's title, and its page."""
    path = [one for one in passage.path if one != title]
    page = "" if passage.page is None else f"p. {passage.page}"
    return ", ".join(filter(None, (" › ".join(path), page)))


def _quoted(passage: Evidence, own: Sequence[Segment]) -> str:
    text = _text(passage, own)
    ends = "\n\n" if own[-1].block.kind in ("table", "code") else "" if has_cjk(text[-1]) else " "
    lines = uncitable(text).split("\n")
    cited = f"{ends}{cite(passage.id)}".split("\n")
    lines = [*lines[:-1], lines[-1] + cited[0], *cited[1:]]
    return "\n".join(f"> {line}".rstrip() for line in lines)


def _text(passage: Evidence, own: Sequence[Segment]) -> str:
    """Return the shown segments of a passage with its lead, and marks for omissions."""
    first = own[0]
    parts = [_lead(passage.lead, first)] if passage.lead and first.block.start == 0 else []
    text = "".join(parts) + _shown(first)
    for last, unit in pairwise(own):
        text += _between(passage.quote, last, unit) + _shown(unit)
    return text


def _lead(lead: str, first: Segment) -> str:
    """Return the lead of a passage; below the header of a divided table its rows continue."""
    header = lead.rsplit("\n", 1)[-1]
    if first.block.kind == "table" and header.lstrip().startswith("|"):
        return f"{lead}\n|{' --- |' * (len(_CELLS.findall(header.strip())) - 1)}\n"
    return f"{lead}\n\n"


def _shown(unit: Segment) -> str:
    """Return the text of a segment; definitions as paragraphs, because Markdown has no definition lists."""
    if unit.block.kind == "code":
        return unit.text
    text = unit.text
    while unit.block.kind == "definition" and _DEFINED.search(text):  # once for each nested list
        text = _INDENT.sub("", _DEFINED.sub("\n    ", text))
    return _IMAGE.sub(r"!\[", text)


def _between(quote: str, last: Segment, unit: Segment) -> str:
    """Return the text between two segments, or the mark for an omission."""
    between = quote[last.end : unit.start]
    if not between.strip():
        return between
    if last.block is not unit.block:
        return f" {OMITTED}\n\n" if last.block.kind == "paragraph" else f"\n\n{OMITTED}\n\n"
    if unit.block.kind == "table":
        return f"\n| {OMITTED} |\n"
    return f"\n\n{OMITTED}\n\n" if unit.block.kind in ("list", "definition") else f" {OMITTED} "


def escape_markdown(text: str) -> str:
    """Return text of a page or question on one line, with all Markdown markup escaped."""
    return _MARKUP.sub(r"\\\g<0>", " ".join(text.split()))
