"""Formats that Pandoc writes: the plugin, and the tree of a report with its settings."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from leadline.contracts import Call, Context
from leadline.errors import Unsupported
from leadline.plugin import Limits, report_formatter
from leadline.records import Files, Report
from leadline_plugins.formats.arrangement import arranged
from leadline_plugins.formats.citation_style import entries
from leadline_plugins.formats.document import Document, Medium, document
from leadline_plugins.formats.tree import formulas, with_code

Write = Callable[[Document, Context, Call], Awaitable[Files]]


async def build_document(report: Report, medium: Medium, context: Context, call: Call) -> Document:
    """Return the tree, with references in the configured style. Raises `ConfigError` for an unknown style."""
    settings, report = call.run.settings.report, arranged(report)
    references = await entries(report, settings.citation_style, call)
    return await context.in_thread(
        document,
        report,
        medium,
        references=settings.references,
        passages=settings.passages,
        entries=references,
    )


class PandocFormat:
    """Renders with Pandoc; `write` returns the files of a tree."""

    def __init__(self, medium: Medium, write: Write, context: Context) -> None:
        self._medium = medium
        self._write = write
        self._context = context

    async def format(self, report: Report, call: Call, /) -> Files:
        """Return the files of the format; if Pandoc cannot write them, with the TeX of the formulas as code."""
        tree = await build_document(report, self._medium, self._context, call)
        try:
            return await self._write(tree, self._context, call)
        except Unsupported:
            if not (unset := formulas(tree.blocks)):
                raise
            await notice_of_formulas(call, len(unset))
            return await self._write(replace(tree, blocks=with_code(tree.blocks, bool)), self._context, call)


async def notice_of_formulas(call: Call, count: int) -> None:
    """Tell how many formulas the files show as code."""
    await call.run.emit("notice", {"message": f"formulas that could not be set are shown as TeX: {count}"})


def pandoc_format(name: str, summary: str, *modules: str, **options: Any) -> report_formatter:
    """Return the decorator of a format; `name` is also the name of its extra, `modules` are its other requirements."""
    requires = tuple(f"{module}=leadline[{name}]" for module in ("pypandoc", *modules))
    return report_formatter(
        summary, requires=requires, cache_key=None, limits=Limits(at_once=2, timeout=120), **options
    )
