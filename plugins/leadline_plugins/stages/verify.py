"""Stage `verify`: every citation held against the stored copy of its source."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from leadline.contracts import Run
from leadline.errors import NoEvidence
from leadline.findings import (
    REPORT,
    UNBORNE,
    VERIFICATION,
    Findings,
    Ground,
    Repair,
    Unjudged,
    Verdict,
    VerdictKind,
    Verification,
)
from leadline.hookspecs import PluginSettings, StageOffer, hookimpl
from leadline.records import Blob, Report
from leadline_plugins.checks.whole import deciding
from leadline_plugins.citing import checking
from leadline_plugins.stages import asking, rechecking
from leadline_plugins.stages.claims import Claim, claims_of, unjudged
from leadline_plugins.stages.degrade import tell
from leadline_plugins.stages.judge import JUDGED
from leadline_plugins.stages.kinds import counts as kind_counts
from leadline_plugins.stages.library import Library
from leadline_plugins.stages.paragraphs import Paragraph, paragraphs
from leadline_plugins.stages.questioning import ASK
from leadline_plugins.stages.recite import recitable
from leadline_plugins.stages.repair import failed, partly, repaired
from leadline_plugins.stages.rewording import ASK as SAY_ANEW
from leadline_plugins.stages.rewording import lost, reworded
from leadline_plugins.stages.verdicts import judged

wanted, check, recheck = checking.wanted, checking.check, rechecking.recheck
is_open, asked = asking.is_open, asking.asked
"""What `leadline verify` asks of the plugin that is named `verify`."""


class Verifying:
    """Checks paragraphs, ids, quotes and claims, handles what did not hold; saves `paragraphs.jsonl`."""

    async def run(self, findings: Findings, run: Run, /) -> None:
        """Give the verification, and the report where a repair changed it; `NoEvidence` where that left no claim."""
        report, settings = findings[REPORT], run.settings.verify
        library, said = Library(report), claims_of(report)
        ahead = findings[JUDGED]
        verdicts = await judged(run, said, library, ahead)
        report, verdicts, repairs = await _repaired(run, report, said, library, verdicts)
        if repairs:
            findings[REPORT] = report
        parts = paragraphs(report)
        lines = "".join(json.dumps(part.row(), ensure_ascii=False) + "\n" for part in parts)
        await run.save(Blob(name="paragraphs.jsonl", media_type="application/jsonl", data=lines.encode()))
        findings[VERIFICATION] = verification(report, parts, verdicts, settings.require_support, repairs)


async def _repaired(
    run: Run, report: Report, said: Sequence[Claim], library: Library, verdicts: list[Verdict]
) -> tuple[Report, list[Verdict], tuple[Repair, ...]]:
    """Return the report with what is not borne handled as the settings say, its verdicts, and what was done."""
    how = run.settings.verify.unsupported
    bad = failed(said, verdicts)
    better: Mapping[str, str] = {}
    tried: list[Verdict] = []
    if how == "recite":
        better, tried = await recitable(run, [claim for claim, _ in bad], library)
    elif how == "weaken":
        bad += partly(said, verdicts)
        better, tried = await reworded(run, [claim for claim, _ in bad], library, report.language, verdicts)
    changed, repairs = repaired(report, said, bad, how, better)
    if not repairs:
        return report, verdicts, ()
    left = claims_of(changed)
    if how == "weaken" and (astray := lost(said, better, left)):
        better = {name: text for name, text in better.items() if name not in astray}
        changed, repairs = repaired(report, said, bad, how, better)
        left = claims_of(changed)
    if said and not left:
        raise NoEvidence(f"the sources bear none of the report's {len(said)} claims, and all were taken out")
    stand = {section.id for section in changed.sections}
    for section in (section for section in report.sections if section.id not in stand):
        await tell(run, f"section '{section.title}' was taken out, for the sources bear none of it")
    # What did not change keeps its verdict, and what was found to bear a claim has one.
    return changed, await judged(run, left, library, (*verdicts, *tried), settled=True), repairs


def verification(
    report: Report,
    parts: Sequence[Paragraph],
    verdicts: Sequence[Verdict],
    require_support: bool,
    repairs: tuple[Repair, ...] = (),
) -> Verification:
    """Return the checks of a report's paragraphs; `require_support`: no claim may go unsupported."""
    evidence = {item.id for item in report.evidence}
    unknown = sorted({name for part in parts for name in part.cite_ids if name not in evidence})
    bare = [part for part in parts if part.states and not part.ends_with_citation]
    remarks = [_remark(verdict) for verdict in verdicts if verdict.remark]
    left = (*(one for part in parts for one in unjudged(part)), *remarks)
    verdicts = [verdict for verdict in verdicts if not verdict.remark]
    decided = deciding(verdicts)
    counts: Counter[VerdictKind] = Counter(verdict.verdict for verdict in decided)
    report_passed = bool(parts) and bool(verdicts)
    wrong: Mapping[Ground, bool] = {
        "no_claims": not report_passed,
        "unknown_ids": bool(unknown),
        "bare": bool(bare),
        "unborne": require_support and any(counts[kind] for kind in UNBORNE),
    }
    return Verification(
        report_passed=report_passed,
        paragraphs_jsonl_cite_ids_passed=not unknown,
        paragraph_end_citation_passed=not bare,
        paragraph_without_citation_count=len(bare),
        paragraphs_without_citation=tuple(part.id for part in bare),
        claims=dict(counts),
        kinds=kind_counts(verdicts),
        contradicted_in_summary=sum((one.section_id, one.verdict) == ("summary", "contradicted") for one in decided),
        judged_by=dict(Counter(verdict.by for verdict in decided)),
        passed=not any(wrong.values()),
        grounds=tuple(ground for ground, holds in wrong.items() if holds),
        unknown_ids=tuple(unknown),
        verdicts=tuple(verdicts),
        unjudged=left,
        unjudged_by_kind=dict(Counter(one.kind for one in left)),
        repairs=repairs,
    )


def _remark(verdict: Verdict) -> Unjudged:
    return Unjudged(id=verdict.claim_id, section_id=verdict.section_id, text=verdict.claim, kind="remark")


@hookimpl
def leadline_stages() -> Iterator[StageOffer[Any]]:
    """Offer the stage."""
    yield StageOffer(
        lambda settings, context: Verifying(),
        PluginSettings,
        "Holds every citation against the stored copy of its source",
        needs=(REPORT,),
        wants=(JUDGED,),
        gives=(VERIFICATION,),
        may_give=(REPORT,),
        tasks=(ASK, SAY_ANEW),
        closing=True,
    )
