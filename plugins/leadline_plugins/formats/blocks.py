"""Block tokens of Markdown as blocks of the tree."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from leadline_plugins.formats.inlines import Marks, inlines
from leadline_plugins.formats.syntax import parser
from leadline_plugins.formats.tables import table
from leadline_plugins.formats.tree import Node, attributes, clean, header, para, plain

if TYPE_CHECKING:
    from markdown_it.tree import SyntaxTreeNode

_LANGUAGE = re.compile(r"[A-Za-z0-9+#_-]{1,20}")
_TASK = re.compile(r"\[([ xX])\]\s")


class Blocks:
    """Turns one text into blocks. `columns`: tables wider than that are set as several."""

    def __init__(
        self,
        cite: Callable[[Sequence[str]], list[Node]],
        figure: Callable[[str], list[Node] | None],
        name: Callable[[], str],
        columns: int | None,
    ) -> None:
        self._marks = Marks(cite, figure, self._note)
        self._name = name
        self._columns = columns
        self._notes: dict[int, SyntaxTreeNode] = {}

    def of(self, text: str) -> Iterator[Node]:
        """Yield the blocks of a Markdown text."""
        from markdown_it.tree import SyntaxTreeNode

        root = SyntaxTreeNode(parser().parse(text))
        self._notes = {
            note.meta["id"]: note
            for child in root.children
            if child.type == "footnote_block"
            for note in child.children
        }
        yield from self._all(root)

    def _all(self, node: SyntaxTreeNode) -> Iterator[Node]:
        for child in node.children:
            yield from self._block(child)

    def _block(self, node: SyntaxTreeNode) -> Iterator[Node]:
        match node.type:
            case "heading":
                level = max(2, int(node.tag[1]) - 1)
                yield header(level, self._name(), self._inlines(node))
            case "paragraph":
                yield (plain if node.hidden else para)(self._inlines(node))
            case "bullet_list":
                yield {"t": "BulletList", "c": self._items(node)}
            case "ordered_list":
                start = min(int(node.attrs.get("start", 1)), 2**31 - 1)
                yield {"t": "OrderedList", "c": [[start, {"t": "Decimal"}, {"t": "Period"}], self._items(node)]}
            case "blockquote":
                yield {"t": "BlockQuote", "c": list(self._all(node))}
            case "fence" | "code_block":
                yield _code(node)
            case "hr":
                yield {"t": "HorizontalRule"}
            case "table":
                yield from table(self._rows(node), _alignments(node), self._columns)

    def _items(self, node: SyntaxTreeNode) -> list[list[Node]]:
        return [list(self._all(item)) for item in node.children]

    def _rows(self, node: SyntaxTreeNode) -> list[list[list[Node]]]:
        """Return the rows of a table as cells of inlines, the head first."""
        return [[self._inlines(cell) for cell in row.children] for part in node.children for row in part.children]

    def _inlines(self, node: SyntaxTreeNode) -> list[Node]:
        tokens = [token for child in node.children if child.token for token in child.token.children or []]
        return inlines(tokens, self._marks)

    def _note(self, number: int) -> list[Node]:
        """Return a footnote, once; a note in a note would be a loop."""
        note = self._notes.pop(number, None)
        return [{"t": "Note", "c": list(self._all(note))}] if note else [{"t": "Superscript", "c": _number(number)}]


def _number(number: int) -> list[Node]:
    return [{"t": "Str", "c": str(number + 1)}]


def _code(node: SyntaxTreeNode) -> Node:
    language = _LANGUAGE.match(node.info)
    attr = attributes("", *([language.group().lower()] if language else []))
    return {"t": "CodeBlock", "c": [attr, clean(node.content.rstrip("\n"))]}


def _alignments(node: SyntaxTreeNode) -> list[str]:
    heads: Any = node.children[0].children[0].children
    return [str(cell.attrs.get("style", "")).removeprefix("text-align:") for cell in heads]
