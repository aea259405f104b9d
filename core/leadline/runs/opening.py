"""What a session is put together from: its pipeline, its budget, its door, the stream of its events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from leadline.assemble import House
from leadline.contracts import Run
from leadline.door.calls import Door
from leadline.door.outcomes import WIND_DOWN
from leadline.door.retry import RetryPolicy
from leadline.door.secrets import Secrets
from leadline.events import Bus
from leadline.journal.journal import Journal
from leadline.journal.lineage import with_those_above
from leadline.pipeline import Pipeline, assemble
from leadline.records import Failure
from leadline.runs.budget import Budget, Limits
from leadline.runs.folder import EVENTS
from leadline.runs.order import Order
from leadline.settings.load import resolve


def pipeline_of(house: House, name: str) -> Pipeline:
    """Return the checked pipeline of that name. Raises `ConfigError`."""
    pipelines = house.settings.pipelines
    layout = resolve(pipelines, name)
    offers = {stage: house.loaded.offer("stages", stage) for stage in house.loaded.chosen["pipeline"]}
    return assemble(name, layout, offers, pipelines[name].level)  # type: ignore[arg-type]


def budget_of(house: House, pipeline: Pipeline) -> Budget:
    """Return the budget that the settings give a run; its closing stages share the reserve."""
    settings = house.settings
    limits = Limits(
        model_calls=settings.budget.model_calls,
        tokens=settings.budget.tokens,
        queries=settings.research.max_queries,
        money=settings.budget.money,
        seconds=settings.budget.seconds,
    )
    closing = closing_stages(pipeline)
    asking = [step.name for step in pipeline.steps() if step.name in closing and step.offer.tasks]
    return Budget(limits, reserve=settings.budget.reserve, closing_stages=closing, asking=asking)


def closing_stages(pipeline: Pipeline) -> list[str]:
    """Return the names of the stages that finish the report, in their order."""
    return [step.name for step in pipeline.steps() if getattr(step.offer, "closing", False)]


async def keep_order(journal: Journal, order: Order) -> None:
    """Write down what a run is asked to do, and by which settings: those of the next session."""
    await journal.set_meta("order", order.model_dump(mode="json"))


async def forget_failures(journal: Journal, order: Order, house: House, *, everything: bool) -> None:
    """Forget what ended the last session; all failures where it ended by itself and none of them ended it.

    What finishes the report is made anew where it was made in spite of them: it costs what failed, and no more. What
    was searched and read is not, for all that followed from it would be paid for again. What was refused because a
    session was to end, by its time or by a stop, is forgotten however it did end: no other session is bound by that.
    """
    escaped = {row.key for row in journal.rows() if row.escaped}
    last = journal.sessions()[-2:-1]
    ended = bool(last) and last[0].status in ("no_evidence", "partial", "failed")
    closing = closing_stages(pipeline_of(house, order.pipeline))
    if everything or (ended and not escaped):
        await journal.forget(anew=closing)
        return
    if escaped:
        await journal.forget(escaped)
    if wound := await _wound_down(journal):
        await journal.forget(wound, anew=closing)


async def _wound_down(journal: Journal) -> set[str]:
    """Return the keys of what was refused because a session was to end, and of the calls that failed of it."""
    refused = [row for row in journal.rows() if row.outcome == "refusal"]
    bodies = {row.body: await journal.body(row) for row in refused}
    winding = {name for name, body in bodies.items() if body and Failure.model_validate_json(body).type == WIND_DOWN}
    return with_those_above(journal.rows(), (row.key for row in refused if row.body in winding))


async def bus_of(house: House, order: Order, folder: Path, observers: Mapping[str, Any], *, replaying: bool) -> Bus:
    """Return the stream of events, with these observers and those of the settings; a replay is for these alone."""
    chosen = () if replaying else house.loaded.chosen["observers"]
    return Bus(
        order.run_id,
        order.trace_id,
        {**{name: await house.member("observers", name).get() for name in chosen}, **observers},
        first_seq=0 if replaying else await asyncio.to_thread(_next_seq, folder / EVENTS),
        secrets=Secrets(house.loaded.secrets),
    )


async def door_of(house: House, run: Run, journal: Journal, budget: Budget, bus: Bus) -> Door:
    """Return the door by which the run reaches what is outside; over a journal that is only read it is offline."""
    retry = house.settings.retry
    return Door(
        run,
        journal,
        budget,
        bus,
        retry=RetryPolicy(retry.attempts, retry.base, retry.factor, retry.maximum),
        secrets=Secrets(house.loaded.secrets),
        middleware={name: await house.member("middleware", name).get() for name in house.loaded.chosen["middleware"]},
        offline=journal.readonly,
        answers=None if journal.readonly else house.answers,
    )


def _next_seq(path: Path) -> int:
    """Return the number after the last whole event on disk: a resumed run goes on counting."""
    if not path.exists():
        return 0
    last = -1
    with path.open("rb") as lines:
        for line in lines:
            try:
                last = max(last, int(json.loads(line)["seq"]))
            except (ValueError, KeyError, TypeError):
                continue  # a torn line: the observer cuts it off
    return last + 1
