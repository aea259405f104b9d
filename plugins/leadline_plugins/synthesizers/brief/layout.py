"""Set chosen units as Markdown: grouped by document and heading path, each passage a blockquote with its citation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise

from leadline.citations import cite, uncitable
from leadline.records import Evidence
from leadline_plugins.synthesizers.brief.choice import Rated
from leadline_plugins.synthesizers.brief.units import Unit
from leadline_plugins.text.tokens import has_cjk

OMITTED = "[…]"
_LEADING = 0.9
"""Sections from this share of the rating of the best come first in a document."""
_MARKUP = re.compile(r"[\\`*_<\[\]]")
_IMAGE = re.compile(r"(?<!\\)!\[")
_DEFINED = re.compile(r"(?<=\n):   ")
_INDENT = re.compile(r"^ {4}", re.MULTILINE)
_CELLS = re.compile(r"(?<!\\)\|")


def markdown(rated: Rated, shown: Sequence[int], titles: Mapping[str, str], level: int) -> str:
    """Return the Markdown of the shown units under headings of a level; the document with the best comes first."""
    best: dict[str, float] = {}
    for place in shown:
        name = rated.source(place)
        best[name] = max(best.get(name, 0.0), rated.ratings[place])
    parts: list[str] = []
    for name in sorted(best, key=lambda name: -best[name]):
        title = titles.get(name, "")
        parts.append(f"{'#' * level} {plain(title or name)}")
        own = [rated.units[place] for place in _ordered(rated, [one for one in shown if rated.source(one) == name])]
        parts += _document(own, rated.passages, title, level + 1)
    return "\n\n".join(parts)


def _ordered(rated: Rated, shown: Sequence[int]) -> list[int]:
    """Return the units of a document by their sections: first those nearly as good as the best, in their order."""
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
        return best[passage.path] < _LEADING * top, spans[passage.path], passage.span, rated.units[place].start

    return sorted(shown, key=order)


def _passage(rated: Rated, place: int) -> Evidence:
    return rated.passages[rated.units[place].passage]


def _document(own: Sequence[Unit], passages: Sequence[Evidence], title: str, level: int) -> Iterator[str]:
    """Yield the passages of a document, each group under its heading path and page."""
    last, shown = "", ""
    groups = [(passages[place], list(group)) for place, group in groupby(own, key=lambda unit: unit.passage)]
    leads = [*(passage.lead for passage, _ in groups[1:]), ""]
    for (passage, parts), following in zip(groups, leads, strict=True):
        if " ".join(unit.text for unit in parts) in following:
            continue  # the next passage begins with it
        where = _where(passage, title)
        if where and where != last:
            yield f"{'#' * level} *{plain(where)}*"
        last = where
        introduced = parts[0].block.kind != "table" and passage.lead in shown
        yield _quoted(passage.model_copy(update={"lead": ""}) if introduced else passage, parts)
        shown += f"{passage.lead}\n{' '.join(unit.text for unit in parts)}\n"


def _where(passage: Evidence, title: str) -> str:
    """Return the heading path of a passage without the title of its document, and its page."""
    path = [one for one in passage.path if one != title]
    page = "" if passage.page is None else f"p. {passage.page}"
    return ", ".join(filter(None, (" › ".join(path), page)))


def _quoted(passage: Evidence, own: Sequence[Unit]) -> str:
    text = _text(passage, own)
    ends = "\n\n" if own[-1].block.kind in ("table", "code") else "" if has_cjk(text[-1]) else " "
    lines = uncitable(text).split("\n")
    cited = f"{ends}{cite(passage.id)}".split("\n")
    lines = [*lines[:-1], lines[-1] + cited[0], *cited[1:]]
    return "\n".join(f"> {line}".rstrip() for line in lines)


def _text(passage: Evidence, own: Sequence[Unit]) -> str:
    """Return the shown units of a passage, after the lead where they begin it, with marks for what is omitted."""
    first = own[0]
    parts = [_lead(passage.lead, first)] if passage.lead and first.block.start == 0 else []
    text = "".join(parts) + _shown(first)
    for last, unit in pairwise(own):
        text += _between(passage.quote, last, unit) + _shown(unit)
    return text


def _lead(lead: str, first: Unit) -> str:
    """Return what introduces a passage; the header of a divided table continues in its rows."""
    header = lead.rsplit("\n", 1)[-1]
    if first.block.kind == "table" and header.lstrip().startswith("|"):
        return f"{lead}\n|{' --- |' * (len(_CELLS.findall(header.strip())) - 1)}\n"
    return f"{lead}\n\n"


def _shown(unit: Unit) -> str:
    """Return the text of a unit; a definition as paragraphs, since Markdown proper has no lists of definitions."""
    if unit.block.kind == "code":
        return unit.text
    text = unit.text
    while unit.block.kind == "definition" and _DEFINED.search(text):  # one more for each list in another
        text = _INDENT.sub("", _DEFINED.sub("\n    ", text))
    return _IMAGE.sub(r"!\[", text)


def _between(quote: str, last: Unit, unit: Unit) -> str:
    """Return what joins two units: the text between them, or the mark for what is omitted there."""
    between = quote[last.end : unit.start]
    if not between.strip():
        return between
    if last.block is not unit.block:
        return f" {OMITTED}\n\n" if last.block.kind == "paragraph" else f"\n\n{OMITTED}\n\n"
    if unit.block.kind == "table":
        return f"\n| {OMITTED} |\n"
    return f"\n\n{OMITTED}\n\n" if unit.block.kind in ("list", "definition") else f" {OMITTED} "


def plain(text: str) -> str:
    """Return text of a page or a question as Markdown in one line, nothing of it as markup."""
    return _MARKUP.sub(r"\\\g<0>", " ".join(text.split()))
