"""How a run ended, as it is handed back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from leadline.records import Report
from leadline.state import Metadata, Status


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
        """The report as Markdown, citations as numbers; empty where there is none."""
        from leadline.citations import number, unenclosed

        if self.report is None:
            return ""
        numbered = number(self.report)
        parts = [
            f"## {section.title}\n\n{numbered.render(unenclosed(section.text or ''))}"
            for section in self.report.sections
        ]
        return "\n\n".join([f"# {self.report.title}", *parts])
