"""Bytes to characters: by what the bytes show, what was named, and what is likeliest, in this order.

Servers and pages name charsets wrongly often enough that a name is only believed where the bytes do not contradict it;
a stray byte in a long text contradicts nothing.
"""

from __future__ import annotations

import codecs
import re

_BOMS = (  # UTF-32 first: its mark begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_WIDER = {
    "ascii": "cp1252",
    "big5": "big5hkscs",
    "euc_kr": "cp949",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "shift_jis": "cp932",
    "tis-620": "cp874",
}
"""What pages mean by a name, where it is more than the name says (the WHATWG's encoding standard)."""
_TEXTUAL = re.compile(
    r"utf-8(-sig)?|utf-(16|32)(-[bl]e)?|ascii|iso8859-\d{1,2}|cp\d{3,4}|koi8-[rtu]|mac-\w+|gb2312|gbk|gb18030|hz"
    r"|big5(hkscs)?|euc_\w+|shift_jis\w*|iso2022_\w+|johab|tis-620|ptcp154|kz1048"
)
"""Charsets that a page may name; other codecs of Python (`punycode`, `unicode_escape`) take forever or mean no text."""
_LATIN = {"cp1252", "cp1254", "iso8859-15"}
"""Charsets in which almost any bytes are some text."""
_SAMPLE = 200_000
"""Bytes from which a charset is guessed."""
_GUESSED = (
    *("gb18030", "big5hkscs", "cp932", "euc_jp", "cp949", "cp1251", "koi8_r", "cp1252", "cp1250", "iso8859_2"),
    *("cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258", "cp874"),
)
"""Charsets of the web; those of DOS and of mainframes are likelier mistakes than truths."""
_MARKUP = 100
"""In UTF-16 every character of the markup has a byte of nothing, on one side; so many bytes hold at least one."""
_STRAY = 200
"""A text may hold one unreadable character in so many."""


def decode(data: bytes, charset: str = "") -> str:
    """Decode by byte-order mark, the charset that was named, UTF-8, or the likeliest guess, in this order."""
    for name in (_marked(data), *_named(data, charset), "utf-8"):
        if name and (text := _try(data, name)) is not None:
            return text
    for name in (*_named(data, charset), "utf-8"):
        if (text := _try(data, name, "replace")) is not None and text.count("\ufffd") * _STRAY <= len(text):
            return text
    return data.decode(_guess(data), "replace")


def _marked(data: bytes) -> str:
    """Return the charset that the bytes show beyond doubt; empty where they do not."""
    sample = data[:_SAMPLE]
    for mark, name in _BOMS:
        if data.startswith(mark):
            return name
    if b"\x1b$" in sample and sample.isascii():
        return "iso2022_jp"
    nothing = sample[::2].count(0), sample[1::2].count(0)
    if max(nothing) * _MARKUP > len(sample) and min(nothing) * 4 < max(nothing):
        name = "utf-16-be" if nothing[0] > nothing[1] else "utf-16-le"
        text = _try(sample[: len(sample) // 2 * 2], name) or "\0"
        if ("<" in text or max(nothing) * 4 > len(sample)) and "".join(text.split()).isprintable():
            return name  # and neither ASCII with a byte of nothing in it, nor numbers of two bytes
    return ""


def _named(data: bytes, charset: str) -> tuple[str, ...]:
    try:
        name = codecs.lookup(charset.lower().removeprefix("x-")).name if charset else ""
    except (LookupError, ValueError):
        return ()
    if not _TEXTUAL.fullmatch(name):
        return ()
    if name.startswith(("utf-16", "utf-32")) and _try(data, "utf-8") is not None:
        return ()  # bytes that are text in UTF-8 are none in these
    wider = _WIDER.get(name, name)
    return ("utf-8", wider) if wider in _LATIN else (wider,) if wider else ()


def _try(data: bytes, charset: str, errors: str = "strict") -> str | None:
    try:
        return data.decode(charset, errors)
    except (LookupError, UnicodeError):
        return None


def _guess(data: bytes) -> str:
    from charset_normalizer import from_bytes

    best = from_bytes(data[:_SAMPLE], cp_isolation=list(_GUESSED)).best()
    return best.encoding if best else "cp1252"
