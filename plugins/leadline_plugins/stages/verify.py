"""Stage `verify`: every citation held against the stored copy of its source."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from leadline.contracts import Run
from leadline.findings import REPORT, VERIFICATION, Findings, VerdictKind, Verification
from leadline.hookspecs import PluginSettings, StageOffer, hookimpl
from leadline.records import Blob, Report
from leadline_plugins.stages.paragraphs import Paragraph, paragraphs
from leadline_plugins.stages.verdicts import verdicts


class Verifying:
    """Checks paragraphs, ids and quotes; saves `paragraphs.jsonl`."""

    async def run(self, findings: Findings, run: Run, /) -> None:
        """Give the verification."""
        report = findings[REPORT]
        parts = paragraphs(report)
        lines = "".join(json.dumps(part.row(), ensure_ascii=False) + "\n" for part in parts)
        await run.save(Blob(name="paragraphs.jsonl", media_type="application/jsonl", data=lines.encode()))
        findings[VERIFICATION] = verification(report, parts, run.settings.verify.require_support)


def verification(report: Report, parts: list[Paragraph], require_support: bool) -> Verification:
    """Return the checks of a report's paragraphs; `require_support`: no claim may go unsupported."""
    evidence = {item.id for item in report.evidence}
    unknown = sorted({name for part in parts for name in part.cite_ids if name not in evidence})
    bare = [part for part in parts if part.states and not part.ends_with_citation]
    judged = tuple(verdicts(parts, report))
    counts: Counter[VerdictKind] = Counter(verdict.verdict for verdict in judged)
    report_passed = bool(parts) and bool(judged)
    supported = not (counts["contradicted"] or counts["unsupported"])
    return Verification(
        report_passed=report_passed,
        paragraphs_jsonl_cite_ids_passed=not unknown,
        paragraph_end_citation_passed=not bare,
        paragraph_without_citation_count=len(bare),
        claims=dict(counts),
        passed=report_passed and not unknown and not bare and (supported or not require_support),
        unknown_ids=tuple(unknown),
        verdicts=judged,
    )


@hookimpl
def leadline_stages() -> Iterator[StageOffer[Any]]:
    """Offer the stage."""
    yield StageOffer(
        lambda settings, context: Verifying(),
        PluginSettings,
        "Holds every citation against the stored copy of its source",
        needs=(REPORT,),
        gives=(VERIFICATION,),
        closing=True,
    )
