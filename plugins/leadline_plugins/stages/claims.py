"""The claims of a report, each sentence with the evidence cited for it, and where it stands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import zip_longest
from typing import Literal

from leadline.citations import CITATIONS, cited
from leadline.findings import Unjudged
from leadline.records import Report
from leadline_plugins.checks.quotes import bared, plain
from leadline_plugins.stages.context import Context, Surroundings, row_of
from leadline_plugins.stages.elsewhere import with_elsewhere
from leadline_plugins.stages.paragraphs import Paragraph, heading_level, leads, paragraphs, points
from leadline_plugins.stages.remarks import RemarkKind
from leadline_plugins.stages.said import Piece, Said, begins_line, labels
from leadline_plugins.text.rows import SAYS, Row
from leadline_plugins.text.sentences import Span

_LEFT = re.compile(r"(?:[\s.!?。！？…,;:，；：、)）\]】」』”’]|[*_]+(?=\s))+")
"""What stands behind a citation and belongs to the sentence before it."""
_OPENED = " \t\n(（[【［"
"""What stands before a citation in brackets and belongs to it."""
_NUMBER = r"(?:[(（]\d{1,3}[)）]|\d{1,3}(?:[、．）]|[.)](?=(?:\*\*|__)?(?:\s|$))))"
_COUNTED = re.compile(rf"(?:[-*+•]\s+)?(?P<mark>\*\*|__)?{_NUMBER}(?P<closed>(?P=mark))?\s*")
"""The number of a list's item, which a sentence taken over word for word would be contradicted by."""

_MORE = re.compile(r"[ \t]*\S")
_NEAR = re.compile(r"[\W_]*")
"""What may stand between a sentence and the citation of its own."""
_BESIDE = 8
"""Passages of its paragraph that a sentence without a citation of its own is held against, the next first."""


@dataclass(frozen=True)
class Claim:
    """A sentence that cites, or what a table's row says: its id, its text, and the ids it cites.

    `span` is where it stands in its section's text and `run` where its citations do; claims with one run share them.
    `row` is of the row of a table, whose cells its text joins. `own`: its citations stand right behind it. Where they
    do not, `beside` is what else its paragraph cites, for what opens a paragraph is borne by all of it, and what the
    report cites elsewhere for the same.
    """

    id: str
    section_id: str
    text: str
    cite_ids: tuple[str, ...]
    span: Span = field(compare=False)
    run: Span = field(compare=False)
    row: Row = field(default_factory=Row)
    own: bool = field(default=True, compare=False)
    beside: tuple[str, ...] = ()
    context: Context = field(default_factory=Context, compare=False)

    @property
    def shown(self) -> str:
        """It as people are shown it: with the signs it has in the text, and of a row with what it stands under."""
        return bared(self.row.shown() if self.row.cells else self.text)

    @property
    def said(self) -> str:
        """It in the form in which texts are compared; a part of a row with the row's first cell.

        That stands last: of the first word of a sentence the capital tells nothing.
        """
        return plain("; ".join((*self.row.cells, *self.row.first)) if self.row.cells else self.text)


def claims(part: Paragraph) -> Iterator[Claim]:
    """Yield what a paragraph says that a citation serves: all since the last one, and the rest of its table's row."""
    return (one for one in _stated(part) if isinstance(one, Claim))


def unjudged(part: Paragraph) -> Iterator[Unjudged]:
    """Yield the sentences of a paragraph that are held against nothing: remarks, and what is cited nowhere."""
    return (one for one in _stated(part) if isinstance(one, Unjudged))


@lru_cache(maxsize=2048)
def _stated(part: Paragraph) -> tuple[Claim | Unjudged, ...]:
    """Return both, in order; remembered, for paragraphs are gone through when they are written, checked and told."""
    return () if heading_level(part.text) else tuple(_read(part))


def _read(part: Paragraph) -> Iterator[Claim | Unjudged]:
    block, start, count = _Block(part), 0, 0
    runs = list(CITATIONS.finditer(part.text))
    for run, following in zip_longest(runs, runs[1:]):
        rest = _rest(block.said, part.text, run, following)
        for piece in _served(block.said, start, run.start(), rest):
            if made := block.claim(piece, start, run, count + 1):
                count += 1
                yield made
        start = rest.span[1] if rest else run.end()
    for piece in block.said.between(start, len(part.text)) if part.states else ():
        if made := block.uncited(piece, start, count + 1):
            count += 1
            yield made


