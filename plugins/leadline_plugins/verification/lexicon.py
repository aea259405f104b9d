"""Word lists, one TOML file per language: number words, scales, months, units. A test reads the example of each row."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from decimal import Decimal
from functools import cache
from importlib.resources import files

Row = tuple[str, ...]


@cache
def languages() -> dict[str, dict[str, list[list[str]]]]:
    """Return the tables of all languages, by file name."""
    paths = sorted(files(__package__).joinpath("data").iterdir(), key=lambda path: path.name)
    return {
        path.name.removesuffix(".toml"): tomllib.loads(path.read_text(encoding="utf-8"))
        for path in paths
        if path.name.endswith(".toml")
    }


def rows(table: str) -> Iterator[tuple[tuple[str, ...], Row]]:
    """Yield the rows of a table in all languages: the forms of a word, and the other cells."""
    for tables in languages().values():
        for forms, *cells in tables.get(table, ()):
            yield tuple(forms.split("|")), tuple(cells)


def forms(table: str) -> list[str]:
    """Return all forms of a table, longest first."""
    return sorted({form for names, _ in rows(table) for form in names}, key=lambda form: (-len(form), form))


def alternation(*tables: str) -> str:
    """Return a regular expression of all forms of the tables, longest first in each table."""
    return "|".join(re.escape(form) for table in tables for form in forms(table))


@cache
def values(table: str) -> dict[str, tuple[Decimal, ...]]:
    """Return the possible values of each form of a table."""
    readings: dict[str, tuple[Decimal, ...]] = {}
    for names, cells in rows(table):
        for name in names:
            readings[name] = tuple(dict.fromkeys((*readings.get(name, ()), Decimal(cells[0]))))
    return readings


def base_value(value: Decimal, unit: str) -> tuple[str, Decimal]:
    """Return the base unit of a unit, and a value in it; an empty name for an unknown unit."""
    known = _units().get(unit)
    return (known[0], value * known[1]) if known else ("", Decimal(0))


@cache
def _units() -> dict[str, tuple[str, Decimal]]:
    return {name: (cells[0], Decimal(cells[1])) for names, cells in rows("units") for name in names}
