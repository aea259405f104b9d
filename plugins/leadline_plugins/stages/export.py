"""Stage `export`: the report in every configured format, into the run's folder."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from leadline.contracts import Run
from leadline.errors import CallFailed, CallRefused, NoEvidence
from leadline.findings import REPORT, VERIFICATION, Findings
from leadline.hookspecs import PluginSettings, StageOffer, hookimpl
from leadline.records import Report


class Exporting:
    """Renders side by side; a format that fails is named, the others are written."""

    async def run(self, findings: Findings, run: Run, /) -> None:
        """Write `report.*`; raises the first failure when no format could be written, `NoEvidence` without a source."""
        report = findings[REPORT]
        if not report.sources:
            raise NoEvidence("the report rests on no source")
        checks = findings.get(VERIFICATION)
        if checks is not None:
            summary = checks.model_dump(mode="json")
            report = report.model_copy(update={"metadata": {**report.metadata, "verification": summary}})
        failures = await run.each(run.settings.report.formats, lambda name: export(report, name, run))
        lost = [failure for failure in failures if failure is not None]
        if lost and len(lost) == len(failures):
            raise lost[0]


async def export(report: Report, name: str, run: Run) -> CallFailed | None:
    """Write one format; return its failure, or None."""
    try:
        files = await run.format(report, name)
    except CallRefused:
        raise
    except CallFailed as failed:
        return failed
    for file in files.files:
        await run.save(file)
    return None


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
