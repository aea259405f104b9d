"""A dry run: what a pipeline would do, with whom and within which limits, before anything is paid for."""

from __future__ import annotations

from leadline.assemble import House
from leadline.hookspecs import MapOffer
from leadline.pipeline import Loop, Pipeline, Step, rounds
from leadline.records import Record
from leadline.runs.opening import pipeline_of


class StepPlan(Record):
    """A stage of the pipeline: what it does, needs and gives; `round` is True inside the loop."""

    name: str
    summary: str
    needs: tuple[str, ...]
    gives: tuple[str, ...]
    in_loop: bool = False
    item_by_item: bool = False


class Expected(Record):
    """How many calls of a kind a run makes, at least and at most."""

    kind: str
    by: tuple[str, ...]
    at_least: int
    at_most: int


class Explanation(Record):
    """The assembled pipeline, the providers with their reasons, the limits, the expected calls."""

    pipeline: str
    preset: str
    rounds: int
    steps: tuple[StepPlan, ...]
    choices: tuple[str, ...]
    notices: tuple[str, ...]
    chosen: dict[str, tuple[str, ...]]
    limits: dict[str, float]
    expected: tuple[Expected, ...]
    costs_money: bool


def explain(house: House) -> Explanation:
    """Return what a run would do."""
    settings, loaded = house.settings, house.loaded
    pipeline = pipeline_of(house, settings.pipeline)
    return Explanation(
        pipeline=pipeline.name,
        preset=settings.preset,
        rounds=rounds(pipeline),
        steps=tuple(_steps(pipeline)),
        choices=loaded.choices,
        notices=loaded.notices,
        chosen=dict(loaded.chosen),
        limits={
            "queries": settings.research.max_queries,
            "engine requests at once": settings.search.max_concurrent,
            "model calls": settings.budget.model_calls,
            "tokens": settings.budget.tokens,
            "USD": settings.budget.money,
            "seconds": settings.budget.seconds,
        },
        expected=tuple(_expected(house, pipeline)),
        costs_money=any(offer.priced for offer in loaded.offers()),
    )


def _steps(pipeline: Pipeline) -> list[StepPlan]:
    looped = {step.name for part in pipeline.parts if isinstance(part, Loop) for step in part.steps}
    return [_step(step, step.name in looped) for step in pipeline.steps()]


def _step(step: Step, in_loop: bool) -> StepPlan:
    return StepPlan(
        name=step.name,
        summary=step.offer.summary,
        needs=tuple(key.name for key in step.needs),
        gives=tuple(key.name for key in step.writes),
        in_loop=in_loop,
        item_by_item=isinstance(step.offer, MapOffer),
    )


def _expected(house: House, pipeline: Pipeline) -> list[Expected]:
    """Return the calls to be expected of the stages that search and read; a round may end the loop at once."""
    research, names = house.settings.research, {step.name for step in pipeline.steps()}
    more = (rounds(pipeline) - 1) * research.followup_queries
    queries = min(research.max_queries, research.first_queries + more)
    engines = house.loaded.chosen.get("search.engines", ())
    fetchers = house.loaded.chosen.get("read.fetchers", ())
    calls = []
    if "search" in names:
        calls.append(Expected(kind="search", by=engines, at_least=1, at_most=queries * max(1, len(engines))))
    if "fetch" in names:
        calls.append(Expected(kind="fetch", by=fetchers, at_least=0, at_most=queries * research.pages_per_query))
    if "explore" in names:
        most = research.max_queries
        calls.append(Expected(kind="search by tools", by=engines, at_least=0, at_most=most * max(1, len(engines))))
        calls.append(Expected(kind="fetch by tools", by=fetchers, at_least=0, at_most=most * research.pages_per_query))
    return calls
