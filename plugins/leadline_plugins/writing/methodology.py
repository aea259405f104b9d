"""The method of a report: searches, pages and failures, as recorded by the run and never worded by a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from pydantic import JsonValue

from leadline.citations import cited
from leadline.records import Evidence, Notice, Report, Section, Source
from leadline.research_findings import Found, Plan, Question, Review, Unread


def missing_parts(review: Review | None, plan: Plan, sections: Sequence[Section]) -> dict[str, JsonValue]:
    """Return the parts that a model found missing, as JSON: open questions, and sections without evidence."""
    written, planned = {section.id for section in sections}, {section.id for section in plan.sections}
    left_out = [section.title for section in plan.sections if section.id not in written]
    judged = review is not None and bool(review.sections)  # otherwise the reply was empty
    return {
        "gaps": list(review.priority_gaps) if review and judged and not sections else [],
        "left_out": list(left_out) if written <= planned else [],
        "unanswered": [
            {"section": section.title, "gap": gap} for section in sections for gap in dict.fromkeys(section.unanswered)
        ],
    }


def count_shown_sources(sections: Sequence[Section], evidence: Sequence[Evidence]) -> int:
    """Return the number of sources of which the writers received a passage; they cite no other."""
    chosen = {name for section in sections for name in {*section.evidence_ids} - {*section.unsent}}
    chosen |= {name for section in sections for name in cited(section.text or "")}
    return len({item.source_id for item in evidence if item.id in chosen})


def method_facts(
    question: Question,
    searches: Sequence[Found],
    sources: Sequence[Source],
    unread: Sequence[Unread],
    notices: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the facts of the method section as JSON."""
    failed = [item for item in searches if item.failure]
    return {
        "queries": [item.task.query for item in searches],
        "rounds": max((item.task.round for item in searches), default=0),
        "engines": sorted({hit.engine for item in searches for hit in item.hits if hit.engine}),
        "hits": sum(len(item.hits) for item in searches),
        "sources_read": len(sources),
        "failed_searches": [{"query": item.task.query, "reason": item.failure} for item in failed],
        "failed_engines": failed_engines(searches),
        "unread": [{"url": item.url, "reason": item.reason} for item in unread],
        "assumptions": list(question.assumptions),
        "notices": [Notice.read(notice).data() for notice in notices],
    }


def with_notices(report: Report, notices: Sequence[str]) -> Report:
    """Return a report whose method lists all notices of the run so far.

    Verification adds notices after the method was put together.
    """
    facts = report.metadata.get("method")
    if not isinstance(facts, dict):
        return report
    metadata = {**report.metadata, "method": {**facts, "notices": [Notice.read(notice).data() for notice in notices]}}
    return report.model_copy(update={"metadata": metadata})


def failed_engines(searches: Sequence[Found]) -> list[dict[str, JsonValue]]:
    """Return the engines that failed: name, number of failed searches, and the first reason."""
    failures = [failure for item in searches for failure in item.engine_failures]
    counts = Counter(failure.provider for failure in failures)
    reasons = {failure.provider: failure.message for failure in reversed(failures)}
    return [{"engine": name, "searches": count, "reason": reasons[name]} for name, count in sorted(counts.items())]
