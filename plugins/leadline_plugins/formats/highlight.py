"""Quoted words in the blocks of a passage, wrapped so that a reader sees them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from leadline_plugins.formats.tree import Node, text

Names = tuple[str, ...]
Wrap = Callable[[list[Node], Names], Node]
"""Make one node of inlines that belong to the quotes of these names."""
_LEAVES = {"Str", "Code", "CodeBlock", "Math", "Space", "SoftBreak", "LineBreak"}


def highlight(blocks: list[Node], quotes: Iterable[tuple[str, Sequence[str]]], wrap: Wrap) -> list[Node]:
    """Return blocks with their quotes wrapped; `quotes` are names, each with the forms that its words may have.

    Words are found by their letters and digits, so that marks of Markdown at the edge of a quote do not matter. A
    quote may begin in one block and end in another. What is not found is not wrapped.
    """
    leaves = list(_leaves(blocks))
    whole = "".join(map(text, leaves))
    places = [place for place, sign in enumerate(whole) if sign.isalnum()]
    letters = _letters(whole)
    names: list[Names] = [()] * len(whole)
    for name, forms in quotes:
        words = next((form for form in forms if _letters(form) and _letters(form) in letters), "")
        if words:
            first = letters.index(_letters(words))
            last = places[first + len(_letters(words)) - 1] + 1
            tail = words.strip()[len(words.strip().rstrip(_signs(words))) :]  # its full stop, a percent sign
            last += len(tail) if whole.startswith(tail, last) else 0
            for place in range(places[first], last):
                names[place] = (*names[place], name)
    owners, start = {}, 0
    for leaf in leaves:
        owners[id(leaf)] = names[start : start + len(text(leaf))]
        start += len(text(leaf))
    return [node for node, _ in _all(blocks, owners, wrap)] if any(names) else blocks


def _letters(words: str) -> str:
    return "".join(filter(str.isalnum, words))


def _signs(words: str) -> str:
    return "".join(sign for sign in words if not sign.isalnum())


def _leaves(node: Any) -> Iterator[Node]:
    match node:
        case list():
            for item in node:
                yield from _leaves(item)
        case {"t": kind} if kind in _LEAVES:
            yield node
        case {"c": content}:
            yield from _leaves(content)


def _all(nodes: list[Any], owners: dict[int, list[Names]], wrap: Wrap) -> Iterator[tuple[Any, Names]]:
    """Yield a list of nodes, each run that belongs to the same quotes as one."""
    pieces = (piece for node in nodes for piece in _pieces(node, owners, wrap))
    for names, run in groupby(pieces, key=lambda piece: piece[1]):
        inlines = [node for node, _ in run]
        yield from [(wrap(inlines, names), ())] if names else [(node, ()) for node in inlines]


def _pieces(node: Any, owners: dict[int, list[Names]], wrap: Wrap) -> Iterator[tuple[Any, Names]]:
    """Yield a node, words in pieces, each with the names of its quotes."""
    own = owners.get(id(node), [])
    match node:
        case list():
            yield [inner for inner, _ in _all(node, owners, wrap)], ()
        case {"t": "Str", "c": words} if any(own):
            for names, run in groupby(zip(words, own, strict=True), key=lambda pair: pair[1]):
                yield {"t": "Str", "c": "".join(sign for sign, _ in run)}, names
        case {"t": "CodeBlock", "c": [[name, classes, values], code]} if any(own):
            yield {"t": "CodeBlock", "c": [[name, [*classes, "quoted"], values], code]}, ()
        case {"t": kind} if kind in _LEAVES:
            yield node, next(filter(None, own), ())
        case {"c": list() as content}:
            yield {**node, "c": [inner for inner, _ in _all(content, owners, wrap)]}, ()
        case _:
            yield node, ()
