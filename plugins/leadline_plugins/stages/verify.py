"""Stage `verify`: checks every citation against the passage that it cites."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from leadline.citations import cited
from leadline.contracts import Run
from leadline.errors import NoEvidence
from leadline.findings import Findings
from leadline.hookspecs import PluginSettings, StageOffer, hookimpl
from leadline.records import Blob, Confidence, Report, Uncited, Verdict
from leadline.research_findings import REPORT, VERIFICATION, Ground, IndexEntry, Repair, Verification
from leadline_plugins.verification.claims import Paragraph, report_statements
from leadline_plugins.verification.external_reports import check, cited_sources, recheck
from leadline_plugins.verification.paragraph_files import paragraphs_as_markdown, read_paragraphs, with_paragraphs
from leadline_plugins.verification.repair import repair_claims
from leadline_plugins.verification.reports.source_files import matches
from leadline_plugins.verification.tasks import REPAIR_TASK
from leadline_plugins.verification.verdicts import REQUIRED, Library, judge, reuse_verdicts

# Supported claims of at least this confidence have high confidence.
_HIGH_CONFIDENCE = 0.9
__all__ = [
    "VerifyStage",
    "check",
    "cited_sources",
    "leadline_stages",
    "matches",
    "paragraphs_as_markdown",
    "read_paragraphs",
    "recheck",
    "with_paragraphs",
]


class VerifyStage:
    """Judges the claims, repairs those that fail, and saves `paragraphs.jsonl`."""

    async def run(self, findings: Findings, run: Run, /) -> None:
        """Set the verification and the report with its verdicts. Raises `NoEvidence` if all claims were dropped."""
        report, settings = findings[REPORT], run.settings.verify
        found = report_statements(report)
        verdicts = await judge(run, found.claims, Library.of(report))
        changed, repairs = await repair_claims(run, report, verdicts)
        if repairs:
            report, before = changed, len(found.claims)
            found = report_statements(report)
            if not found.claims:
                raise NoEvidence(f"the sources support none of the report's {before} claims, and all were dropped")
            kept, new = reuse_verdicts(found.claims, verdicts)
            judged = {one.claim.id: one for one in (*kept, *await judge(run, new, Library.of(report)))}
            verdicts = [judged[claim.id] for claim in found.claims]
        report = report.model_copy(update={"verdicts": tuple(verdicts), "uncited": tuple(found.uncited)})
        findings[REPORT] = report
        findings[VERIFICATION] = verification(report, verdicts, found.uncited, settings.require_support, repairs)
        lines = paragraph_lines(found.paragraphs).encode()
        await run.save(Blob(name="paragraphs.jsonl", media_type="application/jsonl", data=lines))


def verification(
    report: Report,
    verdicts: Sequence[Verdict],
    uncited: Sequence[Uncited],
    require_support: bool,
    repairs: tuple[Repair, ...] = (),
) -> Verification:
    """Return the result of the checks, as in `verify.json`."""
    known = {item.id for item in report.evidence}
    used = [name for section in report.sections for name in cited(section.text or "")]
    unknown = sorted({name for name in used if name not in known})
    counts = Counter(one.verdict for one in verdicts)
    wrong: Mapping[Ground, bool] = {
        "no_claims": not verdicts and not report.quotes,
        "unknown_ids": bool(unknown),
        "uncited": bool(uncited),
        "unsupported": require_support and any(counts[kind] for kind in REQUIRED),
    }
    return Verification(
        report_passed=None if report.quotes else bool(verdicts) and not uncited,
        paragraphs_jsonl_cite_ids_passed=not unknown,
        paragraph_end_citation_passed=not uncited,
        paragraph_without_citation_count=len(uncited),
        passed=None if report.quotes and not any(wrong.values()) else not any(wrong.values()),
        grounds=tuple(ground for ground, holds in wrong.items() if holds),
        claims=dict(counts),
        judged_by=dict(Counter(one.judge for one in verdicts if one.judge)),
        unknown_ids=tuple(unknown),
        verdicts=tuple(verdicts),
        uncited=tuple(uncited),
        repairs=repairs,
        evidence_index=tuple(_index(report, verdicts)),
    )


def _index(report: Report, verdicts: Iterable[Verdict]) -> Iterable[IndexEntry]:
    sources = {item.id: item.source_id for item in report.evidence}
    for one in verdicts:
        if one.verdict in ("supported", "partial"):
            ids = dict.fromkeys(sources[name] for name in one.claim.evidence_ids if name in sources)
            yield IndexEntry(claim=one.claim.text, source_ids=tuple(ids), quote=one.quote, confidence=_confidence(one))


def _confidence(verdict: Verdict) -> Confidence:
    if verdict.verdict == "partial":
        return "low"
    return "high" if verdict.confidence >= _HIGH_CONFIDENCE else "medium"


def paragraph_lines(paragraphs: Iterable[Paragraph]) -> str:
    """Return `paragraphs.jsonl`: one line for each paragraph, list or table."""
    rows = (
        {
            "id": one.id,
            "section_id": one.section_id,
            "text": one.text,
            "markdown": one.markdown,
            "cite_ids": list(one.cite_ids),
            "states": one.states,
            "ends_with_citation": one.ends_with_citation,
        }
        for one in paragraphs
    )
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


@hookimpl
def leadline_stages() -> Iterator[StageOffer[Any]]:
    """Offer the stage."""
    yield StageOffer(
        lambda settings, context: VerifyStage(),
        PluginSettings,
        "Checks every citation against the passage that it cites",
        needs=(REPORT,),
        gives=(VERIFICATION,),
        may_give=(REPORT,),
        tasks=(REPAIR_TASK,),
        closing=True,
    )
