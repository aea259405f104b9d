"""What a block of a report's text says, piece by piece: its sentences, and the rows of its tables.

A table's head row names what stands below it, and its rule line is markup: neither states anything.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate

from leadline_plugins.synthesizers.draft import tokens
from leadline_plugins.text import length, sentences
from leadline_plugins.text.rows import SAYS, columns
from leadline_plugins.text.sentences import Span

_LABEL = re.compile(r"\s*(?:(?:[-*+•]|\d{1,9}[.)])\s+)?(?:\*\*|__)([^*_\d]+)(?:\*\*|__)[.。]?\s*")
_NUMERAL = r"(?:\d{1,2}|[IVX]{1,5}|one|two|three|four|five|six|seven|eight|nine|ten)"
_YEARS = r"(?:\s*[(（][^()（）]{1,30}[)）])?"
_STAGE = re.compile(
    rf"\s*(?:[-*+•]\s+)?(?:\*\*|__)(?:"
    rf"第[一二三四五六七八九十\d]{{1,3}}(?:个)?(?:阶段|階段|时期|時期|步|类|類|期|层|層|点|點){_YEARS}(?:[：:][^\d，。,.*_]{{1,14}})?[。.]?"
    rf"|(?:phase|stage|step|period|part)\s{_NUMERAL}\b{_YEARS}"
    rf"(?-i:\s*[:–—-]\s*[A-Za-z][a-z-]+(?:\s[a-z-]+){{0,4}})?[.]?"
    rf")(?:\*\*|__)[.。]?\s*",
    re.IGNORECASE,
)
"""A stage by its number, with its years in brackets, and a title without figures behind a colon."""
MARKER = re.compile(r"[ \t]*(?:(?:[-*+•]|\d{1,9}[.)]|>)[ \t]+)+")
"""How an item of a list or a line of a quotation begins."""
_SHORTEST = 4
"""Words, or characters of Chinese, of what may be a sentence though it is bold and others follow it."""
_NOT_NEW = re.compile(r"[^\n]")


@dataclass(frozen=True)
class Table:
    """A table: where it stands, and its rows below the head, which is its first line."""

    span: Span
    rows: tuple[Span, ...]


@dataclass(frozen=True)
class Piece:
    """A sentence, or where `row` is its number in the table, counted from 1, what stands in a row or a part of it."""

    span: Span
    row: int = 0


class Said:
    """What a text says between any two places of it; spans are places in the text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.tables = tables(text)
        self._rows = [Piece(row, number) for one in self.tables for number, row in enumerate(one.rows, start=1)]
        self._prose = text
        for table in self.tables:
            first, last = table.span
            self._prose = self._prose[:first] + blank(text[first:last]) + self._prose[last:]

    def in_table(self, at: int) -> bool:
        """Return whether a place is in a table."""
        table = bisect_right(self.tables, at, key=lambda one: one.span[0]) - 1
        return table >= 0 and at < self.tables[table].span[1]

    def row(self, at: int) -> Piece | None:
        """Return the row that a place is in."""
        found = bisect_right(self._rows, at, key=lambda row: row.span[0]) - 1
        return self._rows[found] if found >= 0 and at < self._rows[found].span[1] else None

    def head(self, at: int) -> list[str]:
        """Return what stands over each column of the table that a place is in."""
        table = bisect_right(self.tables, at, key=lambda one: one.span[0]) - 1
        return columns(self._text[slice(*self.tables[table].span)].split("\n", 1)[0]) if self.in_table(at) else []

    def between(self, start: int, end: int) -> list[Piece]:
        """Return the pieces, in order."""
        made = [Piece((start + begin, start + stop)) for begin, stop in sentences(self._prose[start:end])]
        at = bisect_right(self._rows, start, key=lambda row: row.span[1])
        while at < len(self._rows) and self._rows[at].span[0] < end:
            row = self._rows[at]
            span = max(row.span[0], start), min(row.span[1], end)
            if SAYS.search(self._text, *span):
                made.append(Piece(span, row.row))
            at += 1
        return sorted(made, key=lambda piece: piece.span)


def tables(text: str) -> list[Table]:
    """Return the tables of a text; what would be one without its rule line is none."""
    if "|" not in text or "-" not in text:
        return []
    ends = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
    found: list[tuple[int, int]] = []
    rows: list[list[Span]] = []
    for token in tokens(text):
        if not token.map:
            continue
        start, end = token.map
        if token.type == "table_open":
            found.append((start, end))
            rows.append([])
        elif token.type == "tr_open" and found and start > found[-1][0]:
            rows[-1].append((ends[start], ends[end] - 1))
    return [Table((ends[start], ends[end] - 1), tuple(lines)) for (start, end), lines in zip(found, rows, strict=True)]


def blank(text: str) -> str:
    """Return as many spaces as a text has signs, its lines kept: places around it stay what they are."""
    return _NOT_NEW.sub(" ", text)


def line_begin(text: str, at: int) -> int:
    """Return where the line of a place begins if there is nothing but space before it; else the place."""
    begin = at
    while begin and text[begin - 1] in " \t":
        begin -= 1
    return begin if not begin or text[begin - 1] == "\n" else at


def begins_line(text: str, at: int) -> bool:
    """Return whether there is nothing but space before a place in its line."""
    begin = line_begin(text, at)
    return not begin or text[begin - 1] == "\n"


def labels(text: str) -> bool:
    """Return whether a sentence only names what the next in its line says, as `**Costs.**` does before `They rose`.

    So does the number of a stage with the few words that are its title.
    """
    found = _LABEL.fullmatch(text)
    return (found is not None and length(found[1]) <= _SHORTEST) or bool(_STAGE.fullmatch(text))
