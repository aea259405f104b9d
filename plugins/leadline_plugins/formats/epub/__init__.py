"""Format `epub`: the report as an e-book, each citation linked to its source and the passages cited from it."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from io import BytesIO
from typing import Any
from zipfile import ZipFile

from leadline.contracts import Call, Context
from leadline.hookspecs import Offer, hookimpl
from leadline.records import Blob, Files
from leadline_plugins.formats.built import Written, offer
from leadline_plugins.formats.document import Document, Medium
from leadline_plugins.formats.pandoc import meta, write
from leadline_plugins.wording import right_to_left, say

MEDIUM = Medium()


async def book(tree: Document, context: Context, call: Call) -> Files:
    """Return `report.epub`."""
    metadata = {
        "title": meta(tree.title),
        "lang": meta(tree.language or "en"),
        "date": meta(f"{call.run.now():%Y-%m-%d}"),
        "toc-title": meta(say("contents", tree.language)),
    }
    if right_to_left(tree.language):
        metadata |= {"dir": meta("rtl"), "page-progression-direction": meta("rtl")}
    data = await write(tree.blocks, metadata, "epub3", call, "--mathml", "--toc")
    return Files(files=(Blob(name="report.epub", media_type="application/epub+zip", data=restyled(data)),))


def restyled(made: bytes) -> bytes:
    """Return a book in our style: Pandoc is shut off from files, and puts its own in."""
    css = files("leadline_plugins.formats.epub").joinpath("book.css").read_bytes()
    out = BytesIO()
    with ZipFile(BytesIO(made)) as old, ZipFile(out, "w") as new:
        for entry in old.infolist():
            new.writestr(entry, css if entry.filename.endswith(".css") else old.read(entry))
    return out.getvalue()


@hookimpl
def leadline_report_formatters() -> Iterator[Offer[Any, Written]]:
    """Offer the format."""
    yield offer("epub", "An e-book", MEDIUM, book)
