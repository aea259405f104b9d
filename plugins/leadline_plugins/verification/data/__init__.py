"""Word lists, one TOML file per language: number words, scales, months, units. Each row has an example."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files

Row = tuple[str, ...]


@cache
def languages() -> dict[str, dict[str, list[list[str]]]]:
    """Return the tables of all languages, by the name of their file."""
    found = sorted(files(__package__).iterdir(), key=lambda path: path.name)
    return {
        path.name.removesuffix(".toml"): tomllib.loads(path.read_text(encoding="utf-8"))
        for path in found
        if path.name.endswith(".toml")
    }


def rows(table: str) -> Iterator[tuple[tuple[str, ...], Row]]:
    """Yield the rows of one table over all languages: the forms of a word, and the other cells."""
    for tables in languages().values():
        for forms, *cells in tables.get(table, ()):
            yield tuple(forms.split("|")), tuple(cells)


def forms(table: str) -> list[str]:
    """Return all forms of one table, the longest first."""
    return sorted({form for names, _ in rows(table) for form in names}, key=lambda form: (-len(form), form))
