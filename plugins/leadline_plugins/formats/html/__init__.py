"""The plugin `html`: the report as one page that needs nothing else, and the reader of web pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from leadline.contracts import Call, Context
from leadline.hookspecs import Offer, hookimpl
from leadline.records import Blob, Files, Report
from leadline_plugins.formats.built import built
from leadline_plugins.formats.document import Medium
from leadline_plugins.formats.html.page import page
from leadline_plugins.parse.html import HtmlSettings, leadline_parsers

__all__ = ["leadline_parsers", "leadline_report_formatters"]
MEDIUM = Medium(screen=True)


class Html:
    """Renders HTML."""

    def __init__(self, context: Context) -> None:
        self._context = context

    async def format(self, report: Report, call: Call, /) -> Files:
        """Return `report.html`: text, style, script and pictures in one file."""
        data = await self._context.in_thread(page, await built(report, MEDIUM, self._context, call))
        return Files(files=(Blob(name="report.html", media_type="text/html; charset=utf-8", data=data.encode()),))


@hookimpl
def leadline_report_formatters() -> Iterator[Offer[Any, Html]]:
    """Offer the format."""
    yield Offer(
        lambda settings, context: Html(context),
        HtmlSettings,
        "One self-contained page: citations open their quotes, tables sort, prints well",
        keep=False,
    )
