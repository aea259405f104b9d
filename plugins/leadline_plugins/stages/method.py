"""The method of a report: what was searched, what was read, what failed; facts of the run, never a model's words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from pydantic import JsonValue

from leadline.findings import Found, Plan, Question, Review, Unread
from leadline.records import Evidence, Report, Section, Source


@dataclass(frozen=True)
class Lacking:
    """What a model found missing: questions that are open, sections without evidence.

    `unanswered` are the questions that the passages of a section do not answer, as its writer found.
    """

    sufficient: bool = True
    gaps: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    unanswered: tuple[tuple[str, str], ...] = ()
    """Titles of sections, each with a question."""

    def facts(self) -> dict[str, JsonValue]:
        """Return it as JSON."""
        return {
            "sufficient": self.sufficient,
            "gaps": list(self.gaps),
            "left_out": list(self.left_out),
            "unanswered": [{"section": title, "gap": gap} for title, gap in self.unanswered],
        }


def lacking(review: Review | None, plan: Plan, sections: Sequence[Section]) -> Lacking:
    """Return what is missing after the writing: by the last review, the writers and the plan."""
    written, planned = {section.id for section in sections}, {section.id for section in plan.sections}
    left_out = [section.title for section in plan.sections if section.id not in written]
    judged = review is not None and bool(review.sections)  # else the model told nothing
    # The writers saw more passages than the review: what they could answer is open no more.
    open_still = bool(left_out) or any(section.unanswered for section in sections)
    return Lacking(
        sufficient=review is None or review.is_sufficient or not judged or not open_still,
        gaps=review.priority_gaps if review and judged and not sections else (),
        left_out=tuple(left_out) if written <= planned else (),
        unanswered=tuple((section.title, gap) for section in sections for gap in dict.fromkeys(section.unanswered)),
    )


def used(sections: Sequence[Section], evidence: Sequence[Evidence]) -> int:
    """Return of how many sources the writers of sections were shown a passage."""
    chosen = {name for section in sections for name in {*section.evidence_ids} - {*section.unsent}}
    return len({item.source_id for item in evidence if item.id in chosen})


def method(
    question: Question,
    found: Sequence[Found],
    sources: Sequence[Source],
    unread: Sequence[Unread],
    notices: Sequence[str] = (),
    lacking: Lacking | None = None,
    sources_used: int | None = None,
) -> JsonValue:
    """Return the facts a methodology section is rendered from, as JSON."""
    failed = [item for item in found if item.failure]
    facts = {
        "queries": [item.task.query for item in found],
        "rounds": max((item.task.round for item in found), default=0),
        "engines": sorted({hit.engine for item in found for hit in item.hits if hit.engine}),
        "hits": sum(len(item.hits) for item in found),
        "sources_read": len(sources),
        "failed_searches": [{"query": item.task.query, "reason": item.failure} for item in failed],
        "failed_engines": failed_engines(found),
        "unread": [{"url": item.url, "reason": item.reason} for item in unread],
        "assumptions": list(question.assumptions),
        "notices": list(notices),
        **({} if sources_used is None else {"sources_used": sources_used}),
        **(lacking.facts() if lacking else {}),
    }
    return cast("JsonValue", facts)


def with_notices(report: Report, notices: Sequence[str]) -> Report:
    """Return a report whose facts have what was done with less, as far as is known when it is exported.

    The last to say something is who checks it: when the facts were put together nobody had judged it yet.
    """
    facts = report.metadata.get("method")
    if not isinstance(facts, dict):
        return report
    told = {**report.metadata, "method": {**facts, "notices": list(notices)}}
    return report.model_copy(update={"metadata": told})


def failed_engines(found: Sequence[Found]) -> list[dict[str, JsonValue]]:
    """Return the engines that gave nothing while others did: name, in how many searches, and why at first."""
    failures = [failure for item in found for failure in item.engine_failures]
    counts = Counter(failure.provider for failure in failures)
    reasons = {failure.provider: failure.message for failure in reversed(failures)}
    return [{"engine": name, "searches": count, "reason": reasons[name]} for name, count in sorted(counts.items())]
