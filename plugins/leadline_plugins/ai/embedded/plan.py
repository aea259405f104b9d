"""Plan: the outline follows the question. One section a sub-question, and no boilerplate."""

from __future__ import annotations

from leadline.findings import Plan, PlannedSection
from leadline_plugins.ai.embedded.asked import asked
from leadline_plugins.tasks import PlanRequest

_MOST_SECTIONS = 6


def plan(request: PlanRequest) -> Plan:
    """Return the outline: the whole question first, its parts where it has several."""
    question = asked(request.question.text)
    texts = question.parts[:_MOST_SECTIONS] or (request.question.text.strip(),)
    return Plan(
        title=request.question.text.strip(),
        sections=tuple(
            PlannedSection(id=f"s{i}", title=text, goal=text, questions=(text,)) for i, text in enumerate(texts, 1)
        ),
    )
