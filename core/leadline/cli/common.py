"""The options that commands share. Clients are imported where they are used: looking at runs needs none."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from leadline.display import choose_from, one_line, visible
from leadline.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from leadline.client import Client
    from leadline.permits import Permits


class _SafeFormatter(logging.Formatter):
    """Formats warnings on one line and without control characters: names of files and pages may contain them."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the method of the base class
        return one_line(super().formatMessage(record))

    def format(self, record: logging.LogRecord) -> str:
        return visible(super().format(record))


def client_of(
    args: argparse.Namespace,
    pipeline: str = "",
    set: Sequence[str] = (),  # noqa: A002
    permits: Permits | None = None,
) -> Client:
    """Return the client for the options of a command, possibly with another pipeline, and with weaker settings."""
    from leadline.client import Client

    if logging.lastResort:  # the handler of warnings where the program sets up none
        logging.lastResort.setFormatter(_SafeFormatter())
    client = Client(
        docs=getattr(args, "docs", ()),
        settings=args.settings,
        set=[*set, *args.set],
        pipeline=pipeline or getattr(args, "pipeline", ""),
        formats=[name.strip() for text in getattr(args, "format", ()) for name in text.split(",")],
        folder=getattr(args, "folder", None),
        permits=permits,
    )
    named = [*getattr(args, "paths", ()), getattr(args, "file", ""), getattr(args, "sources", "")]
    client.reads = [str(path) for path in named if path]
    return client


def folder_of(args: argparse.Namespace) -> Path:
    """Return the folder of the runs for the options of a command, without loading a plugin."""
    from leadline._settings.runs_folder import runs_folder

    return runs_folder(arguments=arguments_of(args), sets=args.set, file=file_of(args))


def arguments_of(args: argparse.Namespace) -> dict[str, str]:
    """Return the settings of runs that the options of a command are."""
    return {"runs.folder": args.folder} if getattr(args, "folder", None) else {}


def file_of(args: argparse.Namespace) -> Path | None:
    """Return the settings file that the options of a command name."""
    return Path(args.settings) if args.settings else None


def pairs(texts: Sequence[str], option: str) -> dict[str, str]:
    """Parse `KEY=VALUE` options. Raises `UsageError`."""
    found = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not key or not equals:
            raise UsageError(f"{option} {text!r}: write KEY=VALUE, such as {option} ticket=42")
        found[key.strip()] = value.strip()
    return found


def unknown_pipeline(name: str, known: Iterable[str]) -> ConfigError:
    """Return the error for a pipeline that does not exist, as for the setting `pipeline`."""
    return ConfigError(f"pipeline: there is no pipeline {name!r}: {choose_from(name, known)}")


def near(path: Path) -> str:
    """Return a path relative to the working folder if it is below it."""
    try:
        here = Path.cwd()
    except OSError:  # deleted while the run went on
        return str(path)
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def interactive() -> bool:
    """Return whether a user at the terminal can answer questions."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def confirmed(runs: Sequence[Path], action: str, command: str) -> bool:
    """Show runs and ask whether to delete or forget them. Raises `UsageError` with the command where nobody can say."""
    if not interactive():
        raise UsageError(f"cannot ask for confirmation without a terminal; run: {command}")
    from leadline._runtime.runs.folder import run_info
    from leadline.cli.terminal import say

    for path in runs:
        run = run_info(path)
        say(f"{run.id}  {run.status}  {one_line(run.metadata.question) if run.metadata else ''}")
    return agrees(f"{action} {'this run' if len(runs) == 1 else f'these {len(runs)} runs'}?")


def agrees(question: str) -> bool:
    """Return whether the user at the terminal answers a question with yes."""
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
