"""`leadline explain`: a dry run."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterator

from leadline.cli.common import client_of
from leadline.cli.out import table, write, write_json
from leadline.cli.research import question_of
from leadline.cli.tally import estimated
from leadline.explain import Expected, Explanation, StepPlan
from leadline.models.estimate import Estimate
from leadline.runs.order import checked_question


def run(args: argparse.Namespace) -> int:
    """Print what a run would do."""
    question = question_of(args.question)
    if question is not None:
        question = checked_question(question)
    found, costs = asyncio.run(_explain(args, question or ""))
    if args.json:
        estimate = {"estimate": costs.model_dump(mode="json")}
        write_json({"question": question, **found.model_dump(mode="json"), **estimate})
    else:
        _show(found)
        write("\n" + "\n".join(estimated(costs)))
        if not found.costs_money:
            write("None of it costs money or tokens.")
    return 0


async def _explain(args: argparse.Namespace, question: str) -> tuple[Explanation, Estimate]:
    async with client_of(args) as client:
        return client.explain(), await client.estimate(question)


def _show(found: Explanation) -> None:
    rounds = f", the loop at most {found.rounds} times" if found.rounds > 1 else ""
    preset = f", preset {found.preset}" if found.preset != "lean" else ""
    write(f"Pipeline {found.pipeline}{preset}{rounds}:")
    write(table(map(_step, found.steps), indent="  "))
    write("\nWho does it:")
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


def _expected(calls: tuple[Expected, ...]) -> Iterator[tuple[str, str, str]]:
    for call in calls:
        yield call.kind, f"{call.at_least} to {call.at_most}", f"by {', '.join(call.by)}" if call.by else ""
