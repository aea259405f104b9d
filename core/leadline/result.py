"""How a run ended, as it is handed back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from leadline.records import Report
from leadline.runs.state import Metadata, Status

_FIGURE = re.compile(r"!\[[^\[\]]*\]\(figure:([^)\s]+)\)")


@dataclass(frozen=True)
class Result:
    """How a run ended. `report` is None unless it is complete or partial; `files` are what was written."""

    status: Status
    reason: str
    exit_code: int
    folder: Path
    metadata: Metadata
    report: Report | None = None

    @property
    def files(self) -> tuple[Path, ...]:
        """The files of the run's folder that are meant for people and programs."""
        return tuple(self.folder / name for name in self.metadata.files)

    @property
    def text(self) -> str:
        """The report as Markdown, citations as numbers, figures as captions; empty where there is none."""
        from leadline.citations import number

        if self.report is None:
            return ""
        numbered, captions = number(self.report), {figure.id: figure.caption for figure in self.report.figures}
        parts = [
            f"## {section.title}\n\n{_captioned(numbered.render(section.text or ''), captions)}"
            for section in self.report.sections
        ]
        return "\n\n".join([f"# {self.report.title}", *parts])


def _captioned(text: str, captions: Mapping[str, str]) -> str:
    """Return a text with the captions of its figures in their places: there is no picture in it."""
    return _FIGURE.sub(lambda found: f"*{captions[found[1]]}*" if found[1] in captions else "", text)
