"""The plugin `word`: the text of Word files (.docx), paragraphs and tables in the order of the document.

Headings are those of Markdown: what a sentence speaks of may stand there alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from io import BytesIO
from typing import Any
from zipfile import ZipFile

from leadline.contracts import Call, Context
from leadline.errors import BadReply, Unsupported
from leadline.hookspecs import Offer, PluginSettings, hookimpl
from leadline.records import Blob, Document
from leadline_plugins.parse.clean import clean, document
from leadline_plugins.parse.media import DOCX, bare

_UNPACKED = 500_000_000
"""Bytes a file may unpack to: a zip of a few kilobytes can fill the memory."""

_HEADING = re.compile(r"Heading ([1-9])")
"""The names of their styles, whatever the language of the program."""
_DEEPEST = 6
"""Levels that Markdown has."""


class WordParser:
    """Reads with python-docx."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def accepts(self, media_type: str, /) -> bool:
        """Accept .docx, not the .doc of before 2007."""
        return bare(media_type) == DOCX

    async def parse(self, blob: Blob, call: Call, /) -> Document:
        """Return the text; raises `BadReply` for a broken file, `Unsupported` for one without text."""
        return await self._context.in_thread(parse, blob)


def parse(blob: Blob) -> Document:
    """Parse, blocking."""
    try:
        _check_size(blob)
        title, text = _read(blob.data)
    except Unsupported:
        raise
    except Exception as error:
        raise BadReply(f"{blob.name}: is no readable Word file ({error})") from error
    return document(blob, clean(text), title)


def _check_size(blob: Blob) -> None:
    with ZipFile(BytesIO(blob.data)) as archive:
        size = sum(entry.file_size for entry in archive.infolist())
    if size > _UNPACKED:
        raise Unsupported(f"{blob.name}: unpacks to {size:,} bytes; at most {_UNPACKED:,} are read")


def _read(data: bytes) -> tuple[str, str]:
    """Return title and text."""
    import docx

    word = docx.Document(BytesIO(data))
    blocks = [(style, text) for style, text in _blocks(word) if text.strip()]
    heading = next((text for style, text in blocks if style.startswith(("Title", "Heading"))), "")
    return word.core_properties.title or heading, "\n\n".join(_headed(style, text) for style, text in blocks)


def _headed(style: str, text: str) -> str:
    level = 1 if style == "Title" else int(found[1]) if (found := _HEADING.fullmatch(style)) else 0
    return f"{'#' * min(level, _DEEPEST)} {' '.join(text.split())}" if level else text


def _blocks(container: Any) -> Iterator[tuple[str, str]]:
    """Yield style and text of each paragraph and table."""
    for block in container.iter_inner_content():
        if hasattr(block, "rows"):
            yield "Table", "\n".join(_row(row) for row in block.rows)
        else:
            yield block.style.name if block.style else "", block.text


def _row(row: Any) -> str:
    """Return a row as a line; a merged cell stands once."""
    cells = {id(cell._tc): cell for cell in row.cells}.values()
    return " | ".join(" ".join(" ".join(text for _, text in _blocks(cell)).split()) for cell in cells)


@hookimpl
def leadline_parsers() -> Iterable[Offer[Any, WordParser]]:
    """Offer the parser."""
    yield Offer(lambda _, context: WordParser(context), PluginSettings, "Text of Word files (.docx)", free=True)
