"""The provider `embedded`: what a run needs where there is no language model.

It is exact, private and free, and it invents nothing: the only search is the question itself, and the report is a
brief of the passages that were found (`writing/brief.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from leadline.contracts import Call
from leadline.errors import Unsupported
from leadline.plugin import ai_provider
from leadline.records import Record
from leadline.research_findings import Plan, PlannedSection
from leadline.tasks import Task
from leadline_plugins.prompting.research_tasks import PlanRequest, Queries, QueryRequest

R = TypeVar("R", bound=Record)


@ai_provider("Research without a model: no key, and the report is the passages found", work="local", algorithm=True)
class Embedded:
    """Performs two tasks without a model."""

    async def perform(self, task: Task[R], call: Call, /) -> R:
        """Perform a task. Raises `Unsupported` for one that needs a language model."""
        algorithm = _ALGORITHMS.get(task.name)
        if algorithm is None:
            raise Unsupported(
                f"The embedded provider has no algorithm for the task '{task.name}'; it has {', '.join(_ALGORITHMS)}. "
                "Put a language model into ai.providers for it."
            )
        reply = algorithm(task.inputs)
        assert isinstance(reply, task.reply)
        return reply


def _plan(request: PlanRequest) -> Plan:
    """Return one section for the whole question."""
    text, topic = request.question.text, request.question.topic
    return Plan(title=text, sections=(PlannedSection(id="s1", title=text, goal=topic, questions=(topic,)),))


def _query(request: QueryRequest) -> Queries:
    """Return no query beside the question itself, which is always searched for."""
    return Queries()


_ALGORITHMS: Mapping[str, Callable[[Any], Record]] = {"plan": _plan, "query": _query}
