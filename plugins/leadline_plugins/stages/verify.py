"""Stage `verify`: every citation is checked against the passage that it cites."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from leadline.contracts import Run
from leadline.errors import NoEvidence
from leadline.findings import REPORT, VERIFICATION, Findings
from leadline.hookspecs import PluginSettings, StageOffer, hookimpl
from leadline.records import Blob
from leadline_plugins.verification.checks import paragraph_lines, verification
from leadline_plugins.verification.claims import statements
from leadline_plugins.verification.foreign import check, recheck, wanted
from leadline_plugins.verification.repair import repaired
from leadline_plugins.verification.tasks import REPAIR
from leadline_plugins.verification.verdicts import Library, carried, judge

__all__ = ["Verifying", "check", "leadline_stages", "recheck", "wanted"]


class Verifying:
    """Judges the claims, handles those that fail, and saves `paragraphs.jsonl`."""

    async def run(self, findings: Findings, run: Run, /) -> None:
        """Set the verification and the report with its verdicts. Raises `NoEvidence` if all claims were dropped."""
        report, settings = findings[REPORT], run.settings.verify
        found = statements(report)
        verdicts = await judge(run, found.claims, Library.of(report))
        changed, repairs = await repaired(run, report, verdicts)
        if repairs:
            report, before = changed, len(found.claims)
            found = statements(report)
            if not found.claims:
                raise NoEvidence(f"the sources support none of the report's {before} claims, and all were dropped")
            kept, new = carried(found.claims, verdicts)
            judged = {one.claim.id: one for one in (*kept, *await judge(run, new, Library.of(report)))}
            verdicts = [judged[claim.id] for claim in found.claims]
        report = report.model_copy(update={"verdicts": tuple(verdicts), "uncited": tuple(found.uncited)})
        findings[REPORT] = report
        findings[VERIFICATION] = verification(report, verdicts, found.uncited, settings.require_support, repairs)
        lines = paragraph_lines(found.paragraphs).encode()
        await run.save(Blob(name="paragraphs.jsonl", media_type="application/jsonl", data=lines))


@hookimpl
def leadline_stages() -> Iterator[StageOffer[Any]]:
    """Offer the stage."""
    yield StageOffer(
        lambda settings, context: Verifying(),
        PluginSettings,
        "Checks every citation against the passage that it cites",
        needs=(REPORT,),
        gives=(VERIFICATION,),
        may_give=(REPORT,),
        tasks=(REPAIR,),
        closing=True,
    )
