"""The rows of tables: their cells, without the bars between them."""

from __future__ import annotations

import re
from collections.abc import Sequence

SAYS = re.compile(r"[^\W_]")
"""A letter or a figure: without one, nothing is said."""
_BAR = re.compile(r"(?<!\\)\|")


def cells(row: str, number: int) -> tuple[str, ...]:
    """Return the cells of a row that say something: not a first one that only counts the rows."""
    said = [cell.strip().replace("\\|", "|") for cell in _BAR.split(row)]
    said = [cell for cell in said if SAYS.search(cell)]
    return tuple(said[1:] if counted(said, number) else said)


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
