"""The rows of tables: what their cells say, without the bars between them and the numbers that only count them."""

from __future__ import annotations

import re

SAYS = re.compile(r"[^\W_]")
"""A letter or a figure: without one, nothing is said."""
_BAR = re.compile(r"(?<!\\)\|")


def cells(row: str, number: int) -> tuple[str, ...]:
    """Return the cells of a row that say something: not a first one that only counts the rows."""
    said = [cell.strip().replace("\\|", "|") for cell in _BAR.split(row)]
    said = [cell for cell in said if SAYS.search(cell)]
    counts = len(said) > 1 and said[0].strip("*_.) ") == str(number)
    return tuple(said[1:] if counts else said)
