"""Stage `export`: writes the report in every configured format into the run's folder."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from pydantic import JsonValue

from leadline.contracts import StageRun
from leadline.errors import CallFailed, ConfigError, NoEvidence
from leadline.findings import Findings
from leadline.plugin import stage
from leadline.records import Blob, Report
from leadline.research_findings import REPORT, VERIFICATION
from leadline_plugins.prompting.fallback import notify
from leadline_plugins.verification.claims import tables_of
from leadline_plugins.writing.methodology import with_notices

# Of the checks, what the report has itself or `verify.json` repeats.
_ELSEWHERE = {"verdicts", "uncited", "evidence_index"}


@stage(
    "Writes the report in every configured format",
    needs=(REPORT,),
    wants=(VERIFICATION,),
    closing=True,
    uses=("report.formats",),
)
class ExportStage:
    """Renders all formats concurrently; if one fails, the others are still written."""

    async def run(self, findings: Findings, run: StageRun, /) -> None:
        """Write `report.*`. Raises the first failure if every format failed, `NoEvidence` if no source was found."""
        report = findings[REPORT]
        if run.finds_sources and not report.sources:
            raise NoEvidence("the report has no sources")
        if not run.settings.report.formats:  # the settings are checked before a run, but a resumed run may have others
            raise ConfigError("report.formats: the value is empty, so no report would be written")
        # Without the provider, so that a replayed run gives the same report.
        facts: dict[str, JsonValue] = {"models": [*sorted({name.partition(":")[2] for name in run.models})]}
        if (checks := findings.get(VERIFICATION)) is not None:
            facts["verification"] = checks.model_dump(mode="json", exclude=_ELSEWHERE)
        report = report.model_copy(update={"metadata": {**report.metadata, **facts}})
        report = with_notices(report, run.notices)
        report = report.model_copy(update={"tables": tables_of(report)})
        written = ExportedFiles(run, tuple(run.settings.report.formats))
        await run.each(written.formats, lambda name: export_format(report, name, written))
        for clash in written.clashes.values():
            await notify(run, clash)
        if len(written.lost) == len(written.formats):
            raise next(iter(written.lost.values()))


@dataclass
class ExportedFiles:
    """The files of a run's report; if two formats write the same file, the first format in the list wins."""

    run: StageRun
    formats: tuple[str, ...]
    # The formats that failed or were refused.
    lost: dict[str, CallFailed] = field(default_factory=dict)
    # Notices by format, for files that another format writes too.
    clashes: dict[str, str] = field(default_factory=dict)
    _owners: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def add(self, name: str, file: Blob) -> None:
        """Write a file of a format."""
        async with self._lock:  # threads write files: the last of two would win
            if file.name in self._owners:
                owner, there = self._owners[file.name]
                if there == file.data:  # usually a picture
                    return
                first, later = sorted((owner, name), key=self.formats.index)
                self.clashes[later] = f"format {later}: {file.name} was not written, {first} writes a file of that name"
                if first == owner:
                    return
            self._owners[file.name] = (name, file.data)
            await self.run.save(file)


async def export_format(report: Report, name: str, written: ExportedFiles) -> None:
    """Write one format, or record its failure."""
    try:
        files = await written.run.format(report, name)
    except CallFailed as failed:
        written.lost[name] = failed
        return
    for file in files.files:
        await written.add(name, file)
