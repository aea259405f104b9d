"""`leadline research`: a question in, a report out."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

from leadline.cli.common import client_of, pairs
from leadline.cli.outcome import advise, show
from leadline.cli.running import through
from leadline.concurrency import leaving
from leadline.errors import UsageError
from leadline.result import Result
from leadline.runs.order import LONGEST_QUESTION, checked_question


def run(args: argparse.Namespace) -> int:
    """Answer the question and print the outcome."""
    if args.folder and Path(args.folder).is_file():  # else the journal would say so, and how to resume what is none
        raise UsageError(f"--folder {args.folder}: this is no folder")
    question = question_of(args.question)
    if question is None:
        raise UsageError('ask something: leadline research "How does …?" --docs FOLDER')
    result = leaving.run(_research(args, checked_question(question), pairs(args.tag, "--tag")))
    show(result, as_json=args.json)
    advise(result, args)
    return result.exit_code


async def _research(args: argparse.Namespace, question: str, tags: dict[str, str]) -> Result:
    async with client_of(args) as client:
        return await through(client, partial(client.start, question, tags=tags), args)


def question_of(words: list[str]) -> str | None:
    """Return the question on the command line, or with `-` on standard input; None where there is none."""
    if words == ["-"]:
        return sys.stdin.read(LONGEST_QUESTION + 1)
    return " ".join(words) if words else None
