"""The plugin `html`: the main part of web pages as Markdown with blocks, and their metadata and illustrations.

A page is parsed by lexbor (`selectolax`), copied into a light tree without what it hides (`html_tree`),
cut down to its main part (`html_main`) and read into blocks (`html_blocks`, `layout`).
"""

from __future__ import annotations

from leadline.contracts import Call
from leadline.errors import Unsupported
from leadline.parsing import parse_in_worker
from leadline.records import Blob, Document
from leadline_plugins.parse.decode import beginning, clean, declared, decode, document, printable
from leadline_plugins.parse.html_main import main_pieces
from leadline_plugins.parse.html_metadata import page_images, page_metadata
from leadline_plugins.parse.html_no_page import no_page_signs
from leadline_plugins.parse.html_tree import Hidden, copy, prepared
from leadline_plugins.parse.layout import lay_out
from leadline_plugins.parse.media import bare_type, charset

_XHTML = "application/xhtml+xml"
_KINDS = {"text/html", _XHTML}
# Characters of a page that are parsed.
_LONG = 5_000_000


class HtmlParser:
    """Parses HTML."""

    def accepts(self, media_type: str, /) -> bool:
        """Accept HTML and XHTML."""
        return bare_type(media_type) in _KINDS

    async def parse(self, blob: Blob, call: Call, /) -> Document:
        """Return the main text; raises `Unsupported` for a page without any."""
        return await parse_in_worker(parse, blob)


def parse(blob: Blob) -> Document:
    """Parse, blocking."""
    from selectolax.lexbor import LexborHTMLParser, SelectolaxError

    decoded = decode(blob.data, charset(blob.media_type) or declared(blob.data))
    source, incomplete = beginning(decoded, _LONG)
    source = printable(source)
    xhtml = bare_type(blob.media_type) == _XHTML or source.lstrip().startswith("<?xml")
    try:
        page = LexborHTMLParser(prepared(source, xhtml=xhtml))
    except SelectolaxError as error:  # out of memory, among others
        raise Unsupported(f"{blob.name}: has too many elements, or is no HTML ({error})") from error
    named = page_metadata(page)
    css = "".join(style.text() for style in page.css("style"))
    hidden = Hidden(css)
    tree = copy(page.body or page.root, hidden)
    pictures = page_images(tree, page, blob.name)
    if tree.cut:
        incomplete = "the page has too many elements or characters; only its beginning was read"
    result = document(blob, lay_out(main_pieces(tree)), named.title, named.language, incomplete=incomplete)
    if blob.name.startswith("http") and len(signs := no_page_signs(page, blob.name, result.text, hidden)) > 1:
        raise Unsupported(f"{blob.name} says that it is not the page (an error, a challenge): {', '.join(signs)}")
    return result.model_copy(update={"published": named.published, "author": clean(named.author), "images": pictures})
