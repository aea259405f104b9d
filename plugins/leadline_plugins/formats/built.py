"""What the formats of pages share: the tree of a report as its run wants it, and the plugin around Pandoc's writers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from leadline.contracts import Call, Context
from leadline.hookspecs import Offer, PluginSettings
from leadline.records import Files, Report
from leadline_plugins.formats.citation_style import entries
from leadline_plugins.formats.document import Document, Medium, document

Write = Callable[[Document, Context, Call], Awaitable[Files]]


async def built(report: Report, medium: Medium, context: Context, call: Call) -> Document:
    """Return the tree, its lists of sources in the style the settings name. Raises `ConfigError` for an unknown one."""
    wanted = call.run.settings.report
    styled = await entries(report, wanted.citation_style, call)
    return await context.in_thread(document, report, medium, references=wanted.references, entries=styled)


class Written:
    """Renders by Pandoc: `write` makes the files of a tree."""

    def __init__(self, medium: Medium, write: Write, context: Context) -> None:
        self._medium = medium
        self._write = write
        self._context = context

    async def format(self, report: Report, call: Call, /) -> Files:
        """Return the files of the format."""
        return await self._write(await built(report, self._medium, self._context, call), self._context, call)


def offer(name: str, does: str, medium: Medium, write: Write, *modules: str) -> Offer[Any, Written]:
    """Return the offer of a format by Pandoc; `name` is also that of its extra, `modules` are what else it imports."""
    return Offer(
        lambda settings, context: Written(medium, write, context),
        PluginSettings,
        does,
        requires=tuple(f"{module}=leadline[{name}]" for module in ("pypandoc", *modules)),
        keep=False,
        at_once=2,
        timeout=120,
    )
