"""Tables: how wide their columns are, and what becomes of one wider than any page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from math import ceil
from typing import Any
from unicodedata import east_asian_width

from leadline_plugins.formats.tree import Node, attributes, plain, text

Cell = list[Node]
Rows = Sequence[Sequence[Cell]]
_ALIGN = {"left": "AlignLeft", "right": "AlignRight", "center": "AlignCenter"}
LINE, _GAP = 90.0, 3
"""Characters of a table's line in print, and those between two columns."""
_FOR_WORDS = 0.5
"""The share of the line that the longest words of the columns may take before they are broken."""
_EVENED = 0.7
"""The power of a text's length its column's width goes by: 1 makes all columns of a row equally high."""
_LONGEST_WORD = 16
"""Characters up to which a word keeps its column that wide; longer ones are broken."""


def table(rows: Rows, alignments: Sequence[str], columns: int | None) -> Iterator[Node]:
    """Yield a table, or where it has more columns than that several, each beginning with the first column."""
    width = len(rows[0])
    if columns is None or width <= columns:
        yield _table(rows, alignments)
        return
    several = ceil((width - 1) / (columns - 1))
    for share in range(several):
        first, last = (1 + (width - 1) * part // several for part in (share, share + 1))
        places = [0, *range(first, last)]
        yield _table(
            [[row[place] for place in places if place < len(row)] for row in rows], [alignments[p] for p in places]
        )


def _table(rows: Rows, alignments: Sequence[str]) -> Node:
    """Return a table; where nothing is said its cells begin at the left, which some writers would centre."""
    head, *body = rows
    columns = [
        [{"t": _ALIGN.get(side, "AlignLeft")}, {"t": "ColWidth", "c": share} if share else {"t": "ColWidthDefault"}]
        for side, share in zip(alignments, widths(rows), strict=True)
    ]
    filled = [[cell or [] for cell, _ in zip_longest(row, head)] for row in body]
    parts = [[attributes(), 0, [], [_row(row) for row in filled]]]
    return {"t": "Table", "c": [attributes(), [None, []], columns, _part([head]), parts, _part([])]}


def _part(rows: Rows) -> list[Any]:
    return [attributes(), [_row(row) for row in rows]]


def _row(cells: Sequence[Cell]) -> list[Any]:
    return [attributes(), [[attributes(), {"t": "AlignDefault"}, 1, 1, [plain(cell)]] for cell in cells]]


def widths(rows: Rows) -> list[float]:
    """Return the share of the page each column gets; zeros where all fit as they are.

    A column has room for its longest word first, and where such words would take most of the line, for so much of
    them as leaves the others theirs; what is left goes by the length of the texts, somewhat evened, so that one long
    column does not starve the others.
    """
    cells = [[text(cell) for cell in column if cell] for column in zip_longest(*rows)]
    if sum(max(map(ems, column), default=0) + _GAP for column in cells) <= LINE:
        return [0.0] * len(cells)
    line = LINE * 1.2  # a wide table is set smaller
    least = _least([_longest_word(column) for column in cells], line * _FOR_WORDS)
    wanted = [_typical(column) ** _EVENED for column in cells]
    left = max(0.0, line - sum(least))
    room = [low + left * want / sum(wanted) for low, want in zip(least, wanted, strict=True)]
    return [round(width / sum(room), 4) for width in room]


def _least(longest: Sequence[float], line: float) -> list[float]:
    """Return the least room of each column, given its longest word: long words are broken before short ones are."""
    most = next((most for most in range(_LONGEST_WORD, 5, -1) if sum(min(most, word) for word in longest) <= line), 5)
    return [_GAP + min(most, word) for word in longest]


def _longest_word(cells: Sequence[str]) -> float:
    return max((ems(word) for cell in cells for word in cell.split()), default=1.0)


def _typical(cells: Sequence[str]) -> float:
    lengths = sorted(map(ems, cells)) or [1.0]
    return max(1.0, lengths[len(lengths) * 9 // 10])


def ems(text: str) -> float:
    """Return the width of a text in characters of the Latin alphabet; Chinese ones count for two."""
    return float(len(text) if text.isascii() else sum(2 if east_asian_width(c) in "WF" else 1 for c in text))
