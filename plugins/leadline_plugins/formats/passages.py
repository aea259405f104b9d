"""The cited passages: where each stands in its source, a link to it, and its blocks with the quoted words marked."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain
from typing import Any
from urllib.parse import quote

from leadline.records import Evidence, Source
from leadline_plugins.formats.address import followable, titled
from leadline_plugins.formats.blocks import Blocks
from leadline_plugins.formats.highlight import highlight
from leadline_plugins.formats.marks import Mark
from leadline_plugins.formats.tree import Node, attributes, clean, link, para, strong, text, words
from leadline_plugins.wording import listed, say

ARROW = " › "
_NAMED = 10
"""Heading paths that a reference names; the rest are counted. In Markdown they alone tell where to look."""
_PAGES = 8
_ENDS = 5
"""Words at each end of a text fragment."""
_CJK_ENDS = 8
"""Characters, or whole Latin words, at each end of a text fragment in a language without spaces."""
_UNIT = re.compile(r"[A-Za-z0-9]+|.")
_NUMBERED = re.compile(r"^\s*\d{1,9}[.)]\s+", re.MULTILINE)
_HEADER = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*\Z")


def places(items: Iterable[Evidence], source: Source, language: str) -> str:
    """Return where passages stand in their source: `p. 3, 112; Backup › Archiving`; empty where that is not known."""
    passages = sorted(items, key=lambda item: item.span)
    pages = sorted({item.page for item in passages if item.page is not None})
    paths = list(dict.fromkeys(filter(None, (_path(item, source) for item in passages))))
    named = [clean(" ".join(path.split())) for path in paths[:_NAMED]]
    more = [f"+{len(paths) - _NAMED}"] if len(paths) > _NAMED else []
    shown = [*map(str, pages[:_PAGES]), *(["…"] if len(pages) > _PAGES else [])]
    page = [say("page", language, pages=listed(shown, language))] if pages else []
    return listed((*page, *named, *more), language, "semicolon")


def _path(item: Evidence, source: Source) -> str:
    """Return the headings above a passage, without the one that is the title of the document."""
    titles = {titled(source.hit.title), titled(source.document.title)}
    path = [heading for part in item.path if (heading := titled(part))]
    return ARROW.join(path[1:] if path and path[0] in titles else path)


def deep_link(item: Evidence, source: Source, words_shown: str) -> str:
    """Return an address that opens the source at a passage: its page in a PDF, its words on a web page.

    Empty where nobody should follow the address.
    """
    url = source.hit.content_url or source.hit.url
    if not followable(url).startswith("http"):
        return ""
    if item.page is not None:
        return followable(f"{url.partition('#')[0]}#page={item.page}")
    if not words_shown:
        return followable(url)
    return followable(f"{url}{'' if '#' in url else '#'}:~:text={_fragment(words_shown)}")


def _fragment(shown: str) -> str:
    """Return a text directive: the words at both ends, or all of a short text."""
    parts, sign, ends = shown.split(), " ", _ENDS
    if len(parts) < len(shown) / 15:  # a language without spaces
        parts, sign, ends = _UNIT.findall(" ".join(parts)), "", _CJK_ENDS
    runs = [parts] if len(parts) <= 2 * ends else [parts[:ends], parts[-ends:]]
    return ",".join(quote(sign.join(run).strip(), safe="").replace("-", "%2D") for run in runs)


class Passages:
    """Sets passages as blocks: quoted words are marked on the screen, and bold in print."""

    def __init__(self, claims: Iterable[Mark], language: str, *, screen: bool) -> None:
        self._quotes: dict[str, list[Mark]] = {}
        for mark in claims:
            if mark.quote:
                self._quotes.setdefault(mark.evidence_id, []).append(mark)
        self._screen = screen
        self._language = language

    def blocks(self, item: Evidence) -> list[Node]:
        """Return a passage after its lead-in, the words that verdicts quote wrapped."""
        found = [(f"claim-{mark.number}", mark.quote) for mark in self._quotes.get(item.id, ())]
        # The numbers of list items are no text of the blocks.
        quotes = [(name, (words, text(_blocks(words)), _NUMBERED.sub("", words))) for name, words in found]
        if _HEADER.search(item.lead):
            return highlight(_blocks(f"{item.lead}\n{item.quote}"), quotes, self._wrap)
        return [*_blocks(item.lead), *highlight(_blocks(item.quote), quotes, self._wrap)]

    def _wrap(self, inlines: list[Node], names: tuple[str, ...]) -> Node:
        if not self._screen:
            return strong(inlines)
        return {"t": "Span", "c": [attributes("", "mark", data_claims=" ".join(names)), inlines]}

    def line(self, item: Evidence, source: Source) -> Node:
        """Return the line above a passage, which leads to its place in the source."""
        where = places([item], source, self._language) or titled(source.hit.title) or source.hit.url
        shown = next((mark.quote for mark in self._quotes.get(item.id, ())), item.quote)
        target = deep_link(item, source, _first(_blocks(shown)))
        line = words(where)
        return para([link([*line, {"t": "Str", "c": "\u00a0↗"}], target)] if target else line)


def _blocks(markdown: str) -> list[Node]:
    """Return a text of a page as blocks, in which nothing is a citation or a heading of the report."""
    made = Blocks(lambda ids: [], lambda name: None, lambda number: [], str, None)
    return list(chain.from_iterable(map(_plainly, made.of(markdown))))


def _plainly(block: Node) -> list[Node]:
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
