"""`leadline research`, its short forms, and `leadline resume`."""

from __future__ import annotations

import argparse
from functools import partial

from leadline.cli.follow_ups import follow_up
from leadline.commands import client_of, run_coroutine
from leadline.commands.foreground import answer, run_in_foreground
from leadline.commands.memory import check_limit
from leadline.commands.outcome import advise, show
from leadline.commands.output import write
from leadline.errors import UsageError
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
        return await run_in_foreground(client, partial(client.resume, args.run, retry_failed=args.retry_failed), args)


async def _replay(args: argparse.Namespace) -> Result:
    async with client_of(args) as client:
        return await client.replay(args.run)
