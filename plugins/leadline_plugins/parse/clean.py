"""Bytes to clean characters: what every parser does first and last.

The same bytes always give the same text, for quotes are found again by their offsets in it.
"""

from __future__ import annotations

import codecs
import re
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from leadline.errors import Unsupported
from leadline.records import Blob, Document
from leadline_plugins.text import language

_BOMS = (  # UTF-32 first: its mark begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_WIDER = {"gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932", "iso8859-1": "cp1252", "ascii": "cp1252"}
"""What pages mean by a name, where it is more than the name says (the WHATWG's encoding standard)."""
_SAMPLE = 200_000
"""Bytes from which a charset is guessed."""
_TELLING = 1_000
"""Characters from which the language is told."""
_LINE_ENDS = re.compile("[\r\v\f\x85\u2028\u2029]")
_INVISIBLE = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\xad\ufeff\ufffe\uffff\ud800-\udfff]")
_TRAILING = re.compile(r"[ \t]+$", re.MULTILINE)
_GAPS = re.compile(r"\n{3,}")


def decode(data: bytes, charset: str = "") -> str:
    """Decode by byte-order mark, the charset that was named, UTF-8, or the likeliest guess, in this order."""
    for mark, name in _BOMS:
        if data.startswith(mark):
            return data.decode(name, "replace")
    for name in (charset, "utf-8"):
        text = _try(data, name)
        if text is not None:
            return text
    from charset_normalizer import from_bytes

    best = from_bytes(data[:_SAMPLE]).best()
    return data.decode(best.encoding if best else "cp1252", "replace")


def _try(data: bytes, charset: str) -> str | None:
    try:
        name = codecs.lookup(charset).name if charset else ""
        return data.decode(_WIDER.get(name, name)) if name else None
    except (LookupError, UnicodeDecodeError):
        return None


def clean(text: str) -> str:
    """Normalise line ends, remove what cannot be seen or stored, and the blank around the text and its lines."""
    text = _INVISIBLE.sub("", _LINE_ENDS.sub("\n", text.replace("\r\n", "\n")))
    if " \n" in text or "\t\n" in text:  # looking is much faster than replacing nothing
        text = _TRAILING.sub("", text)
    if "\n\n\n" in text:
        text = _GAPS.sub("\n\n", text)
    return text.strip("\n").rstrip()


def document(blob: Blob, text: str, title: str = "", language_tag: str = "", pages: tuple[int, ...] = ()) -> Document:
    """Make the document of a clean text; raises `Unsupported` where there is none."""
    if not text.strip():
        raise Unsupported(f"{blob.name}: holds no text")
    title = " ".join(clean(title).split()) or file_title(blob.name)
    return Document(text=text, title=title, language=language_tag or language(text[:_TELLING]), pages=pages)


def file_title(name: str) -> str:
    """Return a title made of a file's name or a URL's path."""
    path = unquote(urlsplit(name).path) if "://" in name else name
    return " ".join(clean(PurePosixPath(path).stem).replace("_", " ").split()) or clean(name)
