"""The rows of tables: their cells, without the bars between them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

SAYS = re.compile(r"[^\W_]")
"""A letter or a figure: without one, nothing is said."""
_BAR = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True)
class Row:
    """What a row of a table says: its cells or some of them, and the heads over those.

    The `first` cell of the row tells what it is about: it needs no head, and goes with cells that it is not among.
    """

    cells: tuple[str, ...] = ()
    heads: tuple[str, ...] = ()
    first: tuple[str, ...] = ()

    def shown(self) -> str:
        """Return what it says in a line: `Sweden; Held back by: debt`."""
        named = (f"{head}: {cell}" if head else cell for head, cell in zip(self.heads, self.cells, strict=True))
        return "; ".join((*self.first, *named))


def counted(said: Sequence[str], number: int) -> bool:
    """Return whether the first of a row's cells that say something only counts the rows."""
    return len(said) > 1 and said[0].strip("*_.) ") == str(number)


def columns(row: str) -> list[str]:
    """Return what stands in each column of a row, which may have bars around it."""
    inner = row.strip().removeprefix("|")
    inner = inner[:-1] if inner.endswith("|") and not inner.endswith("\\|") else inner
    return [cell.strip().replace("\\|", "|") for cell in _BAR.split(inner)]


def column(row: str, at: int) -> int:
    """Return in which column of a row a place is, counted from 0."""
    return max(0, len(_BAR.findall(row[:at])) - row.lstrip().startswith("|"))
