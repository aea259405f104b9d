"""Query: first the question, its parts and its names; later the names that the best evidence brings.

A name in a sentence that half answers the question is where the other half is told; so it is searched together with
the words of the question that the sentence leaves open.
"""

from __future__ import annotations

from collections.abc import Iterator

from leadline.findings import Query
from leadline_plugins.ai.embedded.asked import Asked, asked
from leadline_plugins.ai.embedded.names import Name, unasked
from leadline_plugins.tasks.planning import Queries, QueryRequest
from leadline_plugins.text import content_set


def query(request: QueryRequest) -> Queries:
    """Propose queries, the most important first, none of them made before."""
    question = asked(request.question.text)
    made = {content_set(past.query) for past in request.past}
    proposed: list[Query] = []
    for text, priority, section in _first(question, request) if request.round == 1 else _later(question, request):
        same = content_set(text)
        if same and same not in made and len(proposed) < request.limit:
            made.add(same)
            proposed.append(Query(query=text, goal=request.question.text, priority=priority, section=section))
    return Queries(queries=tuple(proposed))


def _first(question: Asked, request: QueryRequest) -> Iterator[tuple[str, str, str]]:
    """Yield query, priority, section: the whole, the planned sections, the names."""
    sections = request.plan.sections
    whole = sections[0].id if sections else ""
    yield question.text, "high", whole
    for section in sections:
        yield section.goal or section.title, "high", section.id
    for name in [*question.names, *question.phrases.values()]:
        yield name, "medium", whole


def _later(question: Asked, request: QueryRequest) -> Iterator[tuple[str, str, str]]:
    """Yield the names that the evidence brings, in the order of its score, with what it leaves open."""
    known, seen = frozenset(question.terms), set[Name]()
    section = request.plan.sections[0].id if request.plan.sections else ""
    for evidence in sorted(request.evidence, key=lambda item: -item.score):
        left = known - question.tokens(evidence.quote)
        for tokens, name in unasked(evidence.quote, known).items():
            if tokens not in seen:
                seen.add(tokens)
                yield f"{name} {question.words(left)}".strip(), "high", section
