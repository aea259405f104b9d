"""`leadline resume`: on with a run from where it was, or offline through a finished one."""

from __future__ import annotations

import argparse
from functools import partial

from leadline.cli.common import client_of
from leadline.cli.out import write
from leadline.cli.outcome import advise, show
from leadline.cli.running import through
from leadline.concurrency import leaving
from leadline.errors import UsageError
from leadline.result import Result


def run(args: argparse.Namespace) -> int:
    """Go on with the run and print the outcome; offline the whole report."""
    if args.offline and args.retry_failed:
        raise UsageError("--offline asks nobody again: leave out --retry-failed, or --offline")
    result = leaving.run(_replay(args) if args.offline else _resume(args))
    if args.offline and not args.json and result.text:
        write(result.text)
    else:
        show(result, as_json=args.json)
    if not args.offline:
        advise(result, args)
    return result.exit_code


async def _resume(args: argparse.Namespace) -> Result:
    async with client_of(args) as client:
        return await through(client, partial(client.resume, args.run, retry_failed=args.retry_failed), args)


async def _replay(args: argparse.Namespace) -> Result:
    async with client_of(args) as client:
        return await client.replay(args.run)
