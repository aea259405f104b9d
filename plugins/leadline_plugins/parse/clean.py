"""Bytes to clean characters: what every parser does first and last.

The same bytes always give the same text, for quotes are found again by their offsets in it.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from leadline.errors import Unsupported
from leadline.records import Blob, Document
from leadline_plugins.parse.charset import decode
from leadline_plugins.parse.layout import Layout
from leadline_plugins.text import language

__all__ = ["clean", "decode", "document", "file_title", "printable"]

_TELLING = 1_000
"""Characters by which the language is recognised."""
_LINE_ENDS = re.compile("[\r\v\f\x85\u2028\u2029]")
_INVISIBLE = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\xad\ufeff\ufffe\uffff\ud800-\udfff]")
_TRAILING = re.compile(r"[ \t]+$", re.MULTILINE)
_GAPS = re.compile(r"\n{3,}")


def clean(text: str) -> str:
    """Normalise line ends, remove what cannot be seen or stored, and the blank around the text and its lines."""
    text = printable(text)
    if " \n" in text or "\t\n" in text:  # looking is much faster than replacing nothing
        text = _TRAILING.sub("", text)
    if "\n\n\n" in text:
        text = _GAPS.sub("\n\n", text)
    return text.strip("\n").rstrip()


def printable(text: str) -> str:
    """Normalise line ends and remove what cannot be seen or stored."""
    return _INVISIBLE.sub("", _LINE_ENDS.sub("\n", text.replace("\r\n", "\n")))


def document(
    blob: Blob, layout: Layout, title: str = "", language_tag: str = "", pages: tuple[int, ...] = ()
) -> Document:
    """Make the document of what was laid out; raises `Unsupported` where there is no text."""
    if not layout.text.strip():
        raise Unsupported(f"{blob.name}: holds no text")
    return Document(
        text=layout.text,
        blocks=layout.blocks,
        title=" ".join(clean(title).split()) or file_title(blob.name),
        language=language_tag or language(layout.text[:_TELLING]),
        pages=pages,
    )


def file_title(name: str) -> str:
    """Return a title made of a file's name or a URL's path."""
    path = unquote(urlsplit(name).path) if "://" in name else name
    return " ".join(clean(PurePosixPath(path).stem).replace("_", " ").split()) or clean(name)
