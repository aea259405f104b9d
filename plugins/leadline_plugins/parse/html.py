"""The plugin `html`: the main text of web pages, and what they say about themselves (`html_meta`, `html_images`).

What a page hides from its readers is removed before its text is looked at (`html_hidden`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from pydantic import Field

from leadline.concurrency.workers import Died, Workers
from leadline.contracts import Call, Context
from leadline.errors import BadReply, Unsupported
from leadline.hookspecs import Offer, PluginSettings, hookimpl
from leadline.records import Blob, Document
from leadline_plugins.parse.clean import clean, decode, document
from leadline_plugins.parse.html_hidden import remove_hidden
from leadline_plugins.parse.html_images import images
from leadline_plugins.parse.html_meta import about
from leadline_plugins.parse.media import bare, charset

_KINDS = {"text/html", "application/xhtml+xml"}
_META_CHARSET = re.compile(rb"<meta[^>]{1,200}?charset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
_HEAD = 4096
"""Bytes in which a page must name its charset; the standard says 1024, pages say otherwise."""
_LONG = 5_000_000
"""Characters of a page that are read; reading on costs seconds, and no page for people is as long."""
_MANY = 40_000
"""Elements; what looks for main text takes seconds for more, so that all that can be seen is taken."""
_SECONDS = 25.0
"""That one page may take."""
_LEVEL = re.compile("h[1-6]")
_LONGEST_HEADING = 150
"""Characters."""
_BLOCKS = "//p | //div | //br | //li | //tr | //h1 | //h2 | //h3 | //h4 | //h5 | //h6 | //section | //article"


class HtmlSettings(PluginSettings):
    """Where pages are parsed."""

    processes: int = Field(2, ge=0, description="Processes that parse side by side; 0 parses in threads.")


class HtmlParser:
    """Reads with trafilatura; where that finds no main text, all that can be seen."""

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
    tree = _tree(blob)
    said = about(tree)
    remove_hidden(tree)
    seen = images(tree, blob.name)
    text = (_main_text(tree) if tree.xpath("count(//*)") <= _MANY else "") or _seen(tree)
    made = document(blob, text, said.title, said.language)
    return made.model_copy(update={"published": said.published, "author": said.author, "images": seen})


def _tree(blob: Blob) -> Any:
    from lxml import etree, html  # type: ignore[import-untyped]

    text = clean(decode(blob.data, charset(blob.media_type) or _meta_charset(blob.data)))[:_LONG]
    try:
        return html.document_fromstring(text.encode(), html.HTMLParser(encoding="utf-8"))
    except etree.LxmlError as error:
        raise Unsupported(f"{blob.name}: holds no readable HTML") from error


def _meta_charset(data: bytes) -> str:
    named = _META_CHARSET.search(data[:_HEAD])
    return named[1].decode("ascii") if named else ""


def _main_text(tree: Any) -> str:
    """Return the main text with tables and headings as Markdown; empty where none is found."""
    from trafilatura import bare_extraction

    for caption in tree.xpath("//table/caption"):  # or it becomes a row of cells
        caption.tag = "p"
        caption.tail = None
        caption.getparent().addprevious(caption)
    found: Any = bare_extraction(tree, include_comments=False)
    return clean(_headed(found.text or "", found.body)) if found else ""


def _headed(text: str, body: Any) -> str:
    """Return a text with the signs of Markdown before its headings, which stand in it as lines.

    Not before whole sentences: some pages set paragraphs as headings, and those may be quoted.
    """
    titles = {" ".join("".join(head.itertext()).split()): head.get("rend", "") for head in body.iter("head")}
    levels = {title: int(level[1:]) for title, level in titles.items() if _LEVEL.fullmatch(level) and _names(title)}
    return "\n".join(
        f"{'#' * levels[line.strip()]} {line.strip()}" if line.strip() in levels else line for line in text.split("\n")
    )


def _names(title: str) -> bool:
    return 0 < len(title) <= _LONGEST_HEADING and not title.endswith((".", "。"))


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
def leadline_parsers() -> Iterable[Offer[HtmlSettings, HtmlParser]]:
    """Offer the parser."""
    yield Offer(
        lambda settings, context: HtmlParser(context, settings.processes),
        HtmlSettings,
        "Main text of HTML pages",
        free=True,
        answers=(),
    )
