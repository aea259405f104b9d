"""Follow-up questions (`--continue`), and `leadline memory`: the runs that later questions may remember."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING

from leadline._runtime.runs.folder import find_run, run_info
from leadline._runtime.runs.index import RunIndex
from leadline._runtime.runs.memory import forget, memorable
from leadline.cli.common import confirmed, folder_of
from leadline.cli.terminal import say, table, write, write_json
from leadline.display import one_line, shortened
from leadline.errors import UsageError
from leadline.run_summary import ACTIVE

if TYPE_CHECKING:
    from leadline.run_summary import RunSummary

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


def list_memory(args: argparse.Namespace) -> int:
    """Print the runs that later questions may remember, newest first."""
    folder = folder_of(args)
    runs = memorable(folder)
    if args.json:
        write_json([{"run": run.id, "question": run.question, "ended": _ended(run) or None} for run in runs])
    elif runs:
        write(table(((run.id, _ended(run), one_line(run.question)) for run in runs), ("RUN", "ENDED", "QUESTION")))
    else:
        say(f"Nothing to remember in {folder}.")
    if not args.json:
        say("New questions remember related ones of these only with the setting `memory`, such as --set memory=3.")
    return 0


def _ended(run: RunSummary) -> str:
    return run.ended.isoformat(timespec="seconds") if run.ended else ""


def delete_memory(args: argparse.Namespace) -> int:
    """Keep runs out of the memory of later questions; the runs themselves stay."""
    folder = folder_of(args)
    if bool(args.run) == args.all:
        raise UsageError("name the runs to forget, or forget all of them with --all; `leadline memory list` lists them")
    found = [run.folder for run in memorable(folder)] if args.all else [find_run(folder, name) for name in args.run]
    again = "leadline memory delete --all --yes" if args.all else f"leadline memory delete --yes {join(args.run)}"
    if found and not args.yes and not confirmed(found, "Forget", again):
        say("Nothing was forgotten.")
        return 1
    for path in found:
        forget(path)
        say(f"Forgot {path.name}; the run itself stays.")
    return 0
