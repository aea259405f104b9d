"""Block tokens of Markdown as blocks of the tree."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from leadline_plugins.formats.inlines import Marks, inlines
from leadline_plugins.formats.nested import Block, nested
from leadline_plugins.formats.portions import portions
from leadline_plugins.formats.syntax import parser
from leadline_plugins.formats.tables import table
from leadline_plugins.formats.tree import Node, attributes, clean, header, para, plain, strong

_LANGUAGE = re.compile(r"[A-Za-z0-9+#_-]{1,20}")


class Blocks:
    """Turns one text into blocks. `columns`: tables wider than that are set as several."""

    def __init__(
        self,
        cite: Callable[[Sequence[str]], list[Node]],
        figure: Callable[[str], list[Node] | None],
        claim: Callable[[int], list[Node]],
        name: Callable[[], str],
        columns: int | None,
    ) -> None:
        self._marks = Marks(cite, figure, self._note, claim)
        self._name = name
        self._columns = columns
        self._notes: dict[int, Block] = {}
        self._in_note = False
        self._base = self._level = 1
        """Of the heading above: the next is at most one deeper, though a writer skipped some."""

    def of(self, text: str, level: int = 1) -> Iterator[Node]:
        """Yield the blocks of a Markdown text; `level` is that of the heading above, 0 for none."""
        self._base = self._level = level
        root = nested(parser().parse(text))
        notes = [note for child in root.children if child.kind == "footnote_block" for note in child.children]
        self._notes = {note.token.meta["id"]: note for note in notes}
        for child in root.children:
            yield from self._block(child)
        yield from self._left()

    def _all(self, node: Block) -> Iterator[Node]:
        for child in node.children:
            yield from self._block(child)

    def _block(self, node: Block) -> Iterator[Node]:
        match node.kind:
            case "heading":
                below = int(node.token.tag[1]) - 2 + self._base
                self._level = min(max(self._base + 1, below), self._level + 1)
                title, *rest = portions(self._inlines(node))
                yield header(self._level, self._name(), title)
                yield from map(para, rest)
            case "paragraph":
                yield from map(plain if node.token.hidden else para, portions(self._inlines(node)))
            case "bullet_list":
                yield {"t": "BulletList", "c": self._items(node)}
            case "ordered_list":
                start = min(int(node.token.attrs.get("start", 1)), 2**31 - 1)
                yield {"t": "OrderedList", "c": [[start, {"t": "Decimal"}, {"t": "Period"}], self._items(node)]}
            case "dl":
                yield {"t": "BulletList", "c": self._entries(node)}
            case "blockquote":
                yield {"t": "BlockQuote", "c": list(self._all(node))}
            case "fence" | "code_block":
                yield _code(node)
            case "hr":
                yield {"t": "HorizontalRule"}
            case "table":
                yield from table(self._rows(node), _alignments(node), self._columns)

    def _items(self, node: Block) -> list[list[Node]]:
        return [list(self._all(item)) for item in node.children]

    def _entries(self, node: Block) -> list[list[Node]]:
        """Return the entries of a definition list as items: the term in bold, then its definitions."""
        entries: list[list[Node]] = []
        for child in node.children:
            if child.kind == "dt":
                entries.append([para([strong(self._inlines(child))])])
            else:
                entries[-1] += self._all(child)
        return entries

    def _rows(self, node: Block) -> list[list[list[Node]]]:
        """Return the rows of a table as cells of inlines, the head first."""
        return [[self._inlines(cell) for cell in row.children] for part in node.children for row in part.children]

    def _inlines(self, node: Block) -> list[Node]:
        return inlines(node.inline, self._marks)

    def _note(self, number: int) -> list[Node]:
        """Return a footnote, once; its number where it is mentioned again, or in another, which would be a loop."""
        if self._in_note or number not in self._notes:
            return [_number(number)]
        return [{"t": "Note", "c": self._noted(self._notes.pop(number))}]

    def _noted(self, note: Block) -> list[Node]:
        self._in_note = True
        blocks = list(self._all(note))
        self._in_note = False
        return blocks

    def _left(self) -> Iterator[Node]:
        """Yield the footnotes that only footnotes mention, behind the text, each below its number."""
        for number, note in self._notes.items():
            yield para([_number(number)])
            yield from self._noted(note)


def _number(number: int) -> Node:
    return {"t": "Superscript", "c": [{"t": "Str", "c": str(number + 1)}]}


def _code(node: Block) -> Node:
    language = _LANGUAGE.match(node.token.info)
    attr = attributes("", *([language.group().lower()] if language else []))
    return {"t": "CodeBlock", "c": [attr, clean(node.token.content.rstrip("\n"))]}


def _alignments(node: Block) -> list[str]:
    heads: Any = node.children[0].children[0].children
    return [str(cell.token.attrs.get("style", "")).removeprefix("text-align:") for cell in heads]
