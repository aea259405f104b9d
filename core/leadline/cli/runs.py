"""`leadline runs`: list, show, open and delete runs."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from leadline._runtime.runs.folder import delete_run, find_run, list_runs, run_info
from leadline.cli.common import client_of, interactive, near
from leadline.cli.outcome import report_file, summary
from leadline.cli.terminal import say, table, write, write_json
from leadline.display import one_line
from leadline.errors import LeadlineError, UsageError
from leadline.runs import RunInfo


def list_(args: argparse.Namespace) -> int:
    """Print the runs, newest first."""
    folder = client_of(args).runs_folder()
    runs = [run for run in list_runs(folder) if args.status in (None, run.status)][: args.limit]
    if args.json:
        write_json([_data(run) for run in runs])
    elif runs:
        write(table(map(_row, runs), ("RUN", "STATUS", "BEGAN", "QUESTION")))
    else:
        say(f'No runs in {folder}. Start one: leadline research "How does …?" --docs FOLDER')
    return 0


def _row(run: RunInfo) -> tuple[str, ...]:
    known = run.metadata
    if known is None:
        return run.id, run.status, "", ""
    began = known.began.astimezone().strftime("%Y-%m-%d %H:%M")
    return run.id, run.status, began, one_line(known.question)


def _data(run: RunInfo) -> dict[str, Any]:
    known = run.metadata.model_dump(mode="json") if run.metadata else {}
    kept = ("question", "pipeline", "reason", "exit_code", "began", "ended", "seconds", "tags")
    return {
        "run": run.id,
        "status": run.status,
        "folder": str(run.folder.absolute()),
        **{key: known.get(key) for key in kept},
    }


def show(args: argparse.Namespace) -> int:
    """Print the outcome of a run."""
    run = _known(args)
    assert run.metadata is not None
    if args.json:
        data = run.metadata.model_dump(mode="json")
        write_json({**data, "status": run.status, "folder": str(run.folder)})
        return 0
    write(summary(run.metadata, run.folder, run.status))
    for label, values in (
        ("Calls", run.metadata.calls),
        ("Tags", run.metadata.tags),
        ("Versions", run.metadata.versions),
    ):
        if values:
            write(f"{label:<9} {', '.join(f'{name} {value}' for name, value in values.items())}")
    if run.status not in ("complete", "running") and not run.metadata.questions:
        write(f"\nContinue: leadline resume {run.id}")
    return 0


def open_(args: argparse.Namespace) -> int:
    """Print the path of the report, and open it if there is a desktop."""
    run = _known(args)
    assert run.metadata is not None
    report = report_file(run.folder, run.metadata)
    if report is None:
        raise LeadlineError(f"run {run.id} ({run.status}) has no report; see `leadline runs show {run.id}`")
    write(str(report))
    opener = _opener()
    if opener and sys.stdout.isatty():
        subprocess.run([opener, str(report)], check=False)  # noqa: S603 - the opener of the desktop, on our own file
    return 0


def _opener() -> str | None:
    if sys.platform == "darwin":
        return shutil.which("open")
    return shutil.which("xdg-open") if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") else None


def delete(args: argparse.Namespace) -> int:
    """Delete runs after a confirmation."""
    folder = client_of(args).runs_folder()
    found = [find_run(folder, name) for name in args.run]
    if not args.yes and not _confirmed(found):
        say("Nothing was deleted.")
        return 1
    for path in found:
        delete_run(path)
        say(f"Deleted {near(path)}.")
    return 0


def _confirmed(found: list[Path]) -> bool:
    if not interactive():
        names = " ".join(path.name for path in found)
        raise UsageError(f"cannot ask for confirmation without a terminal; run: leadline runs delete --yes {names}")
    for path in found:
        run = run_info(path)
        say(f"{run.id}  {run.status}  {one_line(run.metadata.question) if run.metadata else ''}")
    sys.stderr.write(f"Delete {'this run' if len(found) == 1 else f'these {len(found)} runs'}? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _known(args: argparse.Namespace) -> RunInfo:
    run = run_info(find_run(client_of(args).runs_folder(), args.run))
    if run.metadata is None:
        raise LeadlineError(
            f"the metadata of {near(run.folder)} cannot be read; `leadline resume {run.id}` restores it"
        )
    return run
