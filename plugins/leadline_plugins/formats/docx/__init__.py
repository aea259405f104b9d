"""Format `docx`: the report as a Word file, in styles that a team can change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from leadline.contracts import Call, Context
from leadline.hookspecs import Offer, PluginSettings, hookimpl
from leadline.records import Blob, Files, Report
from leadline_plugins.formats.bibliography import entries
from leadline_plugins.formats.document import Medium, document
from leadline_plugins.formats.docx.style import styled
from leadline_plugins.formats.pandoc import meta, write

MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
MEDIUM = Medium(columns=10, pictures=("image/png", "image/jpeg"))


class Docx:
    """Renders Word: Pandoc writes the text, python-docx sets the styles."""

    def __init__(self, context: Context) -> None:
        self._context = context

    async def format(self, report: Report, call: Call, /) -> Files:
        """Return `report.docx`."""
        wanted = call.run.settings.report
        references = await entries(report, wanted.citation_style, call)
        tree = await self._context.in_thread(document, report, MEDIUM, references=wanted.references, entries=references)
        about = tree.about(call.run.now())
        metadata = {"title": meta(tree.title), "subtitle": meta(about), "lang": meta(tree.language or "en")}
        written = await write(tree.blocks, metadata, "docx", call)
        data = await self._context.in_thread(styled, written, tree.title, tree.language)
        return Files(files=(Blob(name="report.docx", media_type=MEDIA_TYPE, data=data),))


@hookimpl
def leadline_report_formatters() -> Iterator[Offer[Any, Docx]]:
    """Offer the format."""
    yield Offer(
        lambda settings, context: Docx(context),
        PluginSettings,
        "A Word file, with styles, figures and live references",
        requires=("pypandoc=leadline[docx]",),
        keep=False,
        at_once=2,
        timeout=120,
    )
