"""The plugin `docx`: the report as a Word file, in styles that a team can change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from leadline.contracts import Call, Context
from leadline.hookspecs import Offer, hookimpl
from leadline.records import Blob, Files
from leadline_plugins.formats.document import Document, Medium
from leadline_plugins.formats.pandoc import meta, write
from leadline_plugins.formats.pandoc_format import PandocFormat, pandoc_offer
from leadline_plugins.wording.phrases import phrase, right_to_left

MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
MEDIUM = Medium(columns=10, pictures=("image/png", "image/jpeg"))


# Characters from which a report has a table of contents.
LONG = 20_000


async def write_docx(tree: Document, context: Context, call: Call) -> Files:
    """Return `report.docx`: Pandoc writes the text, python-docx sets the styles."""
    about = tree.about(call.run.now())
    metadata = {"title": meta(tree.title), "subtitle": meta(about), "lang": meta(tree.language or "en")}
    if right_to_left(tree.language):
        metadata["dir"] = meta("rtl")
    options: tuple[str, ...] = ()
    if tree.length > LONG:
        metadata["toc-title"] = meta(phrase("contents", tree.language))
        options = ("--toc", "--toc-depth=2")
    data = await write(tree.blocks, metadata, "docx", call, *options)
    data = await context.in_thread(_styled, data, tree.title, tree.language)
    return Files(files=(Blob(name="report.docx", media_type=MEDIA_TYPE, data=data),))


def _styled(data: bytes, title: str, language: str) -> bytes:
    # Imported here, because python-docx takes .2 s.
    from leadline_plugins.formats.docx_style import styled

    return styled(data, title, language)


@hookimpl
def leadline_report_formatters() -> Iterator[Offer[Any, PandocFormat]]:
    """Offer the format."""
    yield pandoc_offer("docx", "A Word file, with styles, figures and linked references", MEDIUM, write_docx, "docx")
