"""Quoted words in the blocks of a passage, wrapped so that a reader sees them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from leadline_plugins.formats.tree import Node, text

Wrap = Callable[[list[Node], tuple[str, ...]], Node]
"""Make one node of inlines that belong to the quotes of these names."""
_LEAVES = {"Str", "Code", "CodeBlock", "Math"}
_UNDIVIDED = _LEAVES - {"Str"}
_SPACES = {"Space", "SoftBreak", "LineBreak"}


def highlight(blocks: list[Node], quotes: Sequence[tuple[str, Sequence[str]]], wrap: Wrap) -> list[Node]:
    """Return blocks with their quotes wrapped; `quotes` are names, each with the forms that its words may have.

    Words are found by their letters and digits, so that marks of Markdown at the edge of a quote do not matter. A
    quote may begin in one block and end in another. What is not found is not wrapped.
    """
    leaves = list(_leaves(blocks))
    letters = [(leaf, at, sign) for leaf, node in enumerate(leaves) for at, sign in enumerate(text(node))]
    letters = [(leaf, at, sign) for leaf, at, sign in letters if sign.isalnum()]
    whole = "".join(sign for _, _, sign in letters)
    owners: dict[int, dict[int, list[str]]] = {}
    for name, words in ((name, words) for name, forms in quotes for words in _first(forms, whole)):
        wanted = _letters(words)
        start = whole.find(wanted)
        found = letters[start : start + len(wanted)]
        for leaf in {leaf for leaf, _, _ in found}:
            places = [at for one, at, _ in found if one == leaf]
            first, last = places[0], places[-1]
            last += _ending(words, text(leaves[leaf])[last + 1 :]) if leaf == found[-1][0] else 0
            for at in range(first, last + 1):
                owners.setdefault(id(leaves[leaf]), {}).setdefault(at, []).append(name)
    return _wrapped(blocks, owners, wrap) if owners else blocks


def _first(forms: Sequence[str], whole: str) -> list[str]:
    """Return the first form of a quote that a passage has."""
    return [words for words in forms if _letters(words) and _letters(words) in whole][:1]


def _letters(words: str) -> str:
    return "".join(filter(str.isalnum, words))


def _ending(words: str, after: str) -> int:
    """Return how many characters after the last letter belong to the quote: its full stop, a percent sign."""
    words = words.strip()
    tail = words[len(words.rstrip("".join(set(filter(lambda sign: not sign.isalnum(), words))))) :]
    return len(tail) if tail and after.startswith(tail) else 0


def _leaves(node: Any) -> Iterator[Node]:
    match node:
        case list():
            for item in node:
                yield from _leaves(item)
        case {"t": kind} if kind in _LEAVES:
            yield node
        case {"c": content}:
            yield from _leaves(content)


def _wrapped(node: Any, owners: dict[int, dict[int, list[str]]], wrap: Wrap) -> Any:
    match node:
        case list():
            return list(_joined((piece for item in node for piece in _pieces(item, owners, wrap)), wrap))
        case {"t": _, "c": content}:
            return {**node, "c": _wrapped(content, owners, wrap)}
    return node


def _pieces(item: Any, owners: dict[int, dict[int, list[str]]], wrap: Wrap) -> Iterator[Any]:
    """Yield an item of a list, or a leaf in pieces: those of quotes as pairs of the piece and the quotes' names."""
    own = owners.get(id(item))
    if not own:
        yield _wrapped(item, owners, wrap) if not isinstance(item, dict) or item.get("t") not in _LEAVES else item
    elif item["t"] == "CodeBlock":
        (name, classes, values), code = item["c"]
        yield {"t": "CodeBlock", "c": [[name, [*classes, "quoted"], values], code]}
    elif item["t"] in _UNDIVIDED:
        yield item, tuple(dict.fromkeys(name for names in own.values() for name in names))
    else:
        said, start = item["c"], 0
        for at in range(1, len(said) + 1):
            names = own.get(start, ())
            if at == len(said) or own.get(at, ()) != names:
                piece = {"t": "Str", "c": said[start:at]}
                yield (piece, tuple(names)) if names else piece
                start = at


def _joined(pieces: Iterable[Any], wrap: Wrap) -> Iterator[Any]:
    """Yield pieces; those of one quote in one node, with the spaces between them."""
    held: list[Node] = []
    spaces: list[Node] = []
    names: tuple[str, ...] = ()
    for piece in pieces:
        if held and isinstance(piece, dict) and piece.get("t") in _SPACES:
            spaces.append(piece)
        elif isinstance(piece, tuple) and piece[1] == names and held:
            held += [*spaces, piece[0]]
            spaces = []
        else:
            if held:
                yield wrap(held, names)
                yield from spaces
            held, spaces = [], []
            if isinstance(piece, tuple):
                held, names = [piece[0]], piece[1]
            else:
                yield piece
    if held:
        yield wrap(held, names)
        yield from spaces
