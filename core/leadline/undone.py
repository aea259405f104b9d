"""What a report lacks that nobody did: the plan, a section, the summary. A run that ends so is not complete."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from leadline.assemble import House
from leadline.kinds import TASK
from leadline.opening import closing_stages
from leadline.pipeline import Pipeline
from leadline.rows import Row
from leadline.task_kinds import TaskKind


def undone(rows: Iterable[Row], pipeline: Pipeline, house: House) -> tuple[str, ...]:
    """Return the tasks that a report is written by and that a whole chain of models failed at, by name.

    Those are the tasks of the role `thinking` in stages that others need, and in those that finish the report; an
    analysis more or less is none.
    """
    needed = {key.name for step in pipeline.steps() for key in step.needs}
    stages = {step.name for step in pipeline.steps() if any(key.name in needed for key in step.writes)}
    stages |= {*closing_stages(pipeline)}
    written = {kind.name for kind in _kinds(pipeline, house) if kind.role == "thinking"}
    failed = {row.task for row in rows if (row.kind, row.outcome) == (TASK, "failure") and row.step in stages}
    return tuple(sorted(failed & written))


def _kinds(pipeline: Pipeline, house: House) -> Iterator[TaskKind[Any, Any]]:
    for step in pipeline.steps():
        yield from step.offer.tasks
    yield from house.member("synthesizers", house.settings.research.synthesizer).offer.tasks
