"""Read the Markdown of a report into blocks: headings, paragraphs, items, table rows, quotations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from leadline.citations import CITATION, unenclosed

BlockKind = Literal["heading", "paragraph", "item", "row", "head", "quote"]
# The patterns are linear: reports are anybody's text.
_HEADING = re.compile(r" {0,3}(#{1,6})\s+")
_RULE = re.compile(r"\s*(?:[-*_]\s*){3,}$")
_PICTURE = r"!\[[^\[\]]*+\]\((?:[^()\s]|\([^()\s]*+\))*+\)"
_IMAGE = re.compile(rf"\s*{_PICTURE}\s*$")
_DELIMITER = re.compile(r"\s*+\|?(?:\s*+:?-++:?\s*+\|)++\s*+(?::?-++:?)?\s*$")
_CELL = re.compile(r"(?:\\.|[^|\\])+")
_MARKS = re.compile(
    rf"(?<!\\)(?:\*{{1,3}}|_{{2,3}}|~~|`)|{_PICTURE}|\[([^\[\]]*)\]\([^()\s]*\)|\\([\\`*_{{}}\[\]()#+.!|<>-])"
)
# Left by a citation; not the space before `.d` in "the .d file".
_SPACED = re.compile(r"\s+([.,;:!?。，；：！？)）])(?![A-Za-z0-9])")
ITEM = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+")
# The marks of a quotation, which may be nested, at the start of a line.
QUOTE = re.compile(r"^(?: {0,3}>[ \t]?)+", re.MULTILINE)
FENCE = re.compile(r"\s*(`{3,}|~{3,}|\$\$)")


@dataclass(frozen=True)
class Block:
    """A block of a section's Markdown with its span there. `group` counts paragraphs, lists and tables."""

    kind: BlockKind
    start: int
    end: int
    group: int
    under: tuple[str, ...] = ()
    level: int = 0
    # The header cells of a row.
    head: tuple[str, ...] = ()


def visible_text(text: str) -> str:
    """Return Markdown as plain text on one line, without citations, emphasis and links."""
    bare = _MARKS.sub(lambda match: match[1] or match[2] or "", CITATION.sub("", unenclosed(text)))
    return _SPACED.sub(r"\1", " ".join(bare.split()))


def row_cells(line: str) -> list[str]:
    """Return the cells of a table row as plain text."""
    return [visible_text(cell) for cell in _CELL.findall(line.strip().strip("|"))]


def blocks(text: str, under: tuple[str, ...] = ()) -> Iterator[Block]:
    """Yield the blocks of a section's Markdown, without code, formulas, images and rules.

    `under` are the headings above the text.
    """
    reader = _BlockReader(text, under)
    at = 0
    for line in text.split("\n"):
        yield from reader.line(at, line)
        at += len(line) + 1
    yield from reader.close()


class _BlockReader:
    """Reads Markdown line by line."""

    def __init__(self, text: str, under: tuple[str, ...]) -> None:
        self._text, self._top = text, under
        self._headings: list[tuple[int, str]] = []
        self._open: Block | None = None
        self._fence = ""
        self._group = 0
        self._head: tuple[str, ...] = ()
        self._blank = True

    def line(self, at: int, line: str) -> Iterator[Block]:
        """Yield the blocks that a line ends."""
        fence = FENCE.match(line)
        if self._fence or fence:
            yield from self.close()
            self._fence = self._fenced(line, fence)
        elif not line.strip():
            yield from self._spaced()
        elif heading := _HEADING.match(line):
            yield from self.close()
            title = line[heading.end() :].rstrip("#").rstrip()
            yield self._heading(at, line, len(heading[1]), visible_text(title))
        elif _RULE.match(line) or _IMAGE.match(line):
            yield from self.close()
        elif line.lstrip().startswith("|"):
            yield from self._row(at, line)
        elif QUOTE.match(line):
            yield from self._begin("quote", at, line, extend=True)
        elif ITEM.match(line):
            yield from self._begin("item", at, line)
        elif self._open and self._continues(line):
            self._extend(at, line)
        else:
            yield from self._begin("paragraph", at, line)
        self._blank = not line.strip()

    def close(self) -> Iterator[Block]:
        """Yield the block that is open."""
        if self._open:
            yield self._open
        self._open = None

    def _fenced(self, line: str, fence: re.Match[str] | None) -> str:
        """Return the opening mark of the code or formula that is still open after a line."""
        if not self._fence:
            mark = fence[1] if fence else ""
            return "" if mark == "$$" and line.strip().endswith("$$") and len(line.strip()) > 2 else mark
        ends = line.strip().endswith("$$") if self._fence == "$$" else fence and fence[1].startswith(self._fence)
        return "" if ends else self._fence

    def _spaced(self) -> Iterator[Block]:
        """Yield the block that a blank line ends; an item stays open."""
        if self._open and self._open.kind != "item":
            yield from self.close()
        self._head = ()

    def _heading(self, at: int, line: str, level: int, title: str) -> Block:
        self._headings = [one for one in self._headings if one[0] < level]
        above = self._under()
        self._headings.append((level, title))
        return Block("heading", at, at + len(line), self._next(), above, level)

    def _under(self) -> tuple[str, ...]:
        return (*self._top, *(title for _, title in self._headings))

    def _next(self) -> int:
        self._group += 1
        return self._group

    def _begin(self, kind: BlockKind, at: int, line: str, *, extend: bool = False) -> Iterator[Block]:
        same = self._open is not None and self._open.kind == kind
        if extend and same and not self._blank:
            self._extend(at, line)
            return
        group = self._group if kind == "item" and same else self._next()
        yield from self.close()
        self._open = Block(kind, at, at + len(line.rstrip()), group, self._under())

    def _continues(self, line: str) -> bool:
        """Return whether a plain line continues the open block; after a blank line it must be indented, in an item."""
        assert self._open
        if self._blank:
            return self._open.kind == "item" and line.startswith("  ")
        return self._open.kind not in ("row", "head")

    def _extend(self, at: int, line: str) -> None:
        assert self._open
        self._open = replace(self._open, end=at + len(line.rstrip()))

    def _row(self, at: int, line: str) -> Iterator[Block]:
        table = self._open is not None and self._open.kind in ("row", "head")
        if _DELIMITER.match(line):
            if self._open and table:
                self._head = tuple(row_cells(self._text[self._open.start : self._open.end]))
                self._open = replace(self._open, kind="head")
            return
        group = self._group if table else self._next()
        yield from self.close()
        self._open = Block("row", at, at + len(line.rstrip()), group, self._under(), head=self._head)
