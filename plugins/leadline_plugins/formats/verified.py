"""What verification found, in sentences of the report's language: what is wrong first, then the counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from leadline.citations import uncited
from leadline.findings import UNBORNE, Unjudged
from leadline.records import Report
from leadline_plugins.formats.checks import Checked, Checks, once, records_of
from leadline_plugins.formats.inlines import spoken
from leadline_plugins.formats.notes import Notes
from leadline_plugins.formats.said import Said
from leadline_plugins.stages import kinds
from leadline_plugins.stages.kinds import KINDS, MARKS, label
from leadline_plugins.text.beginnings import beginning, rows
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
        what = (f"{label(kind, language)} {counts[kind]}" for kind in KINDS if counts[kind])
        yield say("checked", language, total=counts.total(), what=listed(what, language))


def _against_summary(checks: Checks) -> list[str]:
    said = (claim for claim in checks.claims if (claim.section_id, claim.kind) == (_SUMMARY, "contradicted"))
    return [claim.text.rstrip(".。") for claim, _ in once(said)]


def _reasons(checks: Checks) -> Iterator[str]:
    """Yield what is wrong with a report that is not accepted, worst first; nothing where it is, or nobody decided.

    Claims that are not borne are told as well where another ground decided: a lone missing citation seemed the worst.
    """
    found, language = checks.found, checks.language
    if found.get("passed", True):
        return
    if unborne := sum(claim.kind in UNBORNE for claim in checks.claims):
        yield say("unborne", language, count=unborne)
    if not found.get("report_passed", True):
        yield say("unchecked", language)
    if unknown := found.get("unknown_ids"):
        yield say("pointing_nowhere", language, what=listed(unknown, language))
    if bare := found.get("paragraph_without_citation_count"):
        yield say("bare", language, count=bare)


def changes(checks: Checks) -> str:
    """Return what was done about claims that were not borne; empty where nothing was."""
    repairs: Sequence[Any] = checks.found.get("repairs", ())
    counts = Counter("reworded" if item["now"] else item["done"] for item in repairs)
    if not counts:
        return ""
    what = (f"{say(done, checks.language)} {counts[done]}" for done in _DONE if counts[done])
    return say("changed", checks.language, total=counts.total(), what=listed(what, checks.language))


def unjudged(checks: Checks) -> Said | None:
    """Return how many sentences were held against no passage, with each and why; None where all were held."""
    language, count = checks.language, sum(checks.found.get("unjudged_by_kind", {}).values())
    if not count:
        return None
    colon = say("colon", language)
    left = records_of(checks.found, "unjudged", Unjudged)
    said = (f"{say(f'why_{one.kind}', language)}{colon}{spoken(one.text)}" for one in left)
    return Said(say("unjudged", language, count=count), tuple(said), folded=True)


def legend(checks: Checks) -> str:
    """Return what the marks behind numbers mean; empty where there is none."""
    marked = any(claim.kind in MARKS and claim.at >= 0 for claim in checks.claims)
    return kinds.legend(checks.language) if marked else ""


def told(report: Report, checks: Checks) -> Iterator[Said]:
    """Yield what verification found, but for the claims that failed: nothing for a report that was not verified."""
    if not (found := summary(checks)):
        return
    ours, english = Notes(report).of_checks()
    notes = listed((*ours, *((say("notices", checks.language), *english) if english else ())), checks.language, "space")
    yield from (Said(line) for line in (found, changes(checks), notes) if line)
    if left := unjudged(checks):
        yield left
    if line := legend(checks):
        yield Said(line)


def failure(claim: Checked, times: int) -> tuple[str, str]:
    """Return a claim that is not borne, with how often it is made, and the reason."""
    return claim.text + (f" × {times}" if times > 1 else ""), f"({claim.reason})" if claim.reason else ""


def bare(report: Report, checks: Checks) -> list[str]:
    """Return the paragraphs that end without a citation: their section, and how they begin; of a table its length."""
    return [
        f"{' '.join(section.title.split())}{say('colon', checks.language)}{_known_by(text, checks.language)}"
        for section in report.sections
        for _, _, text in checks.bare(section)
    ]


def _known_by(block: str, language: str) -> str:
    if count := rows(block):
        return say("rows", language, count=count)
    return beginning(spoken(uncited(block)), _BEGINNING)
