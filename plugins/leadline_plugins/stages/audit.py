"""Stage `audit`: the decision over the run, and `verification.md` for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from leadline.citations import number, uncited
from leadline.contracts import Run
from leadline.findings import AUDIT, REPORT, UNBORNE, VERIFICATION, Audit, Findings, Repair, Verdict, Verification
from leadline.hookspecs import PluginSettings, StageOffer, hookimpl
from leadline.printable import one_line
from leadline.records import Blob, Report
from leadline_plugins.stages.kinds import kind_of, label
from leadline_plugins.stages.paragraphs import paragraphs
from leadline_plugins.text.beginnings import beginning, rows
from leadline_plugins.wording import say

BY = {"exact": "by rule", "words": "by measure", "model": "by model", "": "by an older version"}
"""Who judged, in words."""
_ENGLISH = "en"
_BEGINNING = 120
"""Characters by which a paragraph is known."""


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
        text = markdown(findings[REPORT], audit, checks)
        await run.save(Blob(name="verification.md", media_type="text/markdown", data=text.encode()))


def reasons(checks: Verification, require_support: bool) -> Iterator[str]:
    """Yield what is wrong with a rejected report, worst first: claims that are not borne, whatever else decided."""
    if (require_support or not checks.passed) and (unborne := _unborne(checks)):
        yield unborne
    if not checks.report_passed:
        yield "the report has no checked citation"
    if not checks.paragraphs_jsonl_cite_ids_passed:
        yield f"citations point nowhere: {', '.join(checks.unknown_ids)}"
    if not checks.paragraph_end_citation_passed:
        yield say("bare", _ENGLISH, count=checks.paragraph_without_citation_count)


def _unborne(checks: Verification) -> str:
    """Return how many claims are not borne; empty where all are."""
    count = sum(checks.claims.get(kind, 0) for kind in UNBORNE)
    return say("unborne", _ENGLISH, count=count) if count else ""


def markdown(report: Report, audit: Audit, checks: Verification) -> str:
    """Return the decision for people: the counts, and where each thing that is wrong stands."""
    lines = [f"# Verification: {report.title}", "", f"**{'Accepted' if audit.accepted else 'Rejected'}**", ""]
    lines += [f"- {reason}" for reason in audit.reasons]
    if (unborne := _unborne(checks)) and unborne not in audit.reasons:
        lines += [f"Accepted all the same, as `verify.require_support` is off: {unborne}."]
    lines += [*([""] if lines[-1] else []), "| verdict | claims |", "|---|---|"]
    lines += [f"| {label(kind, _ENGLISH)} | {count} |" for kind, count in checks.kinds.items()]
    lines += ["", "| judged | claims |", "|---|---|"]
    lines += [f"| {BY[name]} | {count} |" for name, count in sorted(checks.judged_by.items())]
    lines += [*_doubtful(report, checks), *_bare(report, checks), *_unjudged(checks)]
    if checks.repairs:
        lines += ["", "## Repaired", ""]
        lines += [f"- **{item.done}** ({item.verdict}): {item.claim}{_now(item)}" for item in checks.repairs]
    return "\n".join(lines) + "\n"


def _now(repair: Repair) -> str:
    """Return what is said in a claim's place."""
    return f"\n  - now: {repair.now}" if repair.now else ""


def _doubtful(report: Report, checks: Verification) -> Iterator[str]:
    """Yield the claims that are not fully supported, each with its source, who judged, why, and the passage."""
    quotes = {item.id: " ".join(item.quote.split()) for item in report.evidence}
    numbers = number(report).by_evidence
    doubtful = [verdict for verdict in checks.verdicts if verdict.verdict != "supported"]
    yield from ("", "## Not fully supported", "") if doubtful else ()
    for item in doubtful:
        place = _place(item, numbers)
        yield f"- **{label(kind_of(item), _ENGLISH)}**, judged {BY[item.by]}, {place}: {uncited(item.claim)}"
        yield f"  {item.reason}"
        yield from (f"  > {quotes.get(name, '')}" for name in item.cites)


def _place(verdict: Verdict, numbers: Mapping[str, int]) -> str:
    """Return what a claim cites; of one that cites nothing itself, what it was held against."""
    names = " ".join(f"[{numbers.get(name, '?')}] {name}" for name in verdict.cites)
    return names if verdict.own else f"without a citation of its own, held against {names}"


def _unjudged(checks: Verification) -> Iterator[str]:
    """Yield the sentences that were held against nothing, and why."""
    yield from ("", "## Held against no passage", "") if checks.unjudged else ()
    yield from (f"- **{say(f'why_{item.kind}', _ENGLISH)}**: {one_line(item.text)}" for item in checks.unjudged)


def _bare(report: Report, checks: Verification) -> Iterator[str]:
    """Yield the paragraphs that end without a citation."""
    wanted = set(checks.paragraphs_without_citation)
    yield from ("", "## Without a citation at their end", "") if wanted else ()
    for part in paragraphs(report):
        if part.id in wanted:
            count = rows(part.text)
            begins = beginning(one_line(uncited(part.text)), _BEGINNING)
            yield f"- {part.id}: {say('rows', _ENGLISH, count=count) if count else begins}"


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
