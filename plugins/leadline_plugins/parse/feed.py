"""The plugin `feed`: RSS and Atom. An entry is a heading, a line with its date and address, and its text."""

from __future__ import annotations

import re
from email.utils import parsedate_to_datetime
from typing import Any

from leadline.contracts import Call
from leadline.errors import Unsupported
from leadline.parsing import parse_in_worker
from leadline.plugin import parser
from leadline.records import Blob, Document
from leadline_plugins.parse.decode import beginning, clean, declared, decode, document
from leadline_plugins.parse.html_blocks import pieces_of_markup
from leadline_plugins.parse.layout import Piece, collapse, lay_out
from leadline_plugins.parse.media import bare_type, charset

_KINDS = {"application/rss+xml", "application/atom+xml", "application/rdf+xml"}
_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*\?>")
_ENTRIES = {"item", "entry"}
# What holds entries; entries in entries would be read many times.
_FEEDS = {"channel", "feed", "RDF", "rss"}
_TEXTS = ("content", "encoded", "description", "summary")
_DATES = ("published", "pubDate", "date", "updated")
# Characters and entries of a feed that are parsed.
_LONG, _MOST = 4_000_000, 2_000
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}")


@parser("RSS and Atom feeds", work="local")
class FeedParser:
    """Parses feeds with lxml, which tolerates most errors."""

    def accepts(self, media_type: str, /) -> bool:
        """Accept RSS and Atom."""
        return bare_type(media_type) in _KINDS

    async def parse(self, blob: Blob, call: Call, /) -> Document:
        """Return the entries as text; raises `Unsupported` if it is no feed or empty."""
        return await parse_in_worker(parse, blob)


def parse(blob: Blob) -> Document:
    """Parse, blocking."""
    root, incomplete = _root(blob)
    entries = [node for node in root.iter() if _name(node) in _ENTRIES and _name(node.getparent()) in _FEEDS]
    title = next((_line(element) for element in root.iter() if _name(element) == "title"), "")
    dates = [day for entry in entries if (day := _day(entry))]
    if len(entries) > _MOST:
        incomplete = f"only the first {_MOST:,} entries were read"
    layout = lay_out(piece for entry in entries[:_MOST] for piece in _entry(entry))
    result = document(blob, layout, title, incomplete=incomplete)
    return result.model_copy(update={"published": max(dates, default=None)})


def _root(blob: Blob) -> tuple[Any, str]:
    """Return the root of a feed, and what a notice says of the rest."""
    from lxml import etree  # type: ignore[import-untyped]

    text, incomplete = beginning(decode(blob.data, charset(blob.media_type) or declared(blob.data)), _LONG)
    # No entities and no network: a feed of a kilobyte could expand to gigabytes, or read files.
    parser = etree.XMLParser(recover=True, resolve_entities=False, no_network=True, load_dtd=False)
    try:
        root = etree.fromstring(_DECLARATION.sub("", clean(text)).encode(), parser)
    except etree.LxmlError as error:
        raise Unsupported(f"{blob.name}: not a feed ({error})") from error
    if root is None or not any(_name(element) in {*_ENTRIES, "channel", "feed"} for element in root.iter()):
        raise Unsupported(f"{blob.name}: not a feed")
    return root, incomplete


def _entry(entry: Any) -> list[Piece]:
    """Return title, date and address, and the longest text of an entry."""
    title = next((_line(child) for child in entry if _name(child) == "title"), "")
    about = " · ".join(filter(None, (_day(entry), _address(entry))))
    markup = max((_markup(child) for child in entry if _name(child) in _TEXTS), key=len, default="")
    pieces = [Piece("heading", title, level=2)] if title else []
    return [*pieces, *([Piece("paragraph", about)] if about else []), *_pieces(markup)]


def _address(entry: Any) -> str:
    for child in entry:
        if _name(child) == "link" and child.get("rel", "alternate") == "alternate":
            return collapse(child.get("href") or child.text or "")
    return ""


def _day(entry: Any) -> str:
    """Return the date of an entry as ISO 8601; empty without one."""
    for name in _DATES:
        for child in entry:
            if _name(child) == name and (day := _date("".join(child.itertext()).strip())):
                return day
    return ""


def _date(text: str) -> str:
    if iso := _ISO.match(text):
        return iso[0]
    try:
        return parsedate_to_datetime(text).date().isoformat()
    except ValueError:
        return ""


def _line(element: Any) -> str:
    return " ".join(piece.text for piece in _pieces(_markup(element)))


def _markup(element: Any) -> str:
    """Return the content of an element as HTML, from escaped text or elements."""
    from lxml import etree

    if not len(element):
        return element.text or ""
    return (element.text or "") + "".join(etree.tostring(child, encoding="unicode") for child in element)


def _pieces(markup: str) -> list[Piece]:
    """Return the visible pieces of HTML, with headings below that of the entry."""
    if "<" not in markup and "&" not in markup:
        return [Piece("paragraph", collapse(part)) for part in clean(markup).split("\n\n") if part.strip()]
    pieces = pieces_of_markup(clean(markup))
    for piece in pieces:
        piece.level += 2 if piece.kind == "heading" else 0
    return pieces


def _name(element: Any) -> str:
    tag = None if element is None else element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""