class _Block:
    """A paragraph that is gone through; `start` is where what a citation serves begins."""

    def __init__(self, part: Paragraph) -> None:
        self.said = Said(part.text)
        self._part, self._text = part, part.text
        self._surroundings = Surroundings(part)

    def claim(self, piece: Piece, start: int, run: re.Match[str], number: int) -> Claim | Unjudged | None:
        """Return what a piece says that is served by these citations; None where it says nothing."""
        begin, end, text, row = self._read(piece, start)
        if (labels(text) and _MORE.match(self._text, end, run.start())) or not SAYS.search(text):
            return None
        if made := self._remark(begin, text, row, number):
            return made
        if leads(text.strip()) and not row.cells:
            return None
        names = tuple(dict.fromkeys(cited(run.group())))
        own = bool(row.cells) or bool(_NEAR.fullmatch(self._text, end, run.start()))
        return Claim(
            id=f"{self._part.id}.{number}",
            section_id=self._part.section_id,
            text=text,
            cite_ids=names,
            span=_moved(_unbarred(self._text, begin, end) if row.cells else (begin, end), self._part.start),
            run=_moved(run.span(), self._part.start),
            row=row,
            own=own,
            beside=() if own else self._beside(run, names),
            context=self._surroundings.of(begin, end, row=bool(row.cells)),
        )

    def uncited(self, piece: Piece, start: int, number: int) -> Unjudged | None:
        """Return what a piece says that no citation stands behind."""
        begin, end, text, row = self._read(piece, start)
        if (
            not SAYS.search(text)
            or (labels(text) and _MORE.match(self._text, end))
            or leads(text.strip())
            or points(text)
        ):
            return None
        if made := self._remark(begin, text, row, number):
            return made
        return self._unjudged("uncited", bared(row.shown() if row.cells else text), number)

    def _read(self, piece: Piece, start: int) -> tuple[int, int, str, Row]:
        """Return where a piece begins and ends without what belongs to others, its text, and its row."""
        begin, end = piece.span
        if (
            begin
            and (begin == start or self._text[:begin].endswith("]"))
            and (left := _LEFT.match(self._text, begin, end))
        ):
            begin = left.end()
        end = begin + len(self._text[begin:end].rstrip(_OPENED))
        row = row_of(self.said, self._text, begin, end, piece.row) if piece.row else Row()
        return begin, end, "; ".join(row.cells) if piece.row else _uncounted(self._text, begin, end), row

    def _remark(self, begin: int, text: str, row: Row, number: int) -> Unjudged | None:
        kind = None if row.cells else self._surroundings.remark(begin, text)
        return self._unjudged(kind, bared(text), number) if kind else None

    def _unjudged(self, kind: RemarkKind | Literal["uncited"], text: str, number: int) -> Unjudged:
        return Unjudged(id=f"{self._part.id}.{number}", section_id=self._part.section_id, text=text, kind=kind)

    def _beside(self, run: re.Match[str], names: Sequence[str]) -> tuple[str, ...]:
        """Return what else the paragraph cites: what stands behind these citations first, then what before."""
        behind, before = cited(self._text[run.end() :]), reversed(cited(self._text[: run.start()]))
        return tuple(name for name in dict.fromkeys((*behind, *before)) if name not in names)[:_BESIDE]


def _rest(said: Said, text: str, run: re.Match[str], following: re.Match[str] | None) -> Piece | None:
    """Return what stands behind the last citation of a row, which serves that too."""
    row = said.row(run.end() - len(run.group().lstrip()))
    if row is None or run.end() > row.span[1] or (following and following.start() < row.span[1]):
        return None
    return Piece((run.end(), row.span[1]), row.row) if SAYS.search(text, run.end(), row.span[1]) else None


def _served(said: Said, start: int, end: int, rest: Piece | None) -> list[Piece]:
    """Return the pieces before a citation; what is left of its row is one with what that says before it."""
    pieces = said.between(start, end)
    if rest is None:
        return pieces
    if pieces and (pieces[-1].row, pieces[-1].span[1]) == (rest.row, end):
        rest = replace(rest, span=(pieces.pop().span[0], rest.span[1]))
    return [*pieces, rest]


def _moved(span: Span, by: int) -> Span:
    return span[0] + by, span[1] + by


def _uncounted(text: str, begin: int, end: int) -> str:
    """Return a sentence without the number of the list's item that it begins, but with what is bold from there on."""
    counted = _COUNTED.match(text, begin, end) if begins_line(text, begin) else None
    if counted is None:
        return text[begin:end]
    return (counted["mark"] if counted["mark"] and not counted["closed"] else "") + text[counted.end() : end]


def _unbarred(text: str, begin: int, end: int) -> Span:
    """Return the span of a row without the bars around it."""
    row = text[begin:end]
    return begin + len(row) - len(row.lstrip(" \t|")), begin + len(row.rstrip(" \t|"))


def claims_of(report: Report) -> list[Claim]:
    """Return all claims of a report, in order; what has no citation of its own with that of the same elsewhere."""
    return with_elsewhere([claim for part in paragraphs(report) for claim in claims(part)])
