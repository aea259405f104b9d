"""Format `markdown`: the report as one Markdown file, with its method and its lists of sources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from leadline.citations import Numbered, number
from leadline.contracts import Call, Context
from leadline.hookspecs import Offer, PluginSettings, hookimpl
from leadline.records import Blob, Files, Report, Source
from leadline_plugins.formats.method import heading, sentences


class Markdown:
    """Renders Markdown."""

    async def format(self, report: Report, call: Call, /) -> Files:
        """Return `report.md`, and with `report.resource_file` the lists as `references.md`."""
        settings = call.run.settings.report
        numbered = number(report)
        parts = [f"# {_line(report.title)}", *body(report, numbered), *method(report)]
        lists = list(references(numbered)) if settings.references else []
        if settings.resource_file:
            return Files(files=(_file("report.md", parts), _file("references.md", lists)))
        return Files(files=(_file("report.md", [*parts, *lists]),))


def body(report: Report, numbered: Numbered) -> Iterator[str]:
    """Yield the sections, cited by number."""
    for section in report.sections:
        yield f"## {_line(section.title)}"
        yield numbered.render(section.text or "").strip()


def method(report: Report) -> Iterator[str]:
    """Yield the methodology: scope, sources, limits, what failed."""
    said = list(sentences(report))
    if said:
        yield f"## {heading(report.language)}"
        yield " ".join(said)


def references(numbered: Numbered) -> Iterator[str]:
    """Yield the two lists of sources and the statistics."""
    yield "## Cited Sources (Used in Report)"
    yield _list(numbered.cited) or "None."
    if numbered.additional:
        yield "## Additional Sources (Not Cited)"
        yield _list(numbered.additional)
    cited, total = len(numbered.cited), len(numbered.cited) + len(numbered.additional)
    share = f" ({cited / total:.0%})" if total else ""
    yield "## Citation Statistics"
    yield f"- Cited: {cited} of {total} sources{share}\n- Total: {total} sources"


def _list(sources: Iterable[tuple[int, Source]]) -> str:
    return "\n".join(f"[{place}] {_line(source.hit.title)} - <{source.hit.url}>  " for place, source in sources)


def _line(text: str) -> str:
    return " ".join(text.split())


def _file(name: str, parts: list[str]) -> Blob:
    text = "\n\n".join(parts) + "\n"
    return Blob(name=name, media_type="text/markdown; charset=utf-8", data=text.encode("utf-8", "replace"))


def _make(settings: PluginSettings, context: Context) -> Markdown:
    return Markdown()


@hookimpl
def leadline_report_formatters() -> Iterator[Offer[Any, Markdown]]:
    """Offer the format."""
    yield Offer(_make, PluginSettings, "Markdown, with numbered citations and two lists of sources")
