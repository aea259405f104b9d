"""What is read from a report: its entries, its marks, its claims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """A source as the report lists it: `7`, `^note`, or by its place (`#3`) where the list has no numbers."""

    key: str
    text: str
    urls: tuple[str, ...] = ()


@dataclass(frozen=True)
class Mark:
    """A pointer in the text: `[1, 3-5]` has the keys 1, 3, 4, 5; a link has a `url`. Offsets are in characters."""

    text: str
    start: int
    end: int
    keys: tuple[str, ...] = ()
    url: str = ""
    silent: bool = True
    """Whether it is no part of the sentence that it stands in."""


@dataclass(frozen=True)
class Claim:
    """A statement with what is cited for it: keys of entries, and addresses linked right there."""

    text: str
    keys: tuple[str, ...]
    urls: tuple[str, ...]
    block: int
    """The place of its paragraph in the report, from 0."""
    shown: str = ""
    """It as people are shown it, where that is another thing: of a table's row with what stands over its cells."""
    first: str = ""
    """The first cell of its row, where it has others of it: that tells what they are of."""
    under: str = ""
    """The headings over it, but for the report's title."""
    before: str = ""
    """The sentence before its own, in its paragraph."""
    whole: str = ""
    """Its sentence, where it is a part of that."""


@dataclass(frozen=True)
class CitedReport:
    """A report as its citations show it; `urls` are all addresses in it, in order, each once."""

    title: str
    entries: Mapping[str, Entry]
    marks: tuple[Mark, ...]
    claims: tuple[Claim, ...]
    urls: tuple[str, ...]
    uncited: int = 0
    """Paragraphs of prose that cite nothing."""

    def entry(self, key: str) -> Entry | None:
        """Return the entry a key points at; a footnote may be listed by its bare number, and the other way round."""
        other = key.removeprefix("^") if key.startswith("^") else f"^{key}"
        return self.entries.get(key) or self.entries.get(other)

    def dangling(self) -> Iterator[str]:
        """Yield the keys in the text that point at no entry, in order, each once."""
        keys = dict.fromkeys(key for mark in self.marks for key in mark.keys)
        return (key for key in keys if self.entry(key) is None)
