"""Perform the tasks `plan` and `query` by algorithm."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from leadline.contracts import Call
from leadline.errors import Unsupported
from leadline.records import Record
from leadline.research_findings import Plan, PlannedSection, Query
from leadline.tasks import Task
from leadline.workers import compute
from leadline_plugins.prompting.research_tasks import PlanRequest, Queries, QueryRequest
from leadline_plugins.text import content_set, content_words
from leadline_plugins.writing.brief.entity_chains import Name, names, new_names
from leadline_plugins.writing.brief.selection import rate

R = TypeVar("R", bound=Record)
# Rounds of searches. A third round of follow-up finds one answer in a hundred more, for as many searches.
ROUNDS = 3
_PART = re.compile(
    r"(?<=[?？；;])\s*|,?\s+and\s+(?=(?:how|why|what|when|where|which|who|is|are|does|do|did|can)\b)",
    re.IGNORECASE,
)
# Fewest content words of a part that is a separate question.
_ENOUGH = 2
_MOST_PARTS = 6
# Sentences whose names are searched for.
_LEADING = 40


class Embedded:
    """Performs tasks by algorithm; the same inputs have the same reply."""

    async def perform(self, task: Task[R], call: Call, /) -> R:
        """Perform a task. Raises `Unsupported` for one that needs a language model."""
        algorithm = _ALGORITHMS.get(task.name)
        if algorithm is None:
            raise Unsupported(
                f"The embedded provider has no algorithm for the task '{task.name}'; it has {', '.join(_ALGORITHMS)}. "
                "Put a language model into ai.providers for it."
            )
        reply = await compute(algorithm, task.inputs)
        assert isinstance(reply, task.reply)
        return reply


def plan(request: PlanRequest) -> Plan:
    """Return one section for the question, or for each part of a compound one."""
    text = " ".join(request.question.text.split())
    parts = [part for part in _PART.split(text) if len(content_words(part)) >= _ENOUGH][:_MOST_PARTS]
    named = names(text)
    asked = [(part, _whole(part, named)) for part in parts] if len(parts) > 1 else [(text, text)]
    if not content_words(text):  # such as `And why?`: its context says what about
        asked = [(text, request.question.topic)]
    sections = tuple(
        PlannedSection(id=f"s{place}", title=_titled(part, text), goal=whole, questions=(whole,))
        for place, (part, whole) in enumerate(asked, start=1)
    )
    return Plan(title=text, sections=sections)


def _titled(part: str, text: str) -> str:
    """Return a part of a question as a heading: a capital first, and the end mark of the whole."""
    mark = text[-1:] if part[-1:].isalnum() and text[-1:] in ("?", "？") else ""
    return f"{part[:1].upper()}{part[1:]}{mark}"


def _whole(part: str, named: tuple[str, ...]) -> str:
    """Return a part of a question with the names that it only points back to: `… and when did he die`."""
    return part if any(name in part for name in named) else " ".join([part, *named])


def query(request: QueryRequest) -> Queries:
    """Propose queries, the most important first, none of them made before."""
    made = {content_set(past.query) for past in request.past}
    proposed: list[Query] = []
    if request.round <= ROUNDS:
        for text, section in _first(request) if request.round == 1 else _later(request):
            same = content_set(text)
            if same and same not in made and len(proposed) < request.limit:
                made.add(same)
                proposed.append(Query(query=text, goal=request.question.text, priority="high", section=section))
    return Queries(queries=tuple(proposed))


def _first(request: QueryRequest) -> Iterator[tuple[str, str]]:
    """Yield the question, the parts of it, and the names in it, each with the section that it serves."""
    sections = request.plan.sections
    whole = sections[0].id if sections else ""
    yield request.question.topic, whole
    for section in sections:
        yield from ((question, section.id) for question in section.questions)
    yield from ((name, whole) for name in names(request.question.topic))


def _later(request: QueryRequest) -> Iterator[tuple[str, str]]:
    """Yield the names in the best sentences, each with the words of the question that its sentence lacks."""
    question, section = request.question.text, request.plan.sections[0].id if request.plan.sections else ""
    rated = rate(question, request.evidence, request.titles)
    known, seen = frozenset(rated.weights), set[Name]()
    for place in rated.best_first()[:_LEADING]:
        lacking = known - rated.links[place].held
        left = " ".join(word for word in question.split() if lacking.intersection(content_words(word)))
        for tokens, name in new_names(rated.segments[place].text, known).items():
            if tokens not in seen:
                seen.add(tokens)
                yield f"{name} {left}".strip(), section


_ALGORITHMS: Mapping[str, Callable[[Any], Record]] = {"plan": plan, "query": query}
