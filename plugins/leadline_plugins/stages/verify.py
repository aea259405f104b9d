"""Stage `verify`: checks every citation against the passage that it cites."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence

from leadline.citations import cited
from leadline.contracts import StageRun
from leadline.errors import NoEvidence
from leadline.findings import Findings
from leadline.plugin import stage
from leadline.records import Blob, Confidence, Json, Report, Verdict
from leadline.research_findings import (
    FAILED,
    GROUNDED,
    PARTS,
    REPORT,
    VERIFICATION,
    Ground,
    IndexEntry,
    Repair,
    Verification,
)
from leadline_plugins.verification.claims import Paragraph, Statements, report_statements
from leadline_plugins.verification.repair import repair_claims, without_unquoted
from leadline_plugins.verification.verdicts import REQUIRED, Library, failed_judges, judge, reuse_verdicts

# Supported claims of at least this confidence have high confidence.
_HIGH_CONFIDENCE = 0.9


@stage(
    "Checks every citation against the passage that it cites",
    needs=(REPORT,),
    wants=(PARTS,),
    gives=(VERIFICATION,),
    may_give=(REPORT,),
    closing=True,
)
class VerifyStage:
    """Judges the claims, removes superfluous citations, repairs claims that fail, and saves `paragraphs.jsonl`."""

    async def run(self, findings: Findings, run: StageRun, /) -> None:
        """Set the verification and the report with its verdicts. Raises `NoEvidence` if all claims were dropped."""
        # The claims of sections that were written in one call are judged now, the others since they were written.
        statements, judged = await _judged(run, findings[REPORT], together=bool(findings[PARTS]))
        report, judged = without_unquoted(findings[REPORT], judged)
        statements, judged = await _judged(run, report, judged)
        report, repairs, judged = await repair_claims(run, report, judged)
        if repairs:
            before = len(statements.claims)
            statements, judged = await _judged(run, report, judged)
            if not statements.claims:
                raise NoEvidence(f"the sources support none of the report's {before} claims, and all were dropped")
        silent = {verdict.claim.id for verdict in judged if not verdict.asserts}
        verdicts = tuple(verdict for verdict in judged if verdict.asserts and verdict.claim.evidence_ids)
        uncited = tuple(statement for statement in statements.uncited if statement.id not in silent)
        failed = failed_judges(run)
        lacks = tuple(dict.fromkeys((*report.lacks, *failed.values())))
        report = report.model_copy(update={"verdicts": verdicts, "uncited": uncited, "lacks": lacks})
        findings[REPORT] = report
        findings[VERIFICATION] = verification(report, run.settings.verify.require_support, repairs, tuple(failed))
        lines = paragraph_lines(statements.paragraphs, silent).encode()
        await run.save(Blob(name="paragraphs.jsonl", media_type="application/jsonl", data=lines))

    async def check_report(self, report: Report | str, run: StageRun, /, *, fetch: bool) -> Json:
        """Judge a report as data by its stored sources; check one in Markdown, by its sources of the web if `fetch`."""
        from leadline_plugins.verification.external_reports import check, cited_sources, recheck
        from leadline_plugins.verification.report_sources import from_web

        if isinstance(report, Report):
            return (await recheck(report, run)).model_dump(mode="json")
        if not fetch:
            return (await check(report, {})).model_dump(mode="json")
        read = await from_web(run, await cited_sources(report))
        checked = await check(report, read.documents, run)
        return {**checked.model_dump(mode="json"), "unread": dict(read.problems)}


async def _judged(
    run: StageRun, report: Report, known: Sequence[Verdict] = (), *, together: bool = False
) -> tuple[Statements, list[Verdict]]:
    """Return the statements of a report, and a verdict on each; verdicts that are known are not asked for again."""
    statements = report_statements(report)
    reused, new = reuse_verdicts(statements.to_judge(), known)
    verdicts = {
        verdict.claim.id: verdict
        for verdict in (*reused, *await judge(run, new, Library.of(report), together=together))
    }
    return statements, [verdicts[claim.id] for claim in statements.to_judge()]


def verification(
    report: Report, require_support: bool, repairs: tuple[Repair, ...] = (), failed_judges: tuple[str, ...] = ()
) -> Verification:
    """Return the result of the checks of a report with its verdicts, as in `verify.json`."""
    verdicts, uncited = report.verdicts, report.uncited
    known = {item.id for item in report.evidence}
    used = [name for section in report.sections for name in cited(section.text or "")]
    unknown = sorted({name for name in used if name not in known})
    counts = Counter(verdict.verdict for verdict in verdicts)
    failed = sum(counts[kind] for kind in REQUIRED) if require_support else 0
    no_claims = require_support and not verdicts and not report.quotes
    bare = len(uncited) if require_support else 0
    ending = "paragraph that makes a statement ends" if bare == 1 else "paragraphs that make a statement end"
    wrong: Mapping[Ground, str] = {
        "unsupported": f"{failed} of {len(verdicts)} claims are not supported by what they cite" if failed else "",
        "no_claims": "the report has no claim with a citation" if no_claims else "",
        "uncited": f"{bare} {ending} without a citation" if bare else "",
        "failed_judges": f"not judged by {', '.join(failed_judges)}" if require_support and failed_judges else "",
        "unknown_ids": f"citations of unknown passages: {', '.join(unknown)}" if unknown else "",
    }
    grounds = tuple(ground for ground, reason in wrong.items() if reason)
    return Verification(
        report_passed=None if report.quotes else bool(verdicts) and not uncited,
        paragraphs_jsonl_cite_ids_passed=not unknown,
        paragraph_end_citation_passed=not uncited,
        paragraph_without_citation_count=len(uncited),
        passed=None if (report.quotes or failed_judges) and not grounds else not grounds,
        failed_judges=failed_judges,
        remarks=sum(counts[kind] for kind in (*FAILED, "partial")) + len(uncited),
        grounds=grounds,
        reasons=tuple(wrong[ground] for ground in grounds),
        claims=dict(counts),
        judged_by=dict(Counter(verdict.judge for verdict in verdicts if verdict.judge)),
        unknown_ids=tuple(unknown),
        verdicts=verdicts,
        uncited=uncited,
        repairs=repairs,
        evidence_index=tuple(_index(report, verdicts)),
    )


def _index(report: Report, verdicts: Iterable[Verdict]) -> Iterable[IndexEntry]:
    sources = {item.id: item.source_id for item in report.evidence}
    for verdict in verdicts:
        if verdict.verdict in GROUNDED:
            ids = dict.fromkeys(sources[name] for name in verdict.claim.evidence_ids if name in sources)
            yield IndexEntry(
                claim=verdict.claim.text, source_ids=tuple(ids), quote=verdict.quote, confidence=_confidence(verdict)
            )


def _confidence(verdict: Verdict) -> Confidence:
    if verdict.verdict == "partial":
        return "low"
    return "high" if verdict.confidence >= _HIGH_CONFIDENCE else "medium"


def paragraph_lines(paragraphs: Iterable[Paragraph], silent: Container[str] = ()) -> str:
    """Return `paragraphs.jsonl`: one line for each paragraph, list or table.

    `silent` are the ids of those whose sentences without a citation assert nothing.
    """
    lines = []
    for paragraph in paragraphs:
        quiet = {"states": bool(paragraph.cite_ids), "ends_with_citation": True} if paragraph.id in silent else {}
        lines.append(paragraph.model_copy(update=quiet).model_dump_json() + "\n")
    return "".join(lines)
