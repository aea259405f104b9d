"""`leadline research`, its short forms with follow-up questions, `leadline resume`, and `leadline explain`."""

from __future__ import annotations

import argparse
import asyncio
import re
from collections.abc import Iterator
from decimal import Decimal
from functools import partial
from pathlib import Path

from leadline.client import Client
from leadline.commands import check_limit, client_of, run_coroutine
from leadline.commands.foreground import answer, question_of, run_in_foreground
from leadline.commands.outcome import advise, show
from leadline.commands.output import say, table, write, write_json
from leadline.commands.questions import content_of
from leadline.display import shortened
from leadline.errors import UsageError
from leadline.estimates import Estimate, Explanation, TaskEstimate
from leadline.records import Answer
from leadline.run_summary import ACTIVE
from leadline.runs import Result


def run(args: argparse.Namespace) -> int:
    """Answer the question and print the outcome."""
    return answer(args, *follow_up(args))


def resume(args: argparse.Namespace) -> int:
    """Resume a run and print the outcome; with `--offline`, replay it and print the whole report."""
    check_limit()
    if args.offline and args.retry_failed:
        raise UsageError("--offline makes no calls, so it cannot retry failed ones; use --offline or --retry-failed")
    result = run_coroutine(_replay(args) if args.offline else _resume(args))
    if args.offline and not args.json and result.text:
        write(result.text)
    else:
        show(result, as_json=args.json)
    if not args.offline:
        advise(result, args)
    return result.exit_code


async def _resume(args: argparse.Namespace) -> Result:
    async with client_of(args) as client:
        if args.answer is not None or args.no_answer:
            await _answer(client, args)
        return await run_in_foreground(client, partial(client.resume, args.run, retry_failed=args.retry_failed), args)


async def _answer(client: Client, args: argparse.Namespace) -> None:
    """Answer the question for which a run waits, or have it go on without an answer."""
    metadata = client.find(args.run).metadata
    if not metadata or not metadata.questions:
        raise UsageError(f"the run {args.run} waits for no answer; resume it without --answer and --no-answer")
    question, given = metadata.questions[0], Answer(action="decline")
    if not args.no_answer:
        try:
            content = content_of(question.json_schema, args.answer, files=True)
        except UsageError as error:
            raise UsageError(f"--answer: {error}") from None
        given = Answer(action="accept", content=content)
    await client.answer(args.run, question.id, given)


async def _replay(args: argparse.Namespace) -> Result:
    async with client_of(args) as client:
        return await client.replay(args.run)


# The form of an id or its beginning.
_RUN_ID = re.compile(r"[0-9a-f]{4,8}(?:_[0-9_]*)?")


def follow_up(args: argparse.Namespace) -> tuple[list[str], Path | None]:
    """Return the words of the question and the run that it continues, if any. Raises `UsageError`.

    A text after `--continue` that names no run is the question if there is no other.
    """
    if args.follows is None:
        return args.question, None
    client = client_of(args)
    if args.follows and (args.question or _RUN_ID.fullmatch(args.follows)):
        try:
            run = client.find(args.follows)
        except UsageError as error:
            raise UsageError(
                f'--continue: {error}; to continue the last run: leadline ask "QUESTION" --continue'
            ) from None
        question = args.question
    else:
        ended = (run for run in client.runs() if run.status not in (*ACTIVE, "unreadable"))
        if (last := next(ended, None)) is None:
            raise UsageError(f"--continue: there is no run in {client.runs_folder()} to continue; ask without it first")
        run, question = client.find(last.folder), [args.follows] if args.follows else args.question
    say(f"Continues {run.id}" + (f": {shortened(run.metadata.question)}" if run.metadata else ""))
    return question, run.folder


# --- leadline explain -------------------------------------------------------------------------------------------------


def explain(args: argparse.Namespace) -> int:
    """Print the plan and the estimate of a run."""
    question = question_of(args.question)
    plan, costs = asyncio.run(_explain(args, question or ""))
    if args.json:
        estimate = {"estimate": costs.model_dump(mode="json")}
        write_json({"question": question, **plan.model_dump(mode="json"), **estimate})
    else:
        _show_plan(plan)
        write("\n" + "\n".join(estimated(costs)))
        if not plan.costs_money:
            write("This run costs no money and no tokens.")
    return 0


async def _explain(args: argparse.Namespace, question: str) -> tuple[Explanation, Estimate]:
    async with client_of(args) as client:
        return client.explain(), await client.estimate(question)


def _show_plan(plan: Explanation) -> None:
    rounds = f", at most {plan.rounds} rounds" if plan.rounds > 1 else ""
    preset = f", preset {plan.preset}" if plan.preset != "lean" else ""
    write(f"Pipeline {plan.pipeline}{preset}{rounds}:")
    steps = (("↻" if step.in_loop else "", step.name, step.summary) for step in plan.steps)
    write(table(steps, indent="  "))
    write("\nPlugins:")
    chosen = ((key, ", ".join(names)) for key, names in plan.chosen.items() if names and key != "pipeline")
    write(table(chosen, indent="  "))
    for text in (*plan.choices, *plan.notices):
        write(f"  {text}")
    write("\nLimits:")
    write(table(((name, f"{value:,g}") for name, value in plan.limits.items()), indent="  "))
    write("\nExpected calls:")
    calls = (
        (call.kind, f"{call.at_least} to {call.at_most}", f"by {', '.join(call.by)}" if call.by else "")
        for call in plan.expected
    )
    write(table(calls, indent="  "))


_HEADERS = ("TASK", "ASKED BY", "MODEL", "CALLS", "TOKENS IN", "TOKENS OUT", "USD")


def estimated(estimate: Estimate) -> Iterator[str]:
    """Yield the lines of an estimate."""
    if not any(task.model for task in estimate.tasks):
        yield "Estimated model calls: none. Every task is performed by an algorithm."
        return
    yield "Estimated model calls (likely number, not a limit):"
    rows = [_row(task) for task in estimate.tasks if task.calls]
    tokens = (f"{estimate.input_tokens:,}", f"{estimate.output_tokens:,}")
    total = ("all", "", "", f"{estimate.calls}", *tokens, _money(estimate.cost))
    yield table([*rows, total], _HEADERS, indent="  ")
    if free := [task.task for task in estimate.tasks if not task.model]:
        yield f"  Performed by an algorithm, at no cost: {', '.join(free)}."
    for model in estimate.unpriced:
        yield f'  Price unknown: set ai.prices = {{ "{model}" = {{ input = …, output = … }} }} (USD per 1M tokens).'
    if estimate.unknown:
        yield f"  Not estimated, because their plugins provide no estimate: {', '.join(estimate.unknown)}."
    for limit in estimate.over:
        yield f"  Over budget: {limit}. The run would end early with a partial report."
    yield f"  Based on: {'; '.join(estimate.basis)}."


def _row(task: TaskEstimate) -> tuple[str, ...]:
    tokens = (f"{task.input_tokens:,}", f"{task.output_tokens:,}")
    return task.task, task.asked_by, f"{task.provider}:{task.model}", f"{task.calls}", *tokens, _money(task.cost)


def _money(cost: Decimal | None) -> str:
    return "unknown" if cost is None else f"{cost:.4f}"
