"""`leadline runs`: list, search, show, open and delete runs."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from shlex import join, quote
from typing import TYPE_CHECKING, Any

from leadline._runtime.runs.index import RunIndex
from leadline.commands import confirmed, folder_of, near, with_runs
from leadline.commands.output import say, table, write, write_json
from leadline.display import one_line
from leadline.errors import LeadlineError, UsageError
from leadline.run_summary import RunSummary
from leadline.settings import seconds

if TYPE_CHECKING:
    from leadline.runs import RunInfo


@with_runs
def list_(args: argparse.Namespace) -> int:
    """Print the runs, newest first."""
    index = RunIndex(folder := folder_of(args))
    runs = index.runs(status=args.status, limit=args.limit)
    if args.json:
        write_json([_data(run) for run in runs])
    elif runs:
        write(table(map(_row, runs), ("RUN", "STATUS", "BEGAN", "QUESTION")))
    elif args.status:
        say(f"No runs with status {args.status} in {folder}.")
    else:
        say(f'No runs in {folder}. Start one: leadline research "How does …?" --docs FOLDER')
    return 0


@with_runs
def search(args: argparse.Namespace) -> int:
    """Print the runs whose question, tags or report contain a text, the best first."""
    text = " ".join(args.text)
    if not any(map(str.isalnum, text)):
        raise UsageError("nothing to search for; write a word, such as: leadline runs search harbour")
    index = RunIndex(folder := folder_of(args))
    runs = index.search(text, status=args.status, limit=args.limit)
    if args.json:
        write_json([{**_data(run), "excerpt": run.excerpt} for run in runs])
    elif runs:
        for run in runs:
            write("  ".join(_row(run)))
            if run.excerpt:
                write(f"    {run.excerpt}")
    else:
        say(f"No run in {folder} contains all of these words.")
    return 0


def _row(run: RunSummary) -> tuple[str, ...]:
    began = run.began.astimezone().strftime("%Y-%m-%d %H:%M") if run.began else ""
    return run.id, run.status, began, one_line(run.question)


def _data(run: RunSummary) -> dict[str, Any]:
    keys = ("question", "pipeline", "reason", "exit_code", "began", "ended", "seconds", "tags")
    values: dict[str, Any] = {key: getattr(run, key) if run.began else None for key in keys}
    values |= {key: values[key] and values[key].isoformat() for key in ("began", "ended")}
    others = {"conversation": run.conversation or None, "follows": run.follows or None}
    return {"run": run.id, "status": run.status, "folder": str(run.folder), **values, **others}


@with_runs
def show(args: argparse.Namespace) -> int:
    """Print the outcome of a run."""
    from leadline.commands.outcome import summary

    run = _known(args)
    assert run.metadata is not None
    if args.json:
        data = run.metadata.model_dump(mode="json")
        write_json({**data, "status": run.status, "folder": str(run.folder)})
        return 0
    write(summary(run.metadata, run.folder, run.status))
    if run.metadata.follows:
        write(f"{'Follows':<9} {one_line(f'{run.metadata.follows} (conversation {run.metadata.conversation})')}")
    for label, values in (
        ("Calls", run.metadata.calls),
        ("Tags", run.metadata.tags),
        ("Versions", run.metadata.versions),
    ):
        if values:
            write(f"{label:<9} {one_line(', '.join(f'{name} {value}' for name, value in values.items()))}")
    if run.status not in ("complete", "running") and not run.metadata.questions:
        write(f"\nContinue: leadline resume {quote(run.id)}")
    return 0


@with_runs
def open_(args: argparse.Namespace) -> int:
    """Print the path of the report, HTML if there is one, and open it if there is a desktop."""
    from leadline.commands.outcome import report_file

    run = _known(args)
    assert run.metadata is not None
    report = report_file(run.folder, run.metadata, first="report.html")
    if report is None:
        raise LeadlineError(f"run {run.id} ({run.status}) has no report; see `leadline runs show {quote(run.id)}`")
    write(str(report))
    opener = _opener()
    if opener and sys.stdout.isatty():
        subprocess.run([opener, str(report)], check=False)  # noqa: S603 - the opener of the desktop, on our own file
    return 0


def _opener() -> str | None:
    if sys.platform == "darwin":
        return shutil.which("open")
    return shutil.which("xdg-open") if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") else None


@with_runs
def delete(args: argparse.Namespace) -> int:
    """Delete runs after a confirmation."""
    from leadline._runtime.runs.folder import delete_run, ended_before, find_run, run_info

    folder = folder_of(args)
    if bool(args.run) == bool(args.older_than):
        raise UsageError("name the runs to delete, or their age: leadline runs delete --older-than 30d")
    if args.older_than:
        chosen = [run_info(run.folder) for run in ended_before(folder, _ago(args.older_than))]
        again = f"leadline runs delete --yes --older-than {quote(args.older_than)}"
    else:
        chosen = [run_info(find_run(folder, name)) for name in args.run]
        again = f"leadline runs delete --yes {join(run.id for run in chosen)}"
    if not chosen:
        say(f"No run in {folder} ended so long ago.")
        return 0
    if not args.yes and not confirmed(chosen, "Delete", again):
        say("Nothing was deleted.")
        return 1
    for run in chosen:
        delete_run(run.folder)
        say(f"Deleted {near(run.folder)}.")
    return 0


def _ago(duration: str) -> datetime:
    """Return the time so long ago. Raises `UsageError`."""
    try:
        return datetime.now(UTC) - timedelta(seconds=seconds(duration))
    except (ValueError, OverflowError) as error:
        raise UsageError(f"--older-than: {error}") from None


def _known(args: argparse.Namespace) -> RunInfo:
    from leadline._runtime.runs.folder import find_run, run_info

    run = run_info(find_run(folder_of(args), args.run))
    if run.metadata is None:
        raise LeadlineError(
            f"the metadata of {near(run.folder)} cannot be read; `leadline resume {quote(run.id)}` restores it"
        )
    return run
