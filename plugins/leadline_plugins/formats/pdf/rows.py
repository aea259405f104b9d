"""Rows of tables that stay whole: a page ends between two of them, unless one is long."""

from __future__ import annotations

from math import ceil
from typing import Any

from leadline_plugins.formats.tables import LINE, ems
from leadline_plugins.formats.tree import Node, text

_LONGEST, _LONGEST_SMALL, _SMALL = 20, 27, 6
"""Lines of a row up to which it is kept whole, which leaves a third of a page empty at worst; in tables of more
columns than `_SMALL`, whose text is small, some more."""


def whole(node: Any) -> Any:
    """Return a tree whose tables have their short rows marked as unbreakable, in Pandoc's words for Typst."""
    match node:
        case list():
            return [whole(item) for item in node]
        case {"t": "Table", "c": [attr, caption, columns, head, bodies, foot]}:
            shares = [width.get("c", 0.0) for _, width in columns]
            kept = [[own, heads, top, [_row(row, shares) for row in rows]] for own, heads, top, rows in bodies]
            return {"t": "Table", "c": [attr, caption, columns, head, kept, foot]}
        case {"t": "BulletList" | "BlockQuote" | "OrderedList" | "Div" as kind, "c": content}:
            return {"t": kind, "c": whole(content)}
    return node


def _row(row: list[Any], shares: list[float]) -> list[Any]:
    """Return a row; one unbreakable cell makes it so. A list within a cell does not come from Markdown."""
    attr, cells = row
    longest = _LONGEST if len(cells) <= _SMALL else _LONGEST_SMALL
    if not cells or max(map(_lines, cells, shares)) > longest:
        return row
    (name, classes, values), *rest = cells[0]
    return [attr, [[[name, classes, [*values, ["typst:breakable", "false"]]], *rest], *cells[1:]]]


def _lines(cell: list[Any], share: float) -> int:
    """Return about how many lines a cell takes; words that do not fill their line make it more than its length says."""
    blocks: list[Node] = cell[-1]
    return ceil(1.15 * ems(text(blocks)) / (share * LINE)) if share else 1
