"""Query: first the question and its parts; later the names that the best evidence added to it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator

from leadline.records import Evidence
from leadline_plugins.ai.embedded.asked import Asked, asked
from leadline_plugins.ai.embedded.names import key, names
from leadline_plugins.tasks import Queries, Query, QueryRequest
from leadline_plugins.text import content_words


def query(request: QueryRequest) -> Queries:
    """Propose queries, the most important first, none of them made before."""
    question = asked(request.question.text)
    made = {_same(past.task.query) for past in request.past}
    section = request.plan.sections[0].id if request.plan.sections else ""
    proposed: list[Query] = []
    for text, priority in _first(question) if request.round == 1 else _later(question, request):
        if (same := _same(text)) and same not in made:
            made.add(same)
            proposed.append(Query(query=text, goal=request.question.text, priority=priority, section=section))
    return Queries(queries=tuple(proposed[: request.limit]))


def _same(text: str) -> tuple[str, ...]:
    return tuple(sorted(set(content_words(text))))


def _first(question: Asked) -> Iterator[tuple[str, str]]:
    yield question.text, "high"
    for part in question.parts:
        yield part, "high"
    for name in question.names:
        yield name, "medium"


def _later(question: Asked, request: QueryRequest) -> Iterator[tuple[str, str]]:
    """Follow the names in the best evidence, each with the words of the question that its sentence leaves open."""
    known = set(question.terms)
    scores: Counter[tuple[str, ...]] = Counter()
    spelled: dict[tuple[str, ...], str] = {}
    rest: dict[tuple[str, ...], str] = {}
    for evidence in sorted(request.evidence, key=lambda e: -e.score):
        for name in names(evidence.quote):
            k = key(name)
            if not k or set(k) <= known:
                continue
            spelled.setdefault(k, name)
            rest.setdefault(k, _open(question, evidence))
            scores[k] = scores[k] + evidence.score if os.environ.get('SUM') else max(scores[k], evidence.score)
    for k, _ in scores.most_common():
        yield (spelled[k] if os.environ.get("BARE") else f"{spelled[k]} {rest[k]}".strip()), "high"


def _open(question: Asked, evidence: Evidence) -> str:
    """Return the words of the question that a sentence does not hold, as they stand in the question."""
    held = set(content_words(evidence.quote))
    if os.environ.get("FULL"): held = set()
    if os.environ.get("NONAME"): held |= {t for n in question.names for t in content_words(n)}
    return " ".join(w for w in question.text.split() if (t := content_words(w)) and not set(t) <= held)
