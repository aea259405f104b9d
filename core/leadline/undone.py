"""What a report lacks that nobody did: the plan, a section, the summary. A run that ends so is not complete."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from leadline.assemble import House
from leadline.counts import answered, in_vain, refused
from leadline.kinds import TASK
from leadline.opening import closing_stages
from leadline.pipeline import Pipeline
from leadline.rows import Row
from leadline.task_kinds import TaskKind


def lacking(rows: Collection[Row], pipeline: Pipeline, house: House, *, told: bool) -> list[str]:
    """Return why a report is not the whole that it could be: calls refused, models in vain, tasks that nobody did.

    `told`: there is another reason already, of which refusals and failures are only what followed.
    """
    reasons = []
    if not told and (stages := refused(rows)):
        reasons.append(f"calls were refused to {', '.join(stages)}: see the notices")
    heard = answered(rows)
    for name in in_vain(rows):
        did = "did none of what it was asked" if name in heard else "never answered"
        reasons.append(f"{name} {did}: see the notices")
    if not told and not reasons and (tasks := undone(rows, pipeline, house)):
        reasons.append(f"nobody did {', '.join(tasks)}: see the notices")
    return reasons


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
