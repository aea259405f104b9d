"""Format `latex`: the report as LaTeX source with its pictures, for those who go on writing there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from leadline.contracts import Call, Context
from leadline.hookspecs import Offer, PluginSettings, hookimpl
from leadline.records import Blob, Files, Report
from leadline_plugins.formats.bibliography import entries
from leadline_plugins.formats.document import Medium, document
from leadline_plugins.formats.pandoc import meta, write

MEDIUM = Medium(columns=10, pictures=("image/png", "image/jpeg"), inline=False)
_PAGE = {"geometry": ["margin=26mm"], "fontsize": "11pt", "colorlinks": True, "linkcolor": "black", "urlcolor": "teal"}
_EAST = {"zh": "Noto Serif CJK SC", "ja": "Noto Serif CJK JP", "ko": "Noto Serif CJK KR"}


class Latex:
    """Renders LaTeX with Pandoc; made for XeLaTeX or LuaLaTeX, which read Unicode."""

    def __init__(self, context: Context) -> None:
        self._context = context

    async def format(self, report: Report, call: Call, /) -> Files:
        """Return `report.tex` and the pictures beside it."""
        wanted = call.run.settings.report
        styled = await entries(report, wanted.citation_style, call)
        tree = await self._context.in_thread(document, report, MEDIUM, references=wanted.references, entries=styled)
        day = f"{call.run.now():%Y-%m-%d}"
        page = _PAGE | {"title": tree.title, "date": day, "lang": tree.language or "en"}
        if font := _EAST.get(tree.language[:2]):
            page["CJKmainfont"] = font
        metadata = {key: meta(value) for key, value in page.items()}
        data = await write(tree.blocks, metadata, "latex", call, "--standalone", "--wrap=none")
        return Files(files=(Blob(name="report.tex", media_type="application/x-tex", data=data), *tree.files))


@hookimpl
def leadline_report_formatters() -> Iterator[Offer[Any, Latex]]:
    """Offer the format."""
    yield Offer(
        lambda settings, context: Latex(context),
        PluginSettings,
        "LaTeX source, with its pictures beside it",
        requires=("pypandoc=leadline[latex]",),
        keep=False,
        at_once=2,
        timeout=120,
    )
