"""Bytes to clean characters, and the document that every parser returns.

Servers and pages often name a wrong charset, so a name is used only if the bytes do not contradict it; a stray byte in
a long text is no contradiction. The same bytes always result in the same text, because quotes are found by offset.
"""

from __future__ import annotations

import codecs
import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from leadline.display import visible
from leadline.errors import Unsupported
from leadline.records import Blob, Document
from leadline_plugins.parse.layout import Layout
from leadline_plugins.text import language

if TYPE_CHECKING:
    from chardet import DetectionDict

_BOMS = (  # UTF-32 first: its mark begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Wider charsets that pages mean by a name (WHATWG encoding standard).
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
# Charsets that a page may name; other codecs of Python (`punycode`, `unicode_escape`) are slow or no text.
_TEXTUAL = re.compile(
    r"utf-8(-sig)?|utf-(16|32)(-[bl]e)?|ascii|iso8859-\d{1,2}|cp\d{3,4}|koi8-[rtu]|mac-\w+|gb2312|gbk|gb18030|hz"
    r"|big5(hkscs)?|euc_\w+|shift_jis\w*|iso2022_\w+|johab|tis-620|ptcp154|kz1048"
)
# Charsets that decode almost any bytes.
_LATIN = {"cp1252", "cp1254", "iso8859-15"}
# Bytes that a charset is guessed from.
_SAMPLE = 200_000
_GUESSED = (
    *("utf-8", "gb18030", "big5hkscs", "cp932", "euc-jp", "cp949", "cp1250", "cp1251", "cp1252", "cp1253", "cp1254"),
    *("cp1255", "cp1256", "cp1257", "cp1258", "cp874", "koi8-r", "koi8-u", "mac-roman", "mac-cyrillic", "cp866"),
    *("iso8859-2", "iso8859-5", "iso8859-6", "iso8859-15"),
)
# What a wrong charset makes of words: signs of no text, two scripts in a word, a capital or a symbol inside it.
_FAULT = re.compile(
    r"[\x80-\x9f\ufffd\ue000-\uf8ff\u2500-\u259f¤]|[A-Za-z][\u0370-\u06ff\u0e00-\u0e7f]"
    r"|[\u0370-\u06ff\u0e00-\u0e7f][A-Za-z\d]|[a-zß-öø-ÿ][À-ÖØ-ÞŠŒŽŸ]|[а-яё][А-ЯЁ]|[α-ω][Α-Ω]"
    r"|[^\W\d_][¡-©«¬®-¶¸¹»-¿×÷†‡•‰ˆ˜˛˝˙∑∏√∫…„”]+[^\W\d_]|[a-z][\u3000-\ud7a3]+[a-z]"
)
# The charset of most texts without a name is preferred to those that explain the bytes as well.
_USUAL, _PREFERENCE = "cp1252", 1.5
# Signs of UTF-16 without a mark and without ASCII; no other charset of texts has control characters.
_CONTROLS = re.compile(rb"[\0-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_WORDS = re.compile(
    "[\t\n\r -~\u00a0-\u06ff\u0900-\u0eff\u2010-\u203b\u3000-\u30ff\u4e00-\u9fff\uac00-\ud7a3\uff01-\uffe5]+"
)
# Where a page or an XML file names its charset; pages exceed the 1024 bytes of the standard.
_HEAD = 4096
_META = re.compile(rb"<meta[^>]{1,200}?charset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
_XML = re.compile(rb"\A\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([\w.:-]+)")
# In UTF-16 the markup has zero bytes on one side: at least one in so many bytes.
_MARKUP = 100
# Characters that a few numbers are in UTF-16.
_FEW = 4
# A text may have one unreadable character in so many.
_STRAY = 200
__all__ = ["beginning", "clean", "declared", "decode", "document", "file_title", "plausible_title", "printable"]
# Characters that the language is identified from.
_LANGUAGE_SAMPLE = 1_000
_LINE_ENDS = re.compile("[\r\v\f\x85\u2028\u2029]")
_TRAILING = re.compile(r"[ \t]+$", re.MULTILINE)
_GAPS = re.compile(r"\n{3,}")
_SGR = re.compile(r"\x1b\[[\d;]*m")


def decode(data: bytes, charset: str = "") -> str:
    """Decode by byte-order mark, named charset, UTF-8, or the best guess, in this order."""
    for name in (_marked(data), *_named(data, charset), "utf-8"):
        if name and (text := _try(data, name)) is not None:
            return text
    for name in (*_named(data, charset), "utf-8"):
        text = _try(data, name, "replace") or ""
        stray = text.count("\ufffd")
        if text and stray * _STRAY <= len(text) and 2 * stray <= len(text) - len(text.encode("ascii", "ignore")):
            return text
    return data.decode(_guess(data), "replace")


def declared(data: bytes) -> str:
    """Return the charset that an HTML page or an XML file names in itself; empty without one."""
    named = _XML.match(data[:_HEAD]) or _META.search(data[:_HEAD])
    return named[1].decode("ascii", "replace") if named else ""


def _marked(data: bytes) -> str:
    """Return the charset that the bytes prove; empty without proof."""
    sample = data[:_SAMPLE]
    for mark, name in _BOMS:
        if data.startswith(mark):
            return name
    if b"\x1b$" in sample and sample.isascii():
        return "iso2022_jp"
    zeros = sample[::2].count(0), sample[1::2].count(0)
    if max(zeros) * _MARKUP > len(sample) and min(zeros) * 4 < max(zeros):
        name = "utf-16-be" if zeros[0] > zeros[1] else "utf-16-le"
        text = _try(sample[: len(sample) // 2 * 2], name) or "\0"
        if ("<" in text or max(zeros) * 4 > len(sample)) and "".join(text.split()).isprintable():
            return name  # neither ASCII with a stray zero, nor binary numbers
    controls = len(_CONTROLS.findall(sample))
    if len(data) % 2 == 0 and controls > (len(sample) // 3 if sample.isascii() else 0):
        for name in sorted(("utf-16-le", "utf-16-be"), key=lambda name: len({*sample[name == "utf-16-le" :: 2]})):
            if _WORDS.fullmatch(text := _try(sample, name) or "") and len({*text}) > _FEW:
                return name
    return ""


def _named(data: bytes, charset: str) -> tuple[str, ...]:
    try:
        name = codecs.lookup(charset.lower().removeprefix("x-")).name if charset else ""
    except (LookupError, ValueError):
        return ()
    if not _TEXTUAL.fullmatch(name):
        return ()
    if name.startswith(("utf-16", "utf-32")) and _try(data, "utf-8") is not None:
        return ()  # valid UTF-8 is not UTF-16 or UTF-32
    wider = _WIDER.get(name, name)
    return ("utf-8", wider) if wider in _LATIN else (wider,) if wider else ()


def _try(data: bytes, charset: str, errors: str = "strict") -> str | None:
    try:
        return data.decode(charset, errors)
    except (LookupError, UnicodeError):
        return None


def _guess(data: bytes) -> str:
    """Return the likeliest charset: by its letters, and by words that no charset of theirs would have.

    A page of English with one accent is guessed from that word and the two on each side of it.
    """
    from chardet import detect_all

    words = data[:_SAMPLE].split()
    telling = {near for index, word in enumerate(words) if not word.isascii() for near in range(index - 2, index + 3)}
    sample = b" ".join(word for index, word in enumerate(words) if index in telling) or data[:_SAMPLE]

    def rating(guess: DetectionDict) -> float:
        name = codecs.lookup(guess["encoding"] or _USUAL).name
        faults = len(_FAULT.findall(sample.decode(name, "replace")))
        return guess["confidence"] * (_PREFERENCE if name == _USUAL else 1) / (1 + faults) ** 2

    best = max(detect_all(sample, include_encodings=_GUESSED, ignore_threshold=True), key=rating)
    return best["encoding"] or _USUAL


def clean(text: str) -> str:
    """Normalize line ends; remove invisible characters, trailing space and repeated blank lines."""
    text = printable(text)
    if " \n" in text or "\t\n" in text:  # a search is much faster than a substitution without matches
        text = _TRAILING.sub("", text)
    if "\n\n\n" in text:
        text = _GAPS.sub("\n\n", text)
    return text.strip("\n").rstrip()


def printable(text: str) -> str:
    """Normalize line ends; remove invisible characters, and the bold and underlined of terminals."""
    text = _SGR.sub("", text) if "\x1b" in text else text
    return visible(_LINE_ENDS.sub("\n", text.replace("\r\n", "\n")))


def document(
    blob: Blob,
    layout: Layout,
    title: str = "",
    language_tag: str = "",
    pages: tuple[int, ...] = (),
    incomplete: str = "",
) -> Document:
    """Return the document of a layout; raises `Unsupported` if it has no text.

    `incomplete`: what of the file was not read.
    """
    if not layout.text.strip():
        raise Unsupported(f"{blob.name}: no text")
    return Document(
        text=layout.text,
        blocks=layout.blocks,
        title=" ".join(clean(title).split()) or file_title(blob.name),
        language=language_tag or language(layout.text[:_LANGUAGE_SAMPLE]),
        pages=pages,
        incomplete=incomplete,
    )


def beginning(text: str, limit: int) -> tuple[str, str]:
    """Return the first `limit` characters of a text, and what a notice says of the others."""
    if len(text) <= limit:
        return text, ""
    return text[:limit], f"only the first {limit:,} of {len(text):,} characters were read"


# A path, the name of a file or of a program, what programs call new files, and codes without a word.
_NO_TITLE = re.compile(
    r"(?:[a-z]:\\|file:|[/~]).*|.*\.(?:docx?|odt|rtf|indd|qxd|pptx?|xlsx?|pdf|tex|dvi|ps|pub|pages|html?|te?xt)"
    r"|(?:microsoft (?:word|powerpoint|excel)|powerpoint[ -]pr\S+|slide|folie)\b.*|(?=\S*\d)\S*_\S*|[\W\d_]*"
    r"|(?:untitled|unknown|unbenannt|ohne titel|sans (?:nom|titre)|sin título|senza nome|dokument|document|title|none)"
    r"[\s\d()_-]*",
    re.IGNORECASE | re.DOTALL,
)


def plausible_title(text: str) -> str:
    """Return the title that the metadata of a file have, in one line; empty if it does not look like one."""
    title = " ".join(clean(text).split())
    return "" if _NO_TITLE.fullmatch(title) else title


def file_title(name: str) -> str:
    """Return a title from the name of a file or the path of a URL."""
    path = unquote(urlsplit(name).path) if "://" in name else name
    return " ".join(clean(PurePosixPath(path).stem).replace("_", " ").split()) or clean(name)
