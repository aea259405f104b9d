"""The cited passages: their place in the source, a link to it, and their blocks with the quoted words highlighted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, groupby
from typing import Any
from urllib.parse import quote

from leadline.records import Evidence, Source
from leadline.rendering import clean, plain_title, readable_url, safe_url
from leadline_plugins.formats.blocks import Blocks
from leadline_plugins.formats.marks import Mark
from leadline_plugins.formats.tree import Node, attributes, link, para, strong, text, words
from leadline_plugins.wording.phrases import join_items, phrase

Names = tuple[str, ...]
# Makes one node of inlines that belong to the quotes of these names.
Wrap = Callable[[list[Node], Names], Node]
_LEAVES = {"Str", "Code", "CodeBlock", "Math", "Space", "SoftBreak", "LineBreak"}
ARROW = " › "
# Heading paths that a reference names; the rest are counted. Markdown has no other location.
_NAMED = 5
_PAGES = 8
# Words at each end of a text fragment.
_ENDS = 5
# Characters, or whole Latin words, at each end of a text fragment in a language without spaces.
_CJK_ENDS = 8
_UNIT = re.compile(r"[A-Za-z0-9]+|.")
_NUMBERED = re.compile(r"^\s*\d{1,9}[.)]\s+", re.MULTILINE)
_HEADER = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*\Z")


def highlight(blocks: list[Node], quotes: Iterable[tuple[str, Sequence[str]]], wrap: Wrap) -> list[Node]:
    """Return blocks with their quotes wrapped; `quotes` are names, each with forms of its words.

    Quotes are found by letters and digits, so that Markdown at their edges does not matter, and may span blocks.
    """
    leaves = list(_leaves(blocks))
    whole = "".join(map(text, leaves))
    places = [index for index, sign in enumerate(whole) if sign.isalnum()]
    letters = _letters(whole)
    names: list[Names] = [()] * len(whole)
    for name, forms in quotes:
        words = next((form for form in forms if _letters(form) and _letters(form) in letters), "")
        if words:
            first = letters.index(_letters(words))
            last = places[first + len(_letters(words)) - 1] + 1
            tail = words.strip()[len(words.strip().rstrip(_signs(words))) :]  # its full stop, a percent sign
            last += len(tail) if whole.startswith(tail, last) else 0
            for index in range(places[first], last):
                names[index] = (*names[index], name)
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
    """Yield a list of nodes, with each run of the same quotes as one node."""
    pieces = (piece for node in nodes for piece in _pieces(node, owners, wrap))
    for names, run in groupby(pieces, key=lambda piece: piece[1]):
        inlines = [node for node, _ in run]
        yield from [(wrap(inlines, names), ())] if names else [(node, ()) for node in inlines]


def _pieces(node: Any, owners: dict[int, list[Names]], wrap: Wrap) -> Iterator[tuple[Any, Names]]:
    """Yield a node, with strings split, and the names of its quotes."""
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


def places(items: Iterable[Evidence], source: Source, language: str) -> str:
    """Return the location of passages: `p. 3, 112; Backup › Archiving`; empty if unknown."""
    passages = sorted(items, key=lambda item: item.span)
    pages = sorted({item.page for item in passages if item.page is not None})
    paths = list(dict.fromkeys(filter(None, (_path(item, source) for item in passages))))
    named = [clean(" ".join(path.split())) for path in _without_shared_parents(paths[:_NAMED])]
    more = [f"+{len(paths) - _NAMED}"] if len(paths) > _NAMED else []
    shown = [*map(str, pages[:_PAGES]), *(["…"] if len(pages) > _PAGES else [])]
    page = [phrase("page", language, pages=join_items(shown, language))] if pages else []
    return join_items((*page, *named, *more), language, "semicolon")


def _without_shared_parents(paths: Iterable[str]) -> Iterator[str]:
    """Yield heading paths; only the last heading of one whose parents the path before it names."""
    before = ""
    for path in paths:
        parents, _, last = path.rpartition(ARROW)
        yield last if parents and f"{before}{ARROW}".startswith(f"{parents}{ARROW}") else path
        before = path


def _path(item: Evidence, source: Source) -> str:
    """Return the headings above a passage, without the title of the document."""
    titles = {plain_title(source.hit.title), plain_title(source.document.title)}
    path = [heading for part in item.path if (heading := plain_title(part))]
    return ARROW.join(path[1:] if path and path[0] in titles else path)


def deep_link(item: Evidence, source: Source, quoted_words: str) -> str:
    """Return an address that opens the source at a passage, by page or by words; empty for an unsafe address."""
    url = source.hit.content_url or source.hit.url
    if not safe_url(url).startswith("http"):
        return ""
    if item.page is not None:
        return safe_url(f"{url.partition('#')[0]}#page={item.page}")
    if not quoted_words:
        return safe_url(url)
    return safe_url(f"{url}{'' if '#' in url else '#'}:~:text={_fragment(quoted_words)}")


def _fragment(quoted: str) -> str:
    """Return a text fragment: the words at both ends, or all of a short text."""
    parts, sign, ends = quoted.split(), " ", _ENDS
    if len(parts) < len(quoted) / 15:  # a language without spaces
        parts, sign, ends = _UNIT.findall(" ".join(parts)), "", _CJK_ENDS
    runs = [parts] if len(parts) <= 2 * ends else [parts[:ends], parts[-ends:]]
    return ",".join(quote(sign.join(run).strip(), safe="").replace("-", "%2D") for run in runs)


class Passages:
    """Renders passages as blocks: quoted words are highlighted on the screen and bold in print."""

    def __init__(self, claims: Iterable[Mark], language: str, *, screen: bool) -> None:
        self._quotes: dict[str, list[Mark]] = {}
        for mark in claims:
            if mark.quote:
                self._quotes.setdefault(mark.evidence_id, []).append(mark)
        self.screen = screen
        self._language = language

    def blocks(self, item: Evidence) -> list[Node]:
        """Return a passage with its lead-in, and the words that verdicts quote wrapped."""
        quoted = [(f"claim-{mark.number}", mark.quote) for mark in self._quotes.get(item.id, ())]
        # The blocks have the numbers of list items as attributes, not as text.
        quotes = [(name, (words, text(_blocks(words)), _NUMBERED.sub("", words))) for name, words in quoted]
        if _HEADER.search(item.lead):
            return highlight(_blocks(f"{item.lead}\n{item.quote}"), quotes, self._wrap)
        return [*_blocks(item.lead), *highlight(_blocks(item.quote), quotes, self._wrap)]

    def _wrap(self, inlines: list[Node], names: tuple[str, ...]) -> Node:
        if not self.screen:
            return strong(inlines)
        return {"t": "Span", "c": [attributes("", "mark", data_claims=" ".join(names)), inlines]}

    def line(self, item: Evidence, source: Source) -> Node:
        """Return the line above a passage, which links to its place in the source."""
        where = places([item], source, self._language) or plain_title(source.hit.title) or readable_url(source.hit.url)
        shown = next((mark.quote for mark in self._quotes.get(item.id, ())), item.quote)
        target = deep_link(item, source, _first(_blocks(shown)))
        line = words(where)
        return para([link([*line, {"t": "Str", "c": "\u00a0↗"}], target)] if target else line)


def _blocks(markdown: str) -> list[Node]:
    """Return a text of a source as blocks, without citations, figures and headings of the report."""
    blocks = Blocks(lambda ids: [], lambda name: None, lambda number: [], str, None)
    return list(chain.from_iterable(map(_without_headings, blocks.of(markdown))))


def _without_headings(block: Node) -> list[Node]:
    return [para([strong(block["c"][2])])] if block["t"] == "Header" else [block]


def _first(blocks: Any) -> str:
    """Return the text of the first paragraph, item or cell."""
    match blocks:
        case {"t": "Para" | "Plain" | "CodeBlock"}:
            return " ".join(text(blocks).split("\n")[0].split())
        case {"c": content}:
            return _first(content)
        case list():
            return next(filter(None, map(_first, blocks)), "")
    return ""
