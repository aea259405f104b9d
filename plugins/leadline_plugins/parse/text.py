"""The plugin `text`: plain text, Markdown, reStructuredText and similar; CSV is a table, source code a block of code.

Inline markup stays as it is written. Front matter is removed, and so are the readings of ruby, which split words.
"""

from __future__ import annotations

import csv
import re
from collections import Counter

from leadline.contracts import Call
from leadline.errors import Unsupported
from leadline.parsing import MOST_CHARACTERS, parse_in_worker
from leadline.plugin import parser
from leadline.records import Blob, Document
from leadline_plugins.parse.decode import beginning, clean, decode, document
from leadline_plugins.parse.layout import Piece, lay_out, tables
from leadline_plugins.parse.markdown_blocks import bare_title, pieces_of
from leadline_plugins.parse.media import bare_type, charset

_OTHERS = {"text/html", "text/css", "text/javascript", "text/rtf"}
_FRONT_MATTER = re.compile(r"\A(---|\+\+\+)[ ]*\n(?P<meta>.*?)^\1[ ]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_MARKDOWN = {"text/markdown", "text/x-markdown"}
_TABLES = {"text/csv", "text/tab-separated-values"}
_PLAIN = {"text/plain", "text/x-rst", "text/prs.fallenstein.rst", "text/asciidoc", "text/org"}
# The text of a note. With its colon, a report that quotes it would take it for a footnote of its own.
_NOTE_TEXT = re.compile(r"^(\[\^[^\]\s]{1,40}\]):(?=[ \t])", re.MULTILINE)
# Code, where tags are literal, or words with their readings.
_RUBY = re.compile(
    r"(?P<code>^[ ]{0,3}(?P<fence>`{3,}|~{3,}).*?(?:^[ ]{0,3}(?P=fence)|\Z)|(?<!`)(?P<ticks>`{1,9})[^`\n]+(?P=ticks))"
    r"|<ruby\b[^<>]{0,200}>(?P<inside>(?:[^<]|<(?!/?ruby\b)){0,2000})</ruby\s*>",
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)
# A reading, or the tag of a base; the end of a reading need not be written.
_READING = re.compile(
    r"<(?P<tag>rt|rp|rtc)\b[^<>]*>.*?(?:</(?P=tag)\s*>|(?=<(?:rt|rp|rb|rtc)\b)|\Z)|</?(?:rb|rt|rp|rtc)\b[^<>]*>",
    re.DOTALL | re.IGNORECASE,
)
_META_TITLE = re.compile(r"^title\s*[:=]\s*(['\"]?)(?P<title>.+?)\1\s*$", re.MULTILINE | re.IGNORECASE)
_HASHES = re.compile(r"^#{1,6}[ \t]+(?P<title>.+?)[ \t#]*$")
_RULE = re.compile(r"^([=\-~^\"'`*+#])\1{2,}$")
_BLANK = re.compile(r"\n\s*\n")
# Characters at the beginning that may have a heading.
_HEAD = 4_000
# Characters; a longer line is a paragraph.
_TITLE = 150


@parser("Plain text, Markdown, reStructuredText", work="local")
class TextParser:
    """Decodes, cleans, and finds a title."""

    def accepts(self, media_type: str, /) -> bool:
        """Accept text, except formats that programs render or run."""
        kind = bare_type(media_type)
        return kind.startswith("text/") and kind not in _OTHERS

    async def parse(self, blob: Blob, call: Call, /) -> Document:
        """Return the text; raises `Unsupported` for binary data."""
        return await parse_in_worker(parse, blob)


def parse(blob: Blob) -> Document:
    """Parse, blocking."""
    text = decode(blob.data, charset(blob.media_type))
    if "\0" in text:
        raise Unsupported(f"{blob.name}: binary, not text")
    text, incomplete = beginning(text, MOST_CHARACTERS)
    text, kind = clean(text), bare_type(blob.media_type)
    if kind in _MARKDOWN or kind == "text/plain":
        text = _NOTE_TEXT.sub(r"\1", without_readings(text))
    front = _FRONT_MATTER.match(text)
    named = _META_TITLE.search(front["meta"]) if front else None
    body = text[front.end() :].lstrip("\n") if front else text
    if kind in _TABLES and (rows := _rows(body)):
        pieces = list(tables(rows))
    elif kind in _MARKDOWN or kind in _PLAIN:
        pieces = pieces_of(body, plain=kind not in _MARKDOWN)
    else:
        pieces = [Piece("code", body)] if body.strip() else []
    title = named["title"] if named else bare_title(heading(body))
    return document(blob, lay_out(pieces), title, incomplete=incomplete)


def without_readings(text: str) -> str:
    """Return a text without the readings of its words: `<ruby>漢字<rt>かんじ</rt></ruby>` as `漢字`."""
    if "<ruby" not in text.casefold():
        return text
    return _RUBY.sub(lambda match: match["code"] or _based(match), text)


def _based(match: re.Match[str]) -> str:
    """Return the words of a ruby element; one without a reading unchanged."""
    return _READING.sub("", match["inside"]) if "<rt" in match["inside"].casefold() else match[0]


def heading(text: str) -> str:
    """Return the first heading: after `#`, over or under a rule, or a short first paragraph."""
    lines = [line.strip() for line in text[:_HEAD].split("\n")]
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if marked := _HASHES.match(line):
            return marked["title"]
        if line and _RULE.match(below) and not _RULE.match(line) and len(line) <= _TITLE:
            return line
    first = _BLANK.split(text[:_HEAD].strip(), 1)[0].strip()
    return first if "\n" not in first and len(first) <= _TITLE and first != text.strip() else ""


def _rows(text: str) -> list[list[str]]:
    """Return the rows of a table whose cells are separated by the sign that most rows have equally often."""
    read = {sign: list(csv.reader(text.splitlines(), delimiter=sign)) for sign in "\t;,|"}
    widths = {sign: Counter(map(len, rows)).most_common(1)[0] for sign, rows in read.items() if rows}
    best = max(widths, key=lambda sign: (widths[sign][0] > 1) * widths[sign][1], default="")
    return read[best] if best and widths[best][0] > 1 else []
