"""Read the Markdown of a report into blocks: headings, paragraphs, items, table rows, quotations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any, Literal

from leadline.citations import CITATION, unenclosed
from leadline_plugins.formats.report_markdown import MarkdownBlock, block_tokens, block_tree

BlockKind = Literal["heading", "paragraph", "item", "row", "head", "quote"]
# The patterns are linear: reports are anybody's text.
_PICTURE = r"!\[[^\[\]]*+\]\((?:[^()\s]|\([^()\s]*+\))*+\)"
_CELL = re.compile(r"(?:\\.|[^|\\])+")
_MARKS = re.compile(
    rf"(?<!\\)(?:\*{{1,3}}|_{{2,3}}|~~|`)|{_PICTURE}|\[([^\[\]]*)\]\([^()\s]*\)|\\([\\`*_{{}}\[\]()#+.!|<>-])"
)
# A paragraph of pictures or a formula.
_ALONE = re.compile(rf"(?:{_PICTURE}\s*)+|\$\$.*\$\$\s*", re.DOTALL)
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
    reader.read(block_tree(block_tokens(text)))
    yield from reader.found


class _BlockReader:
    """Collects the blocks of a text in `found`."""

    def __init__(self, text: str, under: tuple[str, ...]) -> None:
        self._text, self._top = text, under
        self._lines = [0, *(match.end() for match in re.finditer(r"\n|\Z", text))]
        self._headings: list[tuple[int, str]] = []
        self._group = 0
        self.found: list[Block] = []

    def read(self, node: MarkdownBlock, group: int = 0) -> None:
        """Read the blocks inside a block; `group` is that of the list around them."""
        for child in node.children:
            match child.kind:
                case "heading" if child.token.markup.startswith("#"):
                    self._add_heading(child)
                case "paragraph" | "dl" | "blockquote" | "heading":
                    self._add_text(child)
                case "bullet_list" | "ordered_list":
                    own = group or self._next()
                    for item in child.children:
                        self._add_item(item, own)
                case "table":
                    self._add_table(child)
                case "footnote_reference":
                    self.read(child)

    def _add_heading(self, node: MarkdownBlock) -> None:
        level = int(node.token.tag[1])
        self._headings = [heading for heading in self._headings if heading[0] < level]
        self._add("heading", node.token.map, self._next(), level=level)
        self._headings.append((level, visible_text(node.children[0].token.content)))

    def _add_text(self, node: MarkdownBlock) -> None:
        """Add a paragraph or a quotation. A line of dashes below a paragraph makes no heading of it."""
        if node.kind == "paragraph" and _ALONE.fullmatch(node.children[0].token.content):
            return
        first, last = node.token.map
        self._add(
            "quote" if node.kind == "blockquote" else "paragraph",
            (first, last - (node.kind == "heading")),
            self._next(),
        )

    def _add_item(self, item: MarkdownBlock, group: int) -> None:
        """Add a list item with its paragraphs up to code or a list in it, and then what follows in it."""
        texts = list(takewhile(lambda child: child.kind == "paragraph", item.children))
        if texts:
            self._add("item", (item.token.map[0], texts[-1].token.map[1]), group)
        self.read(replace(item, children=item.children[len(texts) :]), group)

    def _add_table(self, node: MarkdownBlock) -> None:
        head: tuple[str, ...] = ()
        group = self._next()
        for row in (row for part in node.children for row in part.children):
            self._add("row" if head else "head", row.token.map, group, head=head)
            block = self.found[-1]
            head = head or tuple(row_cells(self._text[block.start : block.end])) or ("",)

    def _add(self, kind: BlockKind, lines: Sequence[int], group: int, **more: Any) -> None:
        start = self._lines[lines[0]]
        end = start + len(self._text[start : self._lines[lines[1]]].rstrip())
        self.found.append(Block(kind, start, end, group, (*self._top, *(title for _, title in self._headings)), **more))

    def _next(self) -> int:
        self._group += 1
        return self._group
