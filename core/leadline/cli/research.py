"""`leadline research`, its short forms with follow-up questions, and `leadline resume`."""

from __future__ import annotations

import argparse
import re
from functools import partial
from pathlib import Path

from leadline.commands import check_limit, client_of, run_coroutine
from leadline.commands.foreground import answer, run_in_foreground
from leadline.commands.outcome import advise, show
from leadline.commands.output import say, write
from leadline.display import shortened
from leadline.errors import UsageError
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
        return await run_in_foreground(client, partial(client.resume, args.run, retry_failed=args.retry_failed), args)


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
