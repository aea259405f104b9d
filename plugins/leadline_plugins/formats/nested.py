"""The blocks of a parsed text, one in another: only blocks, for inlines may be nested deeper than Python recurses."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markdown_it.token import Token


@dataclass
class Block:
    """A block: the token that opens it, and the blocks within. `kind` is the token's type."""

    kind: str
    token: Any
    children: list[Block] = field(default_factory=list)

    @property
    def inline(self) -> list[Token]:
        """The inline tokens of a paragraph, a heading or a cell."""
        return [token for child in self.children for token in child.token.children or []]


def nested(tokens: Iterable[Token]) -> Block:
    """Return the blocks of a text within a block of no kind."""
    around = [Block("", None)]
    for token in tokens:
        if token.nesting >= 0:
            around[-1].children.append(Block(token.type.removesuffix("_open"), token))
        if token.nesting > 0:
            around.append(around[-1].children[-1])
        elif token.nesting < 0:
            around.pop()
    return around[0]
