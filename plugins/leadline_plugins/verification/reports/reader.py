"""Read a report: its blocks, then the list of sources, then the citation marks in the prose.

`CitedReport.text` is the prose with each mark as a citation, so claims are cut as in Leadline's own reports.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from leadline.citations import cite, uncitable
from leadline_plugins.formats.marks import without_signs
from leadline_plugins.verification.reports.blocks import ReportBlock, Spans, parse_blocks
from leadline_plugins.verification.reports.marks import Entry, Mark, linked, numbered
from leadline_plugins.verification.reports.references import Covered, entries, lists
from leadline_plugins.wording.phrases import languages, phrase

_OF_ITSELF = ("contents", "open", "disagree", "brief_about", "brief_further")
_RARE = ("method", "checks", "statistics")
_SPACED = re.compile(r"\s+")
# YAML between two lines of dashes at the beginning.
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(?:[\w-]+:.*\n|[ \t-].*\n)+?---[ \t]*\n")


@dataclass(frozen=True)
class CitedReport:
    """A report and its citations; `urls` are all distinct addresses in it, in order."""

    title: str
    entries: Mapping[str, Entry]
    marks: tuple[Mark, ...]
    urls: tuple[str, ...]
    # Its prose as Markdown, without the list of sources; `[@0]` cites the first of `targets`.
    text: str = ""
    # The distinct keys of entries and addresses that its marks name.
    targets: tuple[str, ...] = ()

    def entry(self, key: str) -> Entry | None:
        """Return the entry of a key; a footnote may be listed by its plain number, or a number as a footnote."""
        other = key.removeprefix("^") if key.startswith("^") else f"^{key}"
        return self.entries.get(key) or self.entries.get(other)

    def dangling(self) -> Iterator[str]:
        """Yield the distinct keys in the text that have no entry, in order."""
        keys = dict.fromkeys(key for mark in self.marks for key in mark.keys)
        return (key for key in keys if self.entry(key) is None)


def read_report(markdown: str) -> CitedReport:
    """Return the citations of a Markdown report, in any convention."""
    blocks, defined = parse_blocks(without_signs(_FRONT_MATTER.sub("", markdown)))
    listed, covered = entries(blocks, lists(blocks), defined)
    if any(block.flat.escaped for block in blocks) and not _has_marks(blocks, covered):
        for block in blocks:  # without other marks, the tool has escaped all of them
            block.flat.escaped.clear()
        listed, covered = entries(blocks, lists(blocks), defined)
    all_marks: list[Mark] = []
    prose = _Prose()
    aside, level = _own_parts(blocks), 0
    for index, block in enumerate(blocks):
        if block.kind == "code":
            continue
        spans = _EntrySpans(covered.get(index, ()))
        marks = (mark for mark in chain(numbered(block.flat), linked(block.flat)) if spans.leave(mark))
        own = sorted(marks, key=lambda mark: mark.start)
        all_marks += own
        if block.kind == "heading":
            level = block.level if index in aside else 0 if block.level <= level else level
        if index not in covered and index not in aside and not level:
            prose.add(block, own)
    return CitedReport(
        title=next((block.flat.text.strip() for block in blocks if block.kind == "heading"), ""),
        entries=listed,
        marks=tuple(all_marks),
        urls=tuple(dict.fromkeys([*_urls(blocks), *defined.values()])),
        text="\n".join(prose.lines),
        targets=tuple(prose.targets),
    )


def _has_marks(blocks: list[ReportBlock], covered: Covered) -> bool:
    """Return whether the text cites sources by number."""
    for index, block in enumerate(blocks):
        spans = _EntrySpans(covered.get(index, ()))
        if block.kind != "code" and any(map(spans.leave, numbered(block.flat))):
            return True
    return False


class _EntrySpans:
    """The spans of a block that are entries of the list of sources."""

    def __init__(self, spans: Sequence[tuple[int, int, bool]]) -> None:
        self._all = Spans(spans)
        self._bracketed = Spans(span for span in spans if span[2])

    def leave(self, mark: Mark) -> bool:
        """Return whether a mark is in the prose, or inside an entry that itself has no bracketed number."""
        return mark.start not in self._bracketed and (mark.start not in self._all or bool(mark.keys))


def _urls(blocks: list[ReportBlock]) -> Iterator[str]:
    for block in blocks:
        links = sorted([*block.flat.links, *block.flat.bare()])
        yield from (url for _, _, url in links if url.lower().startswith(("http://", "https://")))


def _own_parts(blocks: Sequence[ReportBlock]) -> frozenset[int]:
    """Return the indices of the headings of Leadline's own sections, such as method and checks, and of its own notes.

    They count if the report has the heading of Leadline's sources, or two that other reports seldom have. Of equal
    headings the last counts.
    """
    kinds = ("text", "heading")
    last = {b.flat.text.strip(): index for kind in kinds for index, b in enumerate(blocks) if b.kind == kind}
    indexes: set[int] = set()
    for tag in languages():
        rare, own = ([last[name] for key in keys if (name := phrase(key, tag)) in last] for keys in (_RARE, _OF_ITSELF))
        if phrase("cited", tag) in last or len(rare) > 1:
            indexes.update((*rare, *own))
    return frozenset(indexes)


# --- prose -----------------------------------------------------------------------------------------------------------


class _Prose:
    """Builds Markdown whose marks are citations."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.targets: dict[str, int] = {}

    def add(self, block: ReportBlock, own: Sequence[Mark]) -> None:
        """Add a block; all but items and rows are surrounded by blank lines, and a quotation stays one block."""
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
            line = _line(self._cited(text, own, 0, len(text)))
            self.lines.append(f"- {line}" if block.item else f"\n{line}\n")

    def _cell(self, text: str, own: Sequence[Mark], cell: tuple[int, int]) -> str:
        return _line(self._cited(text, own, *cell)).strip("| ").replace("|", "\\|")

    def _cited(self, text: str, own: Sequence[Mark], start: int, end: int) -> str:
        """Return a part of a text with its marks as citations; a mark that is a word of its sentence stays, too."""
        parts: list[str] = []
        at = start
        first, after = (bisect_left(own, offset, key=lambda mark: mark.start) for offset in (start, end))
        for mark in own[first:after]:
            if at <= mark.start:
                word = "" if mark.silent else uncitable(text[mark.start : mark.end])
                parts += [uncitable(text[at : mark.start]), f"{word} {self._citations(mark)}"]
                at = mark.end
            else:
                parts.append(self._citations(mark))
        return "".join([*parts, uncitable(text[at:end])])

    def _citations(self, mark: Mark) -> str:
        names = mark.keys or (mark.url,)
        return "".join(cite(str(self.targets.setdefault(name, len(self.targets)))) for name in names)


def _line(text: str) -> str:
    return _SPACED.sub(" ", text).strip()
