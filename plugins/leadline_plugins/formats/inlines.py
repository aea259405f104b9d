"""Inline tokens of Markdown as inlines of the tree: balanced, whatever the writer opened and forgot to close."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from leadline_plugins.formats.address import followable
from leadline_plugins.formats.syntax import parser
from leadline_plugins.formats.tree import Node, attributes, behind, clean, link, text, words

if TYPE_CHECKING:
    from markdown_it.token import Token

DEEPEST = 20
"""Levels to which emphasis is nested; deeper marks are passed over, their words stay."""
_FULL_WIDE = re.compile(r"(?<=[，。；：！？、]) | (?=[，。；：！？、])")
"""Spaces at punctuation that has its own room: left where citations were taken out."""
_WRAPS = {"em": "Emph", "strong": "Strong", "s": "Strikeout", "sub": "Subscript", "sup": "Superscript"}


@dataclass(frozen=True)
class Marks:
    """What the report's own marks become: citations by passage, figures by id, footnotes and claims by number."""

    cite: Callable[[Sequence[str]], list[Node]]
    figure: Callable[[str], list[Node] | None]
    note: Callable[[int], list[Node]]
    claim: Callable[[int], list[Node]]


@dataclass
class _Open:
    kind: str
    url: str = ""
    inside: list[Node] = field(default_factory=list)


def inlines(tokens: Iterable[Token], marks: Marks) -> list[Node]:
    """Return the inlines of a run of tokens."""
    stack = [_Open("")]
    for token in tokens:
        name, _, side = token.type.rpartition("_")
        if side == "open":
            stack.append(_Open(name, str(token.attrs.get("href", ""))))
        elif side == "close":
            _close(stack, name)
        elif token.type == "citation":
            stack[-1].inside += behind(stack[-1].inside, marks.cite(token.meta["ids"]))
        elif token.type == "mark":
            stack[-1].inside += marks.claim(token.meta["number"])
        else:
            stack[-1].inside += _leaf(token, marks)
    while len(stack) > 1:
        _wrap(stack)
    return stack[0].inside


def spoken(markdown: str) -> str:
    """Return a sentence of Markdown as its words: without marks of emphasis, addresses and citations."""
    marks = Marks(cite=lambda ids: [], figure=lambda name: None, note=lambda number: [], claim=lambda number: [])
    (line,) = parser().parseInline(markdown)
    return _FULL_WIDE.sub("", " ".join(text(inlines(line.children or (), marks)).split()))


def _close(stack: list[_Open], kind: str) -> None:
    """Close the last mark of a kind, and whatever was left open in it; a closing mark alone is passed over."""
    if kind in {mark.kind for mark in stack}:
        while _wrap(stack) != kind:
            pass


def _wrap(stack: list[_Open]) -> str:
    mark = stack.pop()
    stack[-1].inside += _wrapped(mark) if len(stack) < DEEPEST else mark.inside
    return mark.kind


def _wrapped(mark: _Open) -> list[Node]:
    if mark.kind == "link":
        url = followable(mark.url)
        return [link(mark.inside, url)] if url and text(mark.inside) else mark.inside
    return [{"t": _WRAPS[mark.kind], "c": mark.inside}] if mark.inside else []


def _leaf(token: Token, marks: Marks) -> list[Node]:
    match token.type:
        case "softbreak":
            return [{"t": "SoftBreak"}]
        case "hardbreak":
            return [{"t": "LineBreak"}]
        case "code_inline":
            return [{"t": "Code", "c": [attributes(), clean(token.content)]}]
        case "math_inline" | "math_block":
            kind = "InlineMath" if token.type == "math_inline" else "DisplayMath"
            return [{"t": "Math", "c": [{"t": kind}, clean(token.content)]}]
        case "image":
            return _image(token, marks)
        case "footnote_ref":
            return marks.note(token.meta["id"])
        case "footnote_anchor":
            return []
    return words(token.content)


def _image(token: Token, marks: Marks) -> list[Node]:
    """Return a figure of the report; of any other image its description and where it is: nothing is loaded."""
    url = str(token.attrs.get("src", ""))
    if url.startswith("figure:"):
        return marks.figure(url.removeprefix("figure:")) or words(token.content)
    said = words(f"[{token.content or 'image'}]")
    target = followable(url)
    return [link(said, target)] if target else said
