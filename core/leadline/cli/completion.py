"""`leadline completion SHELL`: complete commands, options, runs and settings in a shell, by argcomplete."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from argcomplete import autocomplete
from argcomplete.completers import BaseCompleter, FilesCompleter
from argcomplete.shell_integration import shellcode

from leadline.cli.commands import command_line
from leadline.commands.output import write
from leadline.display import one_line

# Runs to offer, the newest.
_RUNS = 50


def run(args: argparse.Namespace) -> int:
    """Print the script of a shell."""
    write(shellcode(["leadline"], shell=args.shell).strip())
    return 0


def complete() -> None:
    """Print the choices for the command line in the variables of argcomplete, and exit."""
    words = os.environ["COMP_LINE"].split()
    parser = command_line(next(iter(words[1:]), ""))
    autocomplete(parser, always_complete_options=False, default_completer=Values())


class Values(BaseCompleter):
    """Returns the values of an argument, as a rule with their descriptions; files where any text may be given."""

    def __call__(self, *, action: argparse.Action, parsed_args: argparse.Namespace, **others: Any) -> Iterable[str]:
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
    from leadline._settings.schema import fields_of, model_of
    from leadline.settings import Settings

    fields = (item for item in fields_of(Settings) if not model_of(item[1].annotation))
    return {f"{'.'.join(path)}=": field.description or "" for path, field in fields}
