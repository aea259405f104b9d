"""Stage `export`: the report in every configured format, into the run's folder."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue

from leadline.contracts import Run
from leadline.errors import CallFailed, ConfigError, NoEvidence
from leadline.findings import REPORT, VERIFICATION, Findings
from leadline.hookspecs import PluginSettings, StageOffer, hookimpl
from leadline.records import Blob, Report
from leadline_plugins.stages.degrade import tell
from leadline_plugins.stages.method import with_notices


class Exporting:
    """Renders side by side; a format that fails is named, the others are written."""

    async def run(self, findings: Findings, run: Run, /) -> None:
        """Write `report.*`; raises the first failure when no format could be written, `NoEvidence` without a source."""
        report = findings[REPORT]
        if not report.sources:
            raise NoEvidence("the report rests on no source")
        if not run.settings.report.formats:  # told before the run where the settings say so; a stage may be made anew
            raise ConfigError("report.formats: is empty, so the report is written into no file")
        # By their own names: whoever provides them, what is recorded gives the same report.
        told: dict[str, JsonValue] = {"models": [*sorted({name.partition(":")[2] for name in run.models})]}
        if (checks := findings.get(VERIFICATION)) is not None:
            told["verification"] = checks.model_dump(mode="json")
        report = report.model_copy(update={"metadata": {**report.metadata, **told}})
        report = with_notices(report, run.notices)
        written = Written(run, tuple(run.settings.report.formats))
        await run.each(written.formats, lambda name: export(report, name, written))
        for clash in written.clashes.values():
            await tell(run, clash)
        if len(written.lost) == len(written.formats):
            raise next(iter(written.lost.values()))


@dataclass
class Written:
    """The files of a run's report. Of two formats that write one file differently, the one named first has it."""

    run: Run
    formats: tuple[str, ...]
    lost: dict[str, CallFailed] = field(default_factory=dict)
    """The formats that failed, or were refused."""
    clashes: dict[str, str] = field(default_factory=dict)
    """The formats of which another has a file, each with what is told of it."""
    _owners: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def add(self, name: str, file: Blob) -> None:
        """Write a file of a format."""
        async with self._lock:  # files are written by threads: of two the last would stay
            if file.name in self._owners:
                owner, there = self._owners[file.name]
                if there == file.data:  # a picture, as a rule
                    return
                first, later = sorted((owner, name), key=self.formats.index)
                self.clashes[later] = f"format {later}: its {file.name} is that of {first} already, and is not written"
                if first == owner:
                    return
            self._owners[file.name] = (name, file.data)
            await self.run.save(file)


async def export(report: Report, name: str, written: Written) -> None:
    """Write one format, or note that it failed or was refused: the others are written all the same."""
    try:
        files = await written.run.format(report, name)
    except CallFailed as failed:
        written.lost[name] = failed
        return
    for file in files.files:
        await written.add(name, file)


@hookimpl
def leadline_stages() -> Iterator[StageOffer[Any]]:
    """Offer the stage."""
    yield StageOffer(
        lambda settings, context: Exporting(),
        PluginSettings,
        "Writes the report in every configured format",
        needs=(REPORT,),
        wants=(VERIFICATION,),
        closing=True,
    )
