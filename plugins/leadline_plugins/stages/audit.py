"""Stage `audit`: the decision about the report, and `verification.md` for readers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import Field

from leadline.citations import number
from leadline.contracts import StageRun
from leadline.display import one_line
from leadline.findings import Findings
from leadline.plugin import PluginSettings, stage
from leadline.records import Blob, Report, Verdict
from leadline.rendering import VERDICTS
from leadline.research_findings import AUDIT, REPORT, VERIFICATION, Audit, Verification

_KINDS: Sequence[Any] = [*VERDICTS]
# Characters shown of a paragraph without a citation.
_EXCERPT = 160


class AuditSettings(PluginSettings):
    """The decision about the report."""

    decides: bool = Field(False, description="End as failed, with exit code 3, if the report is rejected.")
    accept_partial: bool = Field(True, description="Accept claims that their passages support only in part.")


@stage(
    "Decides over the report; writes verification.md",
    settings=AuditSettings,
    needs=(REPORT, VERIFICATION),
    gives=(AUDIT,),
    closing=True,
)
class AuditStage:
    """Accepts or rejects the report.

    The run of a rejected report ends as partial; with `audit.decides` it fails with exit code 3.
    """

    def __init__(self, settings: AuditSettings) -> None:
        self._settings = settings

    async def run(self, findings: Findings, run: StageRun, /) -> None:
        """Set the audit and save `verification.md`."""
        checks = findings[VERIFICATION]
        why, partial = checks.reasons, checks.claims.get("partial", 0)
        if partial and not self._settings.accept_partial:
            claims = "claim is" if partial == 1 else "claims are"
            why += (f"{partial} of {sum(checks.claims.values())} {claims} supported only in part",)
        accepted = False if why else checks.passed
        audit = Audit(accepted=accepted, reasons=why, decides=self._settings.decides)
        findings[AUDIT] = audit
        text = markdown(findings[REPORT], audit, checks)
        await run.save(Blob(name="verification.md", media_type="text/markdown", data=text.encode()))


def markdown(report: Report, audit: Audit, checks: Verification) -> str:
    """Return `verification.md`: the counts, and each claim that is not fully supported with its passages."""
    remarks = f" with {checks.remarks} remark{'s' * (checks.remarks > 1)}" if checks.remarks else ""
    failed = ", ".join(checks.failed_judges)
    undecided = f"Not judged by {failed}" if failed else "Passages found, not judged"
    decisions = {None: undecided, True: f"Passed{remarks}", False: "Rejected"}
    lines = [f"# Verification: {one_line(report.title)}", ""]
    missing = one_line(", ".join(report.missing_words))
    lines += [f"These words appear in none of the passages: {missing}", ""] if missing else []
    lines += [f"**{decisions[audit.accepted]}**", ""]
    lines += [f"- {reason}" for reason in audit.reasons]
    lines += [""] if audit.reasons else []
    if checks.claims:
        lines += ["| verdict | claims |", "|---|---|"]
        lines += [f"| {_label(kind)} | {checks.claims[kind]} |" for kind in _KINDS if checks.claims.get(kind)]
    if checks.judged_by:
        lines += ["", "| judge | claims |", "|---|---|"]
        lines += [f"| {name} | {count} |" for name, count in sorted(checks.judged_by.items())]
    lines += [*_doubtful(report, checks), *_uncited(checks)]
    if checks.repairs:
        lines += ["", "## Repaired", ""]
        for item in checks.repairs:
            lines.append(f"- **{item.done}** ({_label(item.verdict)}): {one_line(item.claim)}")
            lines += [f"  - now: {one_line(item.now)}"] if item.now else []
    return "\n".join(lines) + "\n"


def _doubtful(report: Report, checks: Verification) -> Iterator[str]:
    """Yield the claims that are not fully supported, worst first."""
    passages = {item.id: item for item in report.evidence}
    numbers = number(report).by_evidence
    kinds = (kind for kind, form in VERDICTS.items() if form.tone != "good")
    doubtful = [verdict for kind in kinds for verdict in checks.verdicts if verdict.verdict == kind]
    yield from ("", "## Not fully supported", "") if doubtful else ()
    for verdict in doubtful:
        marks = "".join(f"[{numbers.get(name, '?')}]" for name in verdict.claim.evidence_ids)
        yield f"- **{_label(verdict.verdict)}** {marks} {one_line(verdict.claim.text)}"
        yield f"  {_judge_and_reason(verdict)}"
        for name in dict.fromkeys(filter(None, (verdict.evidence_id, *verdict.claim.evidence_ids))):
            if name in passages:
                quote = verdict.quote if name == verdict.evidence_id else ""
                yield f"  > {one_line(quote or passages[name].quote)}"


def _judge_and_reason(verdict: Verdict) -> str:
    judge = f"{verdict.judge}: " if verdict.judge else ""
    return one_line(f"{judge}{verdict.reason or 'no reason given'}")


def _uncited(checks: Verification) -> Iterator[str]:
    yield from ("", "## Paragraphs that end without a citation", "") if checks.uncited else ()
    for statement in checks.uncited:
        text = one_line(statement.text)
        yield f"- {statement.id}: {text[:_EXCERPT]}{' …' if len(text) > _EXCERPT else ''}"


def _label(kind: str) -> str:
    return kind.replace("_", " ")
