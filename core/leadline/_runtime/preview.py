"""Previews of a run: its pipeline, providers and limits (`explain`), and its likely calls and cost (`estimate`)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from leadline._runtime.models.prices import Prices, cost
from leadline._runtime.models.task_messages import instructions
from leadline._runtime.models.task_performer import chain_of, performs_tasks
from leadline._runtime.plugins import PluginRuntime
from leadline._settings.task_settings import Declared, declared
from leadline.estimates import (
    CHARACTERS_PER_TOKEN,
    PAGE,
    Estimate,
    Expected,
    ExpectedCalls,
    Explanation,
    Scope,
    StepPlan,
    TaskEstimate,
)
from leadline.hookspecs import map_stage
from leadline.pipeline import Loop, Pipeline, rounds
from leadline.records import Usage
from leadline.tasks import reply_schema, template_of

_COUNTS = ("calls", "input_tokens", "output_tokens")


def explain(plugins: PluginRuntime) -> Explanation:
    """Return the plan of a run, without any call."""
    settings, loaded = plugins.settings, plugins.loaded
    pipeline = plugins.pipeline().for_run(())
    return Explanation(
        pipeline=pipeline.name,
        preset=settings.preset,
        rounds=rounds(pipeline),
        steps=tuple(_step_plans(pipeline)),
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
        expected=tuple(_expected_calls(plugins, pipeline)),
        costs_money=any(offer.priced for offer in loaded.offers()),
    )


def _step_plans(pipeline: Pipeline) -> Iterator[StepPlan]:
    looped = {step.name for part in pipeline.parts if isinstance(part, Loop) for step in part.steps}
    for step in pipeline.steps():
        yield StepPlan(
            name=step.name,
            summary=step.offer.summary,
            needs=tuple(key.name for key in step.needs),
            gives=tuple(key.name for key in step.writes),
            in_loop=step.name in looped,
            item_by_item=isinstance(step.offer, map_stage),
        )


def _expected_calls(plugins: PluginRuntime, pipeline: Pipeline) -> Iterator[ExpectedCalls]:
    """Yield the expected calls of the stages that search and read; the first round may end the loop."""
    research = plugins.settings.research
    queries = Scope(plugins.settings).queries(rounds(pipeline))
    engines = plugins.chosen.get("search.engines", ())
    fetchers = plugins.chosen.get("read.fetchers", ())
    for step in pipeline.steps():
        # A stage with tools leaves the number of searches to the model.
        suffix, searches = (" by tools", research.max_queries) if step.offer.tools else ("", queries)
        least = 0 if step.offer.tools else 1
        if "search.engines" in step.offer.uses:
            at_most = searches * max(1, len(engines))
            yield ExpectedCalls(kind=f"search{suffix}", by=engines, at_least=least, at_most=at_most)
        if "read.fetchers" in step.offer.uses:
            at_most = searches * research.pages_per_query
            yield ExpectedCalls(kind=f"fetch{suffix}", by=fetchers, at_least=0, at_most=at_most)


async def estimate(plugins: PluginRuntime, question: str = "") -> Estimate:
    """Return the likely cost of a run. Providers are created, but not called."""
    settings = plugins.settings
    draws = bool(plugins.chosen.get("charts.runner"))
    pipeline = plugins.pipeline()
    scope = Scope(settings, rounds(pipeline), question, draws, tuple(step.name for step in pipeline.steps()))
    all_tasks = declared(plugins.loaded.plugins.values())
    expected = {item.task.name: item.task.expects(scope) for item in all_tasks if item.task.expects}
    tasks = [await _task_estimate(plugins, item, expected[item.task.name]) for item in all_tasks if item.task.expects]
    by_model = [task for task in tasks if task.model]
    costs = [task.cost for task in by_model if task.calls]
    counts = {name: sum(getattr(task, name) for task in by_model) for name in _COUNTS}
    return Estimate(
        tasks=tuple(tasks),
        queries=scope.queries(scope.rounds),
        **counts,
        cost=None if None in costs else sum(filter(None, costs), Decimal(0)),
        unpriced=tuple(dict.fromkeys(task.model for task in by_model if task.cost is None)),
        unknown=tuple(item.task.name for item in all_tasks if not item.task.expects),
        over=tuple(_exceeded_budgets(plugins, counts, costs)),
        basis=tuple(_assumptions(scope, [item for item in expected.values() if item.calls])),
    )


async def _task_estimate(plugins: PluginRuntime, item: Declared, expected: Expected) -> TaskEstimate:
    task, settings = item.task, plugins.settings
    choice = next(chain_of(plugins, plugins.chosen["ai.providers"], task.name, task.role))
    provider: Any = await choice.instance.get()
    base = TaskEstimate(task=task.name, asked_by=item.plugin.name, provider=choice.name)
    if performs_tasks(provider):
        return base
    traits = provider.traits(choice.model)
    prompt = instructions(task, template_of(task, settings.prompts))
    # A provider that takes a JSON schema receives it in addition to the prompt.
    schema = json.dumps(reply_schema(task), ensure_ascii=False) if traits.json_schema else ""
    fixed = (len(prompt) + len(schema)) // CHARACTERS_PER_TOKEN
    usage = Usage(
        input_tokens=expected.calls * (expected.inputs + fixed), output_tokens=expected.calls * expected.reply
    )
    price = Prices(settings.ai.prices).of(choice.model or traits.model)
    return base.model_copy(
        update={
            "model": choice.model or traits.model or choice.name,
            "calls": expected.calls,
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cost": None if price is None else cost(usage, price),
        }
    )


def _exceeded_budgets(plugins: PluginRuntime, counts: dict[str, int], costs: list[Decimal | None]) -> Iterator[str]:
    budget = plugins.settings.budget
    tokens = counts["input_tokens"] + counts["output_tokens"]
    if counts["calls"] > budget.model_calls:
        yield f"budget.model_calls = {budget.model_calls}: about {counts['calls']} calls are likely"
    if tokens > budget.tokens:
        yield f"budget.tokens = {budget.tokens:,}: about {tokens:,} tokens are likely"
    if counts["calls"] and not budget.money:
        yield "budget.money = 0: no model will be called"
    elif sum(filter(None, costs), Decimal(0)) > Decimal(str(budget.money)):
        yield f"budget.money = {budget.money:g}: more is likely"


def _assumptions(scope: Scope, expected: list[Expected]) -> Iterator[str]:
    yield f"{scope.rounds} of at most {scope.most_rounds} rounds" if scope.most_rounds > 1 else "one round"
    yield f"{scope.queries(scope.rounds)} searches, {scope.pages} pages of about {PAGE:,} characters"
    yield from dict.fromkeys(item.basis for item in expected if item.basis)
    yield "no retries, no repairs of unusable replies, no prompt cache, no charges of search engines"
