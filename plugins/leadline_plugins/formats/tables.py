"""Tables: how wide their columns are, and what becomes of one wider than any page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any
from unicodedata import east_asian_width

from leadline_plugins.formats.tree import Node, attributes, plain, text

Cell = list[Node]
Rows = Sequence[Sequence[Cell]]
_ALIGN = {"left": "AlignLeft", "right": "AlignRight", "center": "AlignCenter"}
_LINE, _GAP = 90.0, 3
"""Characters of a table's line in print, and those between two columns."""
_LONGEST_WORD = 16
"""Characters up to which a word keeps its column that wide; longer ones are broken."""


def table(rows: Rows, alignments: Sequence[str], columns: int | None) -> Iterator[Node]:
    """Yield a table, or where it has more columns than that several, each beginning with the first column."""
    width = len(rows[0])
    if columns is None or width <= columns:
        yield _table(rows, alignments)
        return
    for start in range(1, width, columns - 1):
        places = [0, *range(start, min(start + columns - 1, width))]
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

    A column has room for its longest word first; what is left goes by the root of its text, so that one long column
    does not starve the others.
    """
    cells = [[text(cell) for cell in column if cell] for column in zip_longest(*rows)]
    if sum(max(map(_ems, column), default=0) + _GAP for column in cells) <= _LINE:
        return [0.0] * len(cells)
    least = [_GAP + min(_LONGEST_WORD, _longest_word(column)) for column in cells]
    wanted = [_typical(column) ** 0.5 for column in cells]
    left = max(0.0, _LINE * 1.2 - sum(least))  # a wide table is set smaller
    room = [low + left * want / sum(wanted) for low, want in zip(least, wanted, strict=True)]
    return [round(width / sum(room), 4) for width in room]


def _longest_word(cells: Sequence[str]) -> float:
    return max((_ems(word) for cell in cells for word in cell.split()), default=1.0)


def _typical(cells: Sequence[str]) -> float:
    lengths = sorted(map(_ems, cells)) or [1.0]
    return max(1.0, lengths[len(lengths) * 9 // 10])


def _ems(text: str) -> float:
    """Return the width of a text in characters of the Latin alphabet; Chinese ones count for two."""
    return float(len(text) if text.isascii() else sum(2 if east_asian_width(c) in "WF" else 1 for c in text))
