"""The plugin `pdf`: the report as pages for print, and the reader of PDF files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

from pydantic import Field

from leadline.contracts import Call, Context
from leadline.errors import BadReply
from leadline.hookspecs import Offer, PluginSettings, hookimpl
from leadline.records import Blob, Files, Report
from leadline_plugins.formats.built import built
from leadline_plugins.formats.document import Medium
from leadline_plugins.formats.pdf.pages import Pages, set_pages
from leadline_plugins.parse.pdf import PdfParser

EXTRA = "leadline[pdf]"
MEDIUM = Medium(columns=10, inline=False)
UNPICTURED = "report.pdf: the pictures could not be set, and what they show stands in words in their place ({error})"
UNSHOWN = "report.pdf: signs in a formula or a composed character have no glyph in the fonts at hand, and show as boxes"


class PdfSettings(PluginSettings):
    """How pages are set."""

    paper: Literal["a4", "us-letter"] = Field("a4", description="a4, us-letter.")
    title_page: Literal["auto", "always", "never"] = Field(
        "auto", description="Title page and contents: auto (for long reports), always, never."
    )


class Pdf:
    """Renders PDF with Typst."""

    def __init__(self, settings: PdfSettings, context: Context) -> None:
        self._settings = settings
        self._context = context

    async def format(self, report: Report, call: Call, /) -> Files:
        """Return `report.pdf`; characters that no font has are spelt by number, and told."""
        try:
            pages = await self._pages(report, MEDIUM, call)
        except BadReply as error:
            # Typst gives up a whole report for one picture that is broken, and does not always say which.
            if not any(figure.media for figure in report.figures):
                raise
            pages = await self._pages(report, replace(MEDIUM, pictures=()), call)
            await call.run.emit("notice", {"message": UNPICTURED.format(error=error)})
        if pages.missing:
            await call.run.emit("notice", {"message": unset(pages.missing)})
        if not pages.whole:
            await call.run.emit("notice", {"message": UNSHOWN})
        return Files(files=(Blob(name="report.pdf", media_type="application/pdf", data=pages.pdf),))

    async def _pages(self, report: Report, medium: Medium, call: Call) -> Pages:
        tree = await built(report, medium, self._context, call)
        return await set_pages(tree, self._settings.paper, self._settings.title_page, self._context, call)


def unset(characters: str) -> str:
    """Say which characters no font has, and what to install."""
    named = " ".join(f"{character} (U+{ord(character):04X})" for character in characters[:8])
    more = " …" if len(characters) > 8 else ""
    return (
        f"report.pdf: no font at hand has {named}{more}; they stand as their numbers. Install a font that has them "
        "(Debian: fonts-noto-core, fonts-noto-extra; fonts-noto-cjk-extra for rare Chinese) and render again"
    )


@hookimpl
def leadline_report_formatters() -> Iterator[Offer[Any, Pdf]]:
    """Offer the format."""
    yield Offer(
        Pdf,
        PdfSettings,
        "Pages for print: contents, bookmarks, page numbers, every script",
        requires=tuple(f"{module}={EXTRA}" for module in ("pypandoc", "typst", "manimgx_fonts", "manimgx_fonts_cjk")),
        keep=False,
        at_once=2,
        timeout=120,
    )


@hookimpl
def leadline_parsers() -> Iterator[Offer[Any, PdfParser]]:
    """Offer the reader, under the settings that the plugin's offers share."""
    yield Offer(lambda _, context: PdfParser(context), PdfSettings, "Text of PDF files", answers=())
