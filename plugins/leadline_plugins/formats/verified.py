"""What verification found, in sentences of the report's language: what is wrong first, then the counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from leadline.citations import uncited
from leadline.records import Report
from leadline_plugins.formats.checks import KINDS, MARKS, Checked, Checks, once
from leadline_plugins.formats.inlines import spoken
from leadline_plugins.wording import listed, say

_SUMMARY = "summary"
"""Id of the section that most readers read alone."""
_BEGINNING = 90
"""Characters by which a paragraph is known."""
_DONE = ("recited", "reworded", "weakened", "dropped")


def summary(checks: Checks) -> str:
    """Return what was found, worst first; empty for a report that was not verified."""
    return listed(_summary(checks), checks.language, "space")


def _summary(checks: Checks) -> Iterator[str]:
    language, counts = checks.language, Counter(claim.kind for claim in checks.claims)
    if against := _against_summary(checks):
        yield say("summary_contradicted", language, what=listed(against, language, "semicolon"))
    if why := list(_reasons(checks)):
        yield say("rejected", language, what=listed(why, language, "semicolon"))
    if counts:
        what = (f"{say(kind, language)} {counts[kind]}" for kind in KINDS if counts[kind])
        yield say("checked", language, total=counts.total(), what=listed(what, language))


def _against_summary(checks: Checks) -> list[str]:
    said = (claim for claim in checks.claims if (claim.section_id, claim.kind) == (_SUMMARY, "contradicted"))
    return [claim.text.rstrip(".。") for claim, _ in once(said)]


def _reasons(checks: Checks) -> Iterator[str]:
    """Yield why the report is not accepted; nothing where it is, or nobody decided."""
    found, language = checks.found, checks.language
    if found.get("passed", True):
        return
    given = []
    if not found.get("report_passed", True):
        given.append(say("unchecked", language))
    if unknown := found.get("unknown_ids"):
        given.append(say("pointing_nowhere", language, what=listed(unknown, language)))
    if bare := found.get("paragraph_without_citation_count"):
        given.append(say("bare", language, count=bare))
    yield from given or [say("unborne", language, count=sum(claim.kind in MARKS for claim in checks.claims))]


def changes(checks: Checks) -> str:
    """Return what was done about claims that were not borne; empty where nothing was."""
    repairs: Sequence[Any] = checks.found.get("repairs", ())
    counts = Counter("reworded" if item["now"] else item["done"] for item in repairs)
    if not counts:
        return ""
    what = (f"{say(done, checks.language)} {counts[done]}" for done in _DONE if counts[done])
    return say("changed", checks.language, total=counts.total(), what=listed(what, checks.language))


def unjudged(checks: Checks) -> str:
    """Return how many sentences were held against no passage; empty where all were."""
    count = sum(checks.found.get("unjudged_by_kind", {}).values())
    return say("unjudged", checks.language, count=count) if count else ""


def legend(checks: Checks) -> str:
    """Return what the marks behind numbers mean; empty where there is none."""
    marked = any(claim.kind in MARKS and claim.at >= 0 for claim in checks.claims)
    return say("legend", checks.language, **MARKS) if marked else ""


def failure(claim: Checked, times: int) -> tuple[str, str]:
    """Return a claim that is not borne, with how often it is made, and the reason."""
    return claim.text + (f" × {times}" if times > 1 else ""), f"({claim.reason})" if claim.reason else ""


def bare(report: Report, checks: Checks) -> list[str]:
    """Return the paragraphs that end without a citation: their section, and how they begin."""
    return [
        f"{' '.join(section.title.split())}: {_beginning(spoken(uncited(text)))}"
        for section in report.sections
        for _, _, text in checks.bare(section)
    ]


def _beginning(text: str) -> str:
    return text if len(text) <= _BEGINNING else f"{text[:_BEGINNING].rstrip()} …"
