"""The plugin `html`: the main text of web pages.

What a page hides from its readers is removed before anything else looks at it: hidden text is where instructions to
machines stand.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from leadline.contracts import Call, Context
from leadline.errors import Unsupported
from leadline.hookspecs import Offer, PluginSettings, hookimpl
from leadline.records import Blob, Document
from leadline_plugins.parse.clean import clean, decode, document
from leadline_plugins.parse.media import bare, charset

_KINDS = {"text/html", "application/xhtml+xml"}
_META_CHARSET = re.compile(rb"<meta[^>]{1,200}?charset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
_HEAD = 4096
"""Bytes in which a page must name its charset; the standard says 1024, pages say otherwise."""
_HIDDEN = (
    "//script | //style | //template | //noscript | //iframe | //object | //comment()"
    " | //*[@hidden and not(@hidden='until-found')] | //*[@aria-hidden='true' and not(ancestor-or-self::math)]"
    " | //*[contains(translate(@style, 'DISPLAYNOE ', 'displaynoe'), 'display:none')]"
    " | //*[contains(translate(@style, 'VISBLTYHDEN ', 'visbltyhden'), 'visibility:hidden')]"
)
_BLOCKS = "//p | //div | //br | //li | //tr | //h1 | //h2 | //h3 | //h4 | //h5 | //h6 | //section | //article"


class HtmlParser:
    """Reads with trafilatura; where that finds no main text, all that can be seen."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def accepts(self, media_type: str, /) -> bool:
        """Accept HTML and XHTML."""
        return bare(media_type) in _KINDS

    async def parse(self, blob: Blob, call: Call, /) -> Document:
        """Return the main text; raises `Unsupported` for a page without any."""
        return await self._context.in_thread(parse, blob)


def parse(blob: Blob) -> Document:
    """Parse, blocking."""
    from trafilatura import bare_extraction

    tree = _tree(blob)
    language = (tree.get("lang") or "").split("-")[0].lower()
    for element in tree.xpath(_HIDDEN):
        _drop(element)
    found: Any = bare_extraction(tree, with_metadata=True, include_comments=False)
    text = clean(found.text or "") if found else ""
    title = (found.title if found else "") or tree.findtext(".//title") or ""
    return document(blob, text or _seen(tree), title, language)


def _tree(blob: Blob) -> Any:
    from lxml import etree, html  # type: ignore[import-untyped]

    sniffed = _META_CHARSET.search(blob.data[:_HEAD])
    named = charset(blob.media_type) or (sniffed[1].decode("ascii") if sniffed else "")
    text = clean(decode(blob.data, named))
    try:
        return html.document_fromstring(text.encode(), html.HTMLParser(encoding="utf-8"))
    except etree.LxmlError as error:
        raise Unsupported(f"{blob.name}: holds no readable HTML") from error


def _drop(element: Any) -> None:
    """Remove an element and keep the text that follows it."""
    if element.getparent() is not None:
        element.drop_tree()


def _seen(tree: Any) -> str:
    """Return all text of the body, a line a block."""
    from copy import deepcopy

    body = deepcopy(tree.find(".//body") if tree.find(".//body") is not None else tree)
    for element in body.xpath(_BLOCKS):
        element.tail = "\n" + (element.tail or "")
        element.text = "\n" + (element.text or "")
    lines = (" ".join(line.split()) for line in clean(body.text_content()).split("\n"))
    return clean("\n".join(line for line in lines if line))


@hookimpl
def leadline_parsers() -> Iterable[Offer[Any, HtmlParser]]:
    """Offer the parser."""
    yield Offer(lambda _, context: HtmlParser(context), PluginSettings, "Main text of HTML pages")
