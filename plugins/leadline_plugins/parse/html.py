"""The plugin `html`: the main part of web pages as Markdown with blocks, and what pages say about themselves.

A page is parsed by lexbor (`selectolax`), copied into a light tree without what it hides (`html_tree`, `html_hidden`),
cut down to its main part (`html_main`) and read into blocks (`html_blocks`, `layout`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from pydantic import Field

from leadline.concurrency.workers import Died, Workers
from leadline.contracts import Call, Context
from leadline.errors import BadReply, Unsupported
from leadline.hookspecs import Offer, PluginSettings, hookimpl
from leadline.records import Blob, Document
from leadline_plugins.parse.clean import decode, document, printable
from leadline_plugins.parse.html_hidden import Hidden
from leadline_plugins.parse.html_images import images
from leadline_plugins.parse.html_main import main_pieces
from leadline_plugins.parse.html_meta import about
from leadline_plugins.parse.html_tree import copy, prepared
from leadline_plugins.parse.layout import lay_out
from leadline_plugins.parse.media import bare, charset

_XHTML = "application/xhtml+xml"
_KINDS = {"text/html", _XHTML}
_META_CHARSET = re.compile(rb"<meta[^>]{1,200}?charset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
_HEAD = 4096
"""Bytes in which a page must name its charset; the standard says 1024, pages say otherwise."""
_LONG = 5_000_000
"""Characters of a page that are read."""
_SECONDS = 25.0
"""Time limit of one page."""


class HtmlSettings(PluginSettings):
    """Where pages are parsed."""

    processes: int = Field(2, ge=0, description="Processes that parse side by side; 0 parses in threads.")


class HtmlParser:
    """Parses HTML in worker processes, or in threads without any."""

    def __init__(self, context: Context, processes: int = 0, seconds: float = _SECONDS) -> None:
        self._context = context
        self._seconds = seconds
        self._workers = Workers(processes, seconds) if processes else None

    async def __aenter__(self) -> HtmlParser:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._workers:
            self._workers.close()

    def accepts(self, media_type: str, /) -> bool:
        """Accept HTML and XHTML."""
        return bare(media_type) in _KINDS

    async def parse(self, blob: Blob, call: Call, /) -> Document:
        """Return the main text; raises `Unsupported` for a page without any."""
        if not self._workers:
            return await self._context.in_thread(parse, blob)
        try:
            return await self._workers.do(parse, blob)
        except Died as died:
            if died.late:
                raise Unsupported(f"{blob.name}: was not parsed within {self._seconds:g} s") from died
            raise BadReply(f"{blob.name}: the parser died of it ({died.status})") from died


def parse(blob: Blob) -> Document:
    """Parse, blocking."""
    from selectolax.lexbor import LexborHTMLParser

    source = printable(decode(blob.data, charset(blob.media_type) or _meta_charset(blob.data))[:_LONG])
    xhtml = bare(blob.media_type) == _XHTML or source.lstrip().startswith("<?xml")
    page = LexborHTMLParser(prepared(source, xhtml=xhtml))
    named = about(page)
    css = "".join(style.text() for style in page.css("style"))
    tree = copy(page.body or page.root, Hidden(css))
    pictures = images(tree, page, blob.name)
    made = document(blob, lay_out(main_pieces(tree)), named.title, named.language)
    return made.model_copy(update={"published": named.published, "author": named.author, "images": pictures})


def _meta_charset(data: bytes) -> str:
    named = _META_CHARSET.search(data[:_HEAD])
    return named[1].decode("ascii") if named else ""


@hookimpl
def leadline_parsers() -> Iterable[Offer[HtmlSettings, HtmlParser]]:
    """Offer the parser."""
    yield Offer(
        lambda settings, context: HtmlParser(context, settings.processes),
        HtmlSettings,
        "Main part of HTML pages",
        free=True,
        answers=(),
    )
