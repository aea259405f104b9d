"""`leadline explain`: a dry run with an estimate of its cost."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterator
from decimal import Decimal

from leadline.commands import client_of
from leadline.commands.foreground import question_of
from leadline.commands.output import table, write, write_json
from leadline.estimates import Estimate, ExpectedCalls, Explanation, StepPlan, TaskEstimate


def run(args: argparse.Namespace) -> int:
    """Print the plan and the estimate of a run."""
    question = question_of(args.question)
    found, costs = asyncio.run(_explain(args, question or ""))
    if args.json:
        estimate = {"estimate": costs.model_dump(mode="json")}
        write_json({"question": question, **found.model_dump(mode="json"), **estimate})
    else:
        _show(found)
        write("\n" + "\n".join(estimated(costs)))
        if not found.costs_money:
            write("This run costs no money and no tokens.")
    return 0


async def _explain(args: argparse.Namespace, question: str) -> tuple[Explanation, Estimate]:
    async with client_of(args) as client:
        return client.explain(), await client.estimate(question)


def _show(found: Explanation) -> None:
    rounds = f", at most {found.rounds} rounds" if found.rounds > 1 else ""
    preset = f", preset {found.preset}" if found.preset != "lean" else ""
    write(f"Pipeline {found.pipeline}{preset}{rounds}:")
    write(table(map(_step, found.steps), indent="  "))
    write("\nPlugins:")
    chosen = ((key, ", ".join(names)) for key, names in found.chosen.items() if names and key != "pipeline")
    write(table(chosen, indent="  "))
    for text in (*found.choices, *found.notices):
        write(f"  {text}")
    write("\nLimits:")
    write(table(((name, f"{value:,g}") for name, value in found.limits.items()), indent="  "))
    write("\nExpected calls:")
    write(table(_expected(found.expected), indent="  "))


def _step(step: StepPlan) -> tuple[str, str, str]:
    return "↻" if step.in_loop else "", step.name, step.summary


def _expected(calls: tuple[ExpectedCalls, ...]) -> Iterator[tuple[str, str, str]]:
    for call in calls:
        yield call.kind, f"{call.at_least} to {call.at_most}", f"by {', '.join(call.by)}" if call.by else ""


_HEADERS = ("TASK", "ASKED BY", "MODEL", "CALLS", "TOKENS IN", "TOKENS OUT", "USD")


def estimated(found: Estimate) -> Iterator[str]:
    """Yield the lines of an estimate."""
    if not any(one.model for one in found.tasks):
        yield "Estimated model calls: none. Every task is performed by an algorithm."
        return
    yield "Estimated model calls (likely number, not a limit):"
    rows = [_row(one) for one in found.tasks if one.calls]
    total = ("all", "", "", f"{found.calls}", f"{found.input_tokens:,}", f"{found.output_tokens:,}", _money(found.cost))
    yield table([*rows, total], _HEADERS, indent="  ")
    if free := [one.task for one in found.tasks if not one.model]:
        yield f"  Performed by an algorithm, at no cost: {', '.join(free)}."
    for model in found.unpriced:
        yield f'  Price unknown: set ai.prices = {{ "{model}" = {{ input = …, output = … }} }} (USD per 1M tokens).'
    if found.unknown:
        yield f"  Not estimated, because their plugins provide no estimate: {', '.join(found.unknown)}."
    for limit in found.over:
        yield f"  Over budget: {limit}. The run would end early with a partial report."
    yield f"  Based on: {'; '.join(found.basis)}."


def _row(one: TaskEstimate) -> tuple[str, ...]:
    tokens = (f"{one.input_tokens:,}", f"{one.output_tokens:,}")
    return one.task, one.asked_by, f"{one.provider}:{one.model}", f"{one.calls}", *tokens, _money(one.cost)


def _money(cost: Decimal | None) -> str:
    return "unknown" if cost is None else f"{cost:.4f}"
