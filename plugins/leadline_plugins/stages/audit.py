"""Stage `audit`: the decision over the run, and `verification.md` for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from leadline.contracts import Run
from leadline.findings import AUDIT, REPORT, VERIFICATION, Audit, Findings, Verification
from leadline.hookspecs import PluginSettings, StageOffer, hookimpl
from leadline.records import Blob


class Auditing:
    """Accepts or rejects the report; where `audit.decides` is set, a rejection is exit code 3."""

    async def run(self, findings: Findings, run: Run, /) -> None:
        """Give the decision."""
        checks = findings[VERIFICATION]
        audit = Audit(
            accepted=checks.passed,
            reasons=tuple(reasons(checks, run.settings.verify.require_support)),
            decides=run.settings.audit.decides,
        )
        findings[AUDIT] = audit
        text = markdown(findings[REPORT].title, audit, checks)
        await run.save(Blob(name="verification.md", media_type="text/markdown", data=text.encode()))


def reasons(checks: Verification, require_support: bool) -> Iterator[str]:
    """Yield why a report is rejected."""
    if not checks.report_passed:
        yield "the report has no checked citation"
    if not checks.paragraphs_jsonl_cite_ids_passed:
        yield f"citations point nowhere: {', '.join(checks.unknown_ids)}"
    if not checks.paragraph_end_citation_passed:
        yield f"{checks.paragraph_without_citation_count} paragraphs end without a citation"
    unsupported = checks.claims.get("unsupported", 0) + checks.claims.get("contradicted", 0)
    if require_support and unsupported:
        yield f"{unsupported} claims are contradicted or unsupported"


def markdown(title: str, audit: Audit, checks: Verification) -> str:
    """Return the decision for people, with what is wrong with each claim that is not supported."""
    lines = [f"# Verification: {title}", "", f"**{'Accepted' if audit.accepted else 'Rejected'}**", ""]
    lines += [f"- {reason}" for reason in audit.reasons]
    lines += ["", "| verdict | claims |", "|---|---|"]
    lines += [f"| {kind} | {count} |" for kind, count in sorted(checks.claims.items())]
    doubtful = [verdict for verdict in checks.verdicts if verdict.verdict != "supported"]
    if doubtful:
        lines += ["", "## Not fully supported", ""]
        lines += [f"- **{item.verdict}** ({item.evidence_id}): {item.claim}. {item.reason}" for item in doubtful]
    if checks.repairs:
        lines += ["", "## Repaired", ""]
        lines += [f"- **{item.done}** ({item.verdict}): {item.claim}" for item in checks.repairs]
    return "\n".join(lines) + "\n"


@hookimpl
def leadline_stages() -> Iterator[StageOffer[Any]]:
    """Offer the stage."""
    yield StageOffer(
        lambda settings, context: Auditing(),
        PluginSettings,
        "Decides over the report; writes verification.md",
        needs=(REPORT, VERIFICATION),
        gives=(AUDIT,),
        closing=True,
    )
