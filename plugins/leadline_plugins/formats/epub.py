"""The plugin `epub`: the report as an e-book; each citation links to its source and the cited passages."""

from __future__ import annotations

from importlib.resources import files
from io import BytesIO
from zipfile import ZipFile

from leadline.contracts import Call, Context
from leadline.records import Blob, Files
from leadline_plugins.formats.document import Document, Medium
from leadline_plugins.formats.pandoc import meta, write
from leadline_plugins.formats.pandoc_format import PandocFormat, pandoc_format
from leadline_plugins.wording.phrases import phrase, right_to_left

MEDIUM = Medium()


async def write_epub(tree: Document, context: Context, call: Call) -> Files:
    metadata = {
        "title": meta(tree.title),
        "lang": meta(tree.language or "en"),
        "date": meta(f"{call.run.now():%Y-%m-%d}"),
        "toc-title": meta(phrase("contents", tree.language)),
    }
    if right_to_left(tree.language):
        metadata |= {"dir": meta("rtl"), "page-progression-direction": meta("rtl")}
    data = await write(tree.blocks, metadata, "epub3", call, "--mathml")
    return Files(files=(Blob(name="report.epub", media_type="application/epub+zip", data=restyled(data)),))


def restyled(book: bytes) -> bytes:
    """Return a book with our stylesheet in place of Pandoc's, which reads no files in its sandbox."""
    css = files("leadline_plugins.formats").joinpath("assets", "book.css").read_bytes()
    out = BytesIO()
    with ZipFile(BytesIO(book)) as old, ZipFile(out, "w") as new:
        for entry in old.infolist():
            new.writestr(entry, css if entry.filename.endswith(".css") else old.read(entry))
    return out.getvalue()


@pandoc_format("epub", "An e-book")
def _format(context: Context) -> PandocFormat:
    return PandocFormat(MEDIUM, write_epub, context)
