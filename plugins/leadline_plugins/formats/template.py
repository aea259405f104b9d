"""The plugin `template`: a file rendered from a user's Jinja template, with the report as data."""

from __future__ import annotations

import mimetypes
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import Field

from leadline.citations import Numbered, number
from leadline.contracts import Call, Context
from leadline.plugin import PluginSettings, report_formatter
from leadline.records import Blob, Files, Report
from leadline.templates import SUFFIX, render_file
from leadline_plugins.formats.arrangement import arranged
from leadline_plugins.formats.figures import Numbered as Picture
from leadline_plugins.formats.figures import numbered
from leadline_plugins.formats.markdown import PICTURES, section_markdown
from leadline_plugins.formats.report_markdown import parser


class TemplateSettings(PluginSettings):
    """The template of the report."""

    file: str = Field(description="path of a Jinja template, such as letter.html.j2, which writes letter.html")


def ready(settings: TemplateSettings) -> str | None:
    """Return why the template cannot be rendered; None if it can."""
    path = Path(settings.file).expanduser()
    if path.suffix != SUFFIX:
        return f"plugins.template.file: {settings.file} does not end with {SUFFIX}; letter.html.j2 writes letter.html"
    return None if path.is_file() else f"plugins.template.file: there is no file {settings.file}"


@report_formatter(
    "A file from your own Jinja template",
    settings=TemplateSettings,
    requires=("jinja2=leadline[templates]",),
    ready=ready,
    cache_key=None,
)
class Template:
    """Renders the template."""

    def __init__(self, settings: TemplateSettings, context: Context) -> None:
        self._path = Path(settings.file).expanduser()
        self._context = context

    async def format(self, report: Report, call: Call, /) -> Files:
        """Return the file and the pictures that it may show. Raises `ConfigError` with the line of a mistake."""
        report = arranged(report)
        pictures = numbered(report, PICTURES)
        numbers = number(report)
        data, filters = template_data(report, numbers, pictures), {"markdown": partial(_html, numbers)}
        text = await self._context.in_thread(render_file, self._path, data, filters)
        name = self._path.name.removesuffix(SUFFIX)
        media_type = f"{mimetypes.guess_type(name)[0] or 'text/plain'}; charset=utf-8"
        file = Blob(name=name, media_type=media_type, data=text.encode("utf-8", "replace"))
        return Files(files=(file, *(item.file for item in pictures.values() if item.file)))


def template_data(report: Report, numbers: Numbered, pictures: Mapping[str, Picture]) -> dict[str, Any]:
    """Return what a template knows: plain values only, with citations as the numbers of the lists of sources."""
    return {
        "title": report.title,
        "language": report.language,
        "sections": [
            {
                "id": section.id,
                "title": section.title,
                "part": section.part,
                "text": section_markdown(section, numbers, pictures),
            }
            for section in report.sections
        ],
        "cited": [_source(number, source) for number, source in numbers.cited],
        "additional": [_source(number, source) for number, source in numbers.additional],
        "figures": [
            {
                "number": item.number,
                "caption": item.figure.caption,
                "alt": item.figure.alt,
                "credit": item.figure.credit,
                "rights": item.figure.rights,
                "file": item.file.name if item.file else "",
            }
            for item in pictures.values()
        ],
        "tables": [table.model_dump(mode="json") for table in report.tables],
        "verdicts": [
            {"claim": verdict.claim.text, "verdict": verdict.verdict, "quote": verdict.quote, "reason": verdict.reason}
            for verdict in report.verdicts
        ],
        "metadata": report.model_dump(mode="json", include={"metadata"})["metadata"],
    }


def _source(number: int, source: Any) -> dict[str, Any]:
    hit = source.hit
    return {"number": number, "title": hit.title, "url": hit.url, "published": hit.published, "tier": hit.tier}


def _html(numbers: Numbered, text: str) -> Any:
    """Return Markdown as HTML, for templates that are escaped; its citations become numbers."""
    from markupsafe import Markup

    return Markup(parser().render(numbers.render(str(text))))  # noqa: S704 - the parser allows no HTML and no unsafe address
