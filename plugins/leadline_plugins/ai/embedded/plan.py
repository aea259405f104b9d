"""Plan: the outline follows the question. A section a sub-question or side of a comparison, and no boilerplate."""

from __future__ import annotations

import re

from leadline.findings import Plan, PlannedSection
from leadline_plugins.ai.embedded.asked import Asked, asked
from leadline_plugins.tasks.planning import PlanRequest

_MOST = 6
"""Sections."""
_COMPARES = re.compile(r"\bcompar|\bdiffer|\bversus\b|\bvs\b|比[较較]|区别|區別|[对對]比|違い", re.IGNORECASE)


def plan(request: PlanRequest) -> Plan:
    """Return the outline: the question, or its parts; of a comparison the whole, then its sides."""
    question = asked(request.question.text)
    sections = tuple(
        PlannedSection(id=f"s{place}", title=title, goal=goal, questions=(goal,))
        for place, (title, goal) in enumerate(_sections(question)[:_MOST], start=1)
    )
    return Plan(title=question.text, sections=sections)


def _sections(question: Asked) -> list[tuple[str, str]]:
    """Return title and goal of each section."""
    if question.parts:
        return [(part, _whole(part, question)) for part in question.parts]
    whole = (question.text, question.text)
    if _COMPARES.search(question.text) and len(question.names) > 1:
        return [whole, *((name, name) for name in question.names)]
    return [whole]


def _whole(part: str, question: Asked) -> str:
    """Return a part with the names it only points back to: `… and when did he die`."""
    named = any(name in part for name in question.names)
    return part if named else " ".join([part, *question.names])
