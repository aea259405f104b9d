"""The Markdown of a section: its text with marks, then its inferences, and what the sources do not answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from leadline.records import Report, Section
from leadline_plugins.formats.marks import Mark, marked
from leadline_plugins.wording import say


def headed(section: Section, report: Report) -> bool:
    """Return whether a section has its heading: not where it repeats the title of the report."""
    return _folded(section.title) != _folded(report.title) or section is not report.sections[0]


def _folded(text: str) -> str:
    return "".join(filter(str.isalnum, text)).casefold()


def texts(section: Section, marks: Iterable[Mark], language: str) -> Iterator[str]:
    """Yield the Markdown of a section, each part to be parsed alone."""
    yield marked(section, marks)
    for inference in section.inferences:
        yield f"*{say('inference', language)}* {_line(inference)}"
    if section.unanswered:
        items = "\n".join(f"- {_line(item)}" for item in dict.fromkeys(section.unanswered))
        yield f"*{say('open', language)}*\n\n{items}"


def _line(text: str) -> str:
    return " ".join(text.split())
