"""A report read: blocks, then the list of sources, then the marks in the rest.

`CitedReport.text` is the prose again, with each mark as a citation, so that the claims of any report are cut like those
of our own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from leadline.citations import cite, uncitable
from leadline_plugins.formats.sections import unmarked
from leadline_plugins.verification.reports.blocks import Block, Flat, host, parse
from leadline_plugins.verification.reports.marks import Entry, Mark, authored, linked, numbered
from leadline_plugins.verification.reports.references import Covered, entries, lists
from leadline_plugins.wording import say, tags

_OF_ITSELF = ("method", "checks", "statistics")
_SPACED = re.compile(r"\s+")


@dataclass(frozen=True)
class CitedReport:
    """A report as its citations show it; `urls` are all addresses in it, in order, each once."""

    title: str
    entries: Mapping[str, Entry]
    marks: tuple[Mark, ...]
    urls: tuple[str, ...]
    text: str = ""
    """Its prose as Markdown, without the list of sources; marks are citations by place in `targets`: `[@0]`."""
    targets: tuple[str, ...] = ()
    """The keys of entries and the addresses that its marks name, each once."""

    def entry(self, key: str) -> Entry | None:
        """Return the entry of a key; a footnote may be listed by its bare number, and the other way round."""
        other = key.removeprefix("^") if key.startswith("^") else f"^{key}"
        return self.entries.get(key) or self.entries.get(other)

    def dangling(self) -> Iterator[str]:
        """Yield the keys in the text that have no entry, in order, each once."""
        keys = dict.fromkeys(key for mark in self.marks for key in mark.keys)
        return (key for key in keys if self.entry(key) is None)


def read(markdown: str) -> CitedReport:
    """Return what a Markdown report cites, by whichever convention."""
    blocks, defined = parse(unmarked(markdown))
    listed, covered = entries(blocks, lists(blocks), defined)
    if any(block.flat.escaped for block in blocks) and not _has_marks(blocks, covered):
        for block in blocks:  # a tool that has no other marks has escaped them all
            block.flat.escaped.clear()
        listed, covered = entries(blocks, lists(blocks), defined)
    found: list[Mark] = []
    prose = _Prose()
    aside, level = _of_itself(blocks), 0
    for place, block in enumerate(blocks):
        if block.kind == "code":
            continue
        spans = covered.get(place, [])
        own = sorted((mark for mark in _marks(block.flat, listed) if _counts(mark, spans)), key=lambda mark: mark.start)
        found += own
        if block.kind == "heading":
            level = block.level if place in aside else 0 if block.level <= level else level
        if not spans and not level:
            prose.add(block, own)
    return CitedReport(
        title=next((block.flat.text.strip() for block in blocks if block.kind == "heading"), ""),
        entries=listed,
        marks=tuple(found),
        urls=tuple(dict.fromkeys([*_urls(blocks), *defined.values()])),
        text="\n".join(prose.lines),
        targets=tuple(prose.targets),
    )


def _has_marks(blocks: list[Block], covered: Covered) -> bool:
    """Return whether the text cites sources by number."""
    prose = ((place, block) for place, block in enumerate(blocks) if block.kind != "code")
    return any(_counts(mark, covered.get(place, [])) for place, block in prose for mark in numbered(block.flat))


def _counts(mark: Mark, spans: list[tuple[int, int, bool]]) -> bool:
    """Return whether a mark is in the text, or at least a number within an entry that has none itself."""
    inside = [bracketed for start, end, bracketed in spans if start <= mark.start < end]
    return not any(inside) and (not inside or bool(mark.keys))


def _urls(blocks: list[Block]) -> Iterator[str]:
    for block in blocks:
        found = sorted([*block.flat.links, *block.flat.bare()])
        yield from (url for _, _, url in found if url.lower().startswith(("http://", "https://")))


def _marks(flat: Flat, listed: Mapping[str, Entry]) -> Iterator[Mark]:
    yield from numbered(flat)
    yield from linked(flat)
    for mark, names in authored(flat):
        keys = tuple(key for name, year in names for key in [_authored(listed, name, year)] if key)
        if keys:
            yield Mark(mark.text, mark.start, mark.end, keys, silent=mark.silent)


def _authored(listed: Mapping[str, Entry], name: str, year: str) -> str:
    """Return the key of the entry that begins with this author, or is at this site, and has this year; or nothing."""
    first = re.split(r"\s+et al|\s+(?:and|&)\s|,", name.strip())[0].casefold()
    fits = (key for key, entry in listed.items() if year in entry.text and _by(entry, first))
    return next(fits, "") if len(first) > 1 else ""


def _by(entry: Entry, name: str) -> bool:
    site = name.removeprefix("www.")
    return entry.text.casefold().startswith(name) or any(host(url) == site for url in entry.urls)


def _of_itself(blocks: Sequence[Block]) -> frozenset[int]:
    """Return the places of the headings under which a report of ours describes its method and checks.

    It is known by the heading of its sources, or by two of these. Sections may have such a title too: the last counts.
    """
    last = {block.flat.text.strip(): place for place, block in enumerate(blocks) if block.kind == "heading"}
    found: set[int] = set()
    for tag in tags():
        own = [last[name] for name in (say(told, tag) for told in _OF_ITSELF) if name in last]
        if say("cited", tag) in last or len(own) > 1:
            found.update(own)
    return frozenset(found)


# --- the prose again -------------------------------------------------------------------------------------------------


class _Prose:
    """Blocks as Markdown with their marks as citations."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.targets: dict[str, int] = {}

    def add(self, block: Block, own: Sequence[Mark]) -> None:
        """Add a block, with a blank line around what is no item or row; a quotation stays one block."""
        text = block.flat.text
        if block.quoted:
            self.lines += [">"] if self.lines[-1:] and self.lines[-1].startswith(">") else [""]
            self.lines.append(f"> {_line(self._cited(text, own, 0, len(text)))}")
            return
        if self.lines and self.lines[-1].startswith(">"):
            self.lines.append("")
        if block.kind == "heading":
            self.lines.append(f"\n{'#' * block.level} {_line(text)}\n")
        elif block.kind == "row":
            cells = [self._cell(text, own, cell) for cell in block.cells]
            self.lines += [*([""] if block.row == 0 else []), f"| {' | '.join(cells)} |"]
            self.lines += ["|---" * len(cells) + "|"] if block.row == 0 else []
        else:
            said = _line(self._cited(text, own, 0, len(text)))
            self.lines.append(f"- {said}" if block.item else f"\n{said}\n")

    def _cell(self, text: str, own: Sequence[Mark], cell: tuple[int, int]) -> str:
        return _line(self._cited(text, own, *cell)).strip("| ").replace("|", "\\|")

    def _cited(self, text: str, own: Sequence[Mark], start: int, end: int) -> str:
        """Return a part of a text with its marks as citations; a mark that is a word of its sentence stays as well."""
        parts: list[str] = []
        at = start
        for mark in own:
            if at <= mark.start < end:
                said = "" if mark.silent else uncitable(text[mark.start : mark.end])
                parts += [uncitable(text[at : mark.start]), f"{said} {self._citations(mark)}"]
                at = mark.end
            elif start <= mark.start < at:
                parts.append(self._citations(mark))
        return "".join([*parts, uncitable(text[at:end])])

    def _citations(self, mark: Mark) -> str:
        names = mark.keys or (mark.url,)
        return "".join(cite(str(self.targets.setdefault(name, len(self.targets)))) for name in names)


def _line(text: str) -> str:
    return _SPACED.sub(" ", text).strip()
