"""The rows of tables: their cells, without the bars between them."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

SAYS = re.compile(r"[^\W_]")
"""A letter or a figure: without one, nothing is said."""
COLUMNS = " | "
"""Between the heads of columns, where they are shown."""
_BAR = re.compile(r"(?<!\\)\|")
_RULE = re.compile(r"^[ \t]*+(?=[^\n]*\|)\|?(?:[ \t]*:?-+:?[ \t]*(?:\||$))+[ \t]*$", re.MULTILINE)
"""The line below the head of a table."""
_MARKS = re.compile(r"[*_`]+|\s+")
_LONGEST = 300
"""Characters of a head that is shown."""


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


def heads_over(text: str, place: int) -> str:
    """Return what stands over a row of a table that begins at a place of a text: its head row; else ``.

    Over a place within a row that is the head of its column, with the first cell of the row, which says what it is of.
    """
    rules = _rules(text)
    rule = rules[bisect_left(rules, place, key=lambda one: one[0]) - 1] if rules and rules[0][0] < place else None
    begin = text.rfind("\n", 0, place) + 1
    if rule is None or begin <= rule[0] or any("|" not in line for line in text[rule[1] : place].split("\n")[1:-1]):
        return ""
    end = text.find("\n", place)
    row = text[begin : len(text) if end < 0 else end]
    above = text[text.rfind("\n", 0, max(0, rule[0] - 1)) + 1 : max(0, rule[0] - 1)]
    if "|" not in row or "|" not in above:
        return ""
    names = [_MARKS.sub(" ", head).strip() for head in columns(above)]
    if SAYS.search(row, 0, place - begin):
        at = column(row, place - begin)
        told = [_MARKS.sub(" ", columns(row)[0]).strip(), names[at] if at < len(names) else ""]
    else:
        told = names
    return COLUMNS.join(one for one in told if one)[:_LONGEST]


def is_head(text: str, end: int) -> bool:
    """Return whether what ends at a place of a text is the head row of a table: it names what its rows say."""
    line = text.find("\n", end)
    return line >= 0 and bool(_RULE.match(text, line + 1))


@lru_cache(maxsize=64)
def _rules(text: str) -> tuple[tuple[int, int], ...]:
    """Return where the lines below the heads of tables stand; the last texts are remembered, as for headings."""
    return tuple(found.span() for found in _RULE.finditer(text)) if "|" in text else ()
