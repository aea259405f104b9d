"""What a report lacks that nobody did: the plan, a section, the summary. A run that ends so is not complete."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from leadline.assemble import House
from leadline.door.counts import answered, in_vain, refused
from leadline.door.kinds import CHAT, TASK
from leadline.errors import JournalError
from leadline.journal.journal import Journal
from leadline.journal.rows import Row
from leadline.models.chains import chain_of
from leadline.pipeline import Pipeline
from leadline.printable import shortened
from leadline.records import Failure
from leadline.runs.opening import closing_stages
from leadline.task_kinds import TaskKind

_LONGEST = 300
"""Characters of a failure that a reason repeats."""


async def lacking(journal: Journal, rows: Sequence[Row], pipeline: Pipeline, house: House, *, told: bool) -> list[str]:
    """Return why a report is not the whole that it could be: calls refused, models in vain, tasks that nobody did.

    `rows` are the calls that it was made by. `told`: there is another reason already, of which refusals and failures
    are only what followed.
    """
    reasons = []
    if not told and (stages := refused(rows)):
        reasons.append(f"calls were refused to {', '.join(stages)}: see the notices")
    heard, tasks = answered(rows), undone(rows, pipeline, house)
    chosen = house.loaded.chosen["ai.providers"]
    writers = {next(chain_of(house, chosen, kind.name, kind.role)).member.name for kind in _writing(pipeline, house)}
    for name in in_vain(rows):
        # Where an algorithm did all of a model's tasks the report is whole, unless the model was to write it.
        if not tasks and _any_done(rows) and (name in heard or name not in writers):
            continue
        if name in heard:
            reasons.append(f"{name} did none of what it was asked: see the notices")
        else:
            reasons.append(f"{name} did no task: {await _commonest(journal, rows, name) or 'see the notices'}")
    if not told and not reasons and tasks:
        reasons.append(f"nobody did {', '.join(tasks)}: see the notices")
    return reasons


def _any_done(rows: Iterable[Row]) -> bool:
    return any((row.kind, row.outcome) == (TASK, "reply") for row in rows)


async def _commonest(journal: Journal, rows: Iterable[Row], name: str) -> str:
    """Return what most chats by a provider failed of, in words; empty where none is kept."""
    failed = Counter(row.body for row in rows if (row.kind, row.provider, row.outcome) == (CHAT, name, "failure"))
    kept = {row.body: row for row in rows if row.body in failed}
    try:
        bodies = [await journal.body(kept[body]) for body, _ in failed.most_common(1)]
    except JournalError:  # which the run tells of by itself
        return ""
    return "".join(shortened(Failure.model_validate_json(body).message, _LONGEST) for body in bodies if body)


def undone(rows: Iterable[Row], pipeline: Pipeline, house: House) -> tuple[str, ...]:
    """Return the tasks that a report is written by and that a whole chain of models failed at, by name.

    Those are the tasks of the role `thinking` in stages that others need, and in those that finish the report; an
    analysis more or less is none.
    """
    needed = {key.name for step in pipeline.steps() for key in step.needs}
    stages = {step.name for step in pipeline.steps() if any(key.name in needed for key in step.writes)}
    stages |= {*closing_stages(pipeline)}
    written = {kind.name for kind in _writing(pipeline, house)}
    failed = {row.task for row in rows if (row.kind, row.outcome) == (TASK, "failure") and row.step in stages}
    return tuple(sorted(failed & written))


def _writing(pipeline: Pipeline, house: House) -> list[TaskKind[Any, Any]]:
    """Return the tasks that a report is written by."""
    kinds = [kind for step in pipeline.steps() for kind in step.offer.tasks]
    kinds += house.member("synthesizers", house.settings.research.synthesizer).offer.tasks
    return [kind for kind in kinds if kind.role == "thinking"]
