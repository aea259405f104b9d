"""The method of a report: what was searched, what was read, what failed; facts of the run, never a model's words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import cast

from pydantic import JsonValue

from leadline.findings import Found, Question, Unread
from leadline.records import Source


def method(
    question: Question,
    found: Sequence[Found],
    sources: Sequence[Source],
    unread: Sequence[Unread],
    notices: Sequence[str] = (),
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
    }
    return cast("JsonValue", facts)


def failed_engines(found: Sequence[Found]) -> list[dict[str, JsonValue]]:
    """Return the engines that gave nothing while others did: name, in how many searches, and why at first."""
    failures = [failure for item in found for failure in item.engine_failures]
    counts = Counter(failure.provider for failure in failures)
    reasons = {failure.provider: failure.message for failure in reversed(failures)}
    return [{"engine": name, "searches": count, "reason": reasons[name]} for name, count in sorted(counts.items())]
