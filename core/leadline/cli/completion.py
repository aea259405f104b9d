"""`leadline completion SHELL`: complete commands, options, runs and settings in a shell, by argcomplete."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import argcomplete
from argcomplete.completers import FilesCompleter

from leadline.cli.commands import command_line
from leadline.commands.output import write
from leadline.display import one_line

# Runs to offer, the newest.
_RUNS = 50


def run(args: argparse.Namespace) -> int:
    """Print the script of a shell."""
    write(argcomplete.shellcode(["leadline"], shell=args.shell).strip())
    return 0


def complete() -> None:
    """Print the choices for the command line in the variables of argcomplete, and exit."""
    words = os.environ["COMP_LINE"].split()
    parser = command_line(next(iter(words[1:]), ""))
    argcomplete.autocomplete(parser, always_complete_options=False, default_completer=_values)


def _values(action: argparse.Action, parsed_args: argparse.Namespace, **others: Any) -> Iterable[str]:
    """Return the values of an argument, as a rule with their descriptions; files where any text may be given."""
    if action.metavar == "RUN":
        return _runs(parsed_args)
    return _setting_names() if action.dest == "set" else FilesCompleter()(**others)


def _runs(args: argparse.Namespace) -> Mapping[str, str]:
    from leadline._runtime.runs.index import RunIndex
    from leadline.commands import folder_of
    from leadline.errors import LeadlineError

    with suppress(LeadlineError):  # wrong settings: the command itself reports them
        return {one_line(run.id): one_line(run.question) for run in RunIndex(folder_of(args)).runs(limit=_RUNS)}
    return {}


def _setting_names() -> Mapping[str, str]:
    from leadline._settings.schema import model_of
    from leadline.settings import Settings

    names = {}
    for name, field in Settings.model_fields.items():
        table = model_of(field.annotation)
        inner = {f"{name}.{key}": item for key, item in table.model_fields.items()} if table else {name: field}
        names |= {f"{key}=": item.description or "" for key, item in inner.items()}
    return names
