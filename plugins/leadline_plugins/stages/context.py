"""Where a sentence of a report stands: under which heading, between which sentences, in which row of a table.

Whom a sentence speaks of may stand there alone, and what is said of the wrong one is wrong.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

from leadline.citations import CITATIONS, uncited, unenclosed
from leadline_plugins.checks.quotes import bared
from leadline_plugins.stages.paragraphs import Paragraph
from leadline_plugins.stages.remarks import RemarkKind, remark
from leadline_plugins.stages.said import Said, begins_line, blank
from leadline_plugins.text.rows import SAYS, Row, column, columns, counted

_SPACE_LEFT = re.compile(r" (?=[.,;:!?。，；：！？、)）])")
"""What is left before a sign where a citation stood."""


@dataclass(frozen=True)
class Context:
    """What a sentence stands `under`, those `before` and `behind` it, and it `whole` where it is cut in parts."""

    under: str = ""
    before: str = ""
    behind: str = ""
    whole: str = ""


def row_of(said: Said, text: str, begin: int, end: int, number: int) -> Row:
    """Return what a row, which is the so many-th, says between two places of a text."""
    row = said.row(begin)
    start, stop = row.span if row else (begin, end)
    part = uncited(unenclosed(text[begin:end]))
    whole = begins_line(text, begin)
    at = column(text[start:stop], begin - start) + (not whole and part.lstrip().startswith("|"))
    cells = [(place, cell) for place, cell in enumerate(columns(part), start=at) if SAYS.search(cell)]
    own = [cell for cell in enumerate(columns(uncited(unenclosed(text[start:stop])))) if SAYS.search(cell[1])]
    counts = counted([cell for _, cell in own], number)
    if whole and counts and len(cells) > 1:
        cells = cells[1:]
    heads = [bared(head) for head in said.head(begin)]
    first = own[counts : counts + 1]
    return Row(
        cells=tuple(cell for _, cell in cells),
        heads=tuple(heads[place] if (place, cell) not in first and place < len(heads) else "" for place, cell in cells),
        first=tuple(cell for place, cell in first if not whole and cells and place < cells[0][0]),
    )


class Surroundings:
    """The sentences of a paragraph, whole, though citations may stand within them."""

    def __init__(self, part: Paragraph) -> None:
        self._under = part.under
        self._text = CITATIONS.sub(lambda run: blank(run.group()), part.text)
        self._pieces = [
            piece for piece in Said(self._text).between(0, len(self._text)) if SAYS.search(self._text, *piece.span)
        ]
        self._starts = [piece.span[0] for piece in self._pieces]

    def of(self, begin: int, end: int, *, row: bool) -> Context:
        """Return where what stands between two places stands; of a `row` it is told with its cells."""
        place = self._place(begin)
        whole, said = self._said(place), self._text[begin:end]
        return Context(
            under=self._under,
            before=self._said(place - 1),
            behind=self._said(place + 1),
            whole=bared(whole) if not row and _is_part(said, whole) else "",
        )

    def remark(self, begin: int, said: str) -> RemarkKind | None:
        """Return what kind of remark it is that begins at a place: the sentence that it is of, or it alone."""
        first, last = self._pieces[self._place(begin)].span if self._pieces else (begin, begin)
        around = f"{self._under}\n{self._text[:first]}\n{self._text[last:]}"
        whole = self._said(self._place(begin))
        return remark(whole, around) or (remark(said, around) if _is_part(said, whole) else None)

    def _place(self, at: int) -> int:
        return max(0, bisect_right(self._starts, at) - 1)

    def _said(self, place: int) -> str:
        if not 0 <= place < len(self._pieces):
            return ""
        return _SPACE_LEFT.sub("", " ".join(self._text[slice(*self._pieces[place].span)].split()))


def _is_part(said: str, whole: str) -> bool:
    """Return whether a text is a part of a sentence, and more than its last signs is missing."""
    return len(whole) > len(" ".join(said.split())) + 2
