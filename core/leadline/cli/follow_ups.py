"""Follow-up questions: `--continue`."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from leadline._runtime.runs.folder import find_run, run_info
from leadline._runtime.runs.index import RunIndex
from leadline.commands import folder_of
from leadline.commands.output import say
from leadline.display import shortened
from leadline.errors import UsageError
from leadline.run_summary import ACTIVE

# The form of an id or its beginning.
_RUN_ID = re.compile(r"[0-9a-f]{4,8}(?:_[0-9_]*)?")


def follow_up(args: argparse.Namespace) -> tuple[list[str], Path | None]:
    """Return the words of the question and the run that it continues, if any. Raises `UsageError`.

    A text after `--continue` that names no run is the question if there is no other.
    """
    if args.follows is None:
        return args.question, None
    folder = folder_of(args)
    if args.follows and (args.question or _RUN_ID.fullmatch(args.follows)):
        try:
            run = find_run(folder, args.follows)
        except UsageError as error:
            raise UsageError(
                f'--continue: {error}; to continue the last run: leadline ask "QUESTION" --continue'
            ) from None
        return args.question, _told(run)
    return [args.follows] if args.follows else args.question, _told(_last_run(folder))


def _told(run: Path) -> Path:
    """Say which run is continued, and return it."""
    known = run_info(run).metadata
    say(f"Continues {run.name}" + (f": {shortened(known.question)}" if known else ""))
    return run


def _last_run(folder: Path) -> Path:
    """Return the newest run that has ended."""
    runs = RunIndex(folder).runs()
    found = next((run for run in runs if run.status not in (*ACTIVE, "unreadable")), None)
    if found is None:
        raise UsageError(f"--continue: there is no run in {folder} to continue; ask without it first")
    return found.folder
