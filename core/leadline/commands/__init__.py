"""What commands of the command line share: options, the client for them, confirmation.

Packages bring commands as `docs/plugins/commands.md` shows. Nothing heavy is imported before it is needed: help, and
looking at runs, need no client.
"""

from __future__ import annotations

import errno
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Coroutine, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from leadline.commands.output import keep_warnings_visible, say
from leadline.display import choose_from, one_line
from leadline.errors import ConfigError, LeadlineError, UsageError

if TYPE_CHECKING:
    from leadline.client import Client
    from leadline.permits import Permits
    from leadline.runs import RunInfo
    from leadline.settings import Runs

T = TypeVar("T")


def add_command(
    commands: Any, name: str, text: str, run: Callable[[Namespace], int | None] | str | None = None
) -> ArgumentParser:
    """Add a command with its help to the result of `add_group`, and return its parser."""
    parser: ArgumentParser = commands.add_parser(name, help=text, description=f"{text[:1].upper()}{text[1:]}.")
    if run is not None:
        parser.set_defaults(command=run)
    return parser


def add_group(parser: ArgumentParser, *, required: bool = True) -> Any:
    """Let a command have subcommands, and return what `add_command` adds them to."""
    return parser.add_subparsers(title="commands", metavar="command", required=required)


# --- options ---------------------------------------------------------------------------------------------------------

RUN = "id of the run, the beginning of the id, or its folder"


def repeatable(parser: ArgumentParser, option: str, metavar: str, text: str) -> None:
    """Add an option whose values are a list."""
    parser.add_argument(option, action="append", default=[], metavar=metavar, help=text)


def settings_options(parser: ArgumentParser, *, json: bool = False) -> None:
    parser.add_argument("--settings", metavar="FILE", help="settings file (default: leadline.toml)")
    repeatable(parser, "--set", "KEY=VALUE", "override a setting, such as search.strategy=race")
    parser.add_argument("--env", metavar="NAME", help="environment: a table [environments.NAME] of the settings")
    if json:
        json_option(parser)


def json_option(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def folder_option(parser: ArgumentParser, default: str | None = None) -> None:
    parser.add_argument("--folder", metavar="DIR", default=default, help="folder of the runs (default: runs)")


def docs_option(parser: ArgumentParser) -> None:
    text = "folder of documents to search, alone unless search.engines is set (repeatable)"
    repeatable(parser, "--docs", "DIR", text)


def pipeline_option(parser: ArgumentParser, default: str = "") -> None:
    text = f"pipeline to run (default: {default or 'research'}); see `leadline pipelines`"
    parser.add_argument("--pipeline", default=default, metavar="NAME", help=text)


def cache_option(parser: ArgumentParser) -> None:
    parser.add_argument("--no-cache", action="store_true", help="use no replies of earlier runs, and keep none")


def run_options(parser: ArgumentParser, run: str = "", *, json: bool = True) -> None:
    if run:
        parser.add_argument("run", metavar=run, help=RUN)
    folder_option(parser)
    settings_options(parser, json=json)


def question_argument(parser: ArgumentParser) -> None:
    parser.add_argument("question", nargs="*", metavar="QUESTION", help="question; - reads it from standard input")


def quiet_option(parser: ArgumentParser) -> None:
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress")


def run_environment(parser: ArgumentParser) -> None:
    """Add the options of a process that makes runs for others."""
    docs_option(parser)
    pipeline_option(parser)
    folder_option(parser)
    settings_options(parser)


def count(text: str) -> int:
    """Parse a positive number. Raises `ArgumentTypeError`."""
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is not a positive number")
    return int(text)


def port(text: str) -> int:
    """Parse the number of a port. Raises `ArgumentTypeError`."""
    if not text.isdecimal() or int(text) > 65_535:
        raise ArgumentTypeError(f"{text!r} is not a port: 0 to 65535")
    return int(text)


# --- what the options choose -----------------------------------------------------------------------------------------


def client_of(
    args: Namespace,
    pipeline: str = "",
    set: Sequence[str] = (),  # noqa: A002
    permits: Permits | None = None,
) -> Client:
    """Return the client for the options of a command, possibly with another pipeline, and with weaker settings."""
    from leadline.client import Client

    keep_warnings_visible()
    anew = ["cache.enabled=false"] if getattr(args, "no_cache", False) else []
    client = Client(
        docs=getattr(args, "docs", ()),
        settings=args.settings,
        set=[*set, *anew, *args.set],
        pipeline=pipeline or getattr(args, "pipeline", ""),
        formats=[name.strip() for text in getattr(args, "format", ()) for name in text.split(",")],
        folder=getattr(args, "folder", None),
        permits=permits,
    )
    named = [*getattr(args, "paths", ()), getattr(args, "file", ""), getattr(args, "sources", "")]
    client.reads = [str(path) for path in named if path]
    return client


def folder_of(args: Namespace) -> Path:
    """Return the folder of the runs for the options of a command, without loading a plugin."""
    return runs_of(args).folder


def with_runs(command: Callable[[Namespace], int]) -> Callable[[Namespace], int]:
    """Let a command that needs no client read the runs of the store that the options choose, if they name one."""

    def run(args: Namespace) -> int:
        from leadline.stores import close_store, open_store

        if (store := open_store(runs_of(args))) is None:
            return command(args)
        try:
            return command(args)
        finally:
            close_store(store)

    return run


def database_url(args: Namespace) -> str:
    """Return the database of runs that the settings choose, which may have a password; empty for their folder."""
    return runs_of(args).database.get_secret_value()


def runs_of(args: Namespace) -> Runs:
    """Return the settings of runs for the options of a command, without loading a plugin."""
    from leadline._settings.defaults import runs_settings

    folder = getattr(args, "folder", None)
    arguments, file = {"runs.folder": folder} if folder else {}, Path(args.settings) if args.settings else None
    return runs_settings(arguments=arguments, sets=args.set, file=file)


def pairs(texts: Sequence[str], option: str) -> dict[str, str]:
    """Parse `KEY=VALUE` options. Raises `UsageError`."""
    values = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not key or not equals:
            raise UsageError(f"{option} {text!r}: write KEY=VALUE, such as {option} ticket=42")
        values[key.strip()] = value.strip()
    return values


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


def confirmed(runs: Sequence[RunInfo], action: str, command: str) -> bool:
    """Show runs and ask whether to delete or forget them. Raises `UsageError` with the command where nobody can say."""
    if not interactive():
        raise UsageError(f"cannot ask for confirmation without a terminal; run: {command}")
    for run in runs:
        say(f"{run.id}  {run.status}  {one_line(run.metadata.question) if run.metadata else ''}")
    return agrees(f"{action} {'this run' if len(runs) == 1 else f'these {len(runs)} runs'}?")


def agrees(question: str) -> bool:
    """Return whether the user at the terminal answers a question with yes."""
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def run_coroutine(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine, run as commands are: it ends within seconds after Ctrl-C."""
    from leadline._runtime import task_groups

    return task_groups.run_loop(work)


# --- too little memory ------------------------------------------------------------------------------------------------


# Bytes of address space below which runs fail at random: threads, the index of documents and worker processes reserve
# much more than they use. With 600 MB they fail, with 800 MB they do not (decision 6).
LEAST = 768 << 20
_ADVICE = "raise the limit, such as: ulimit -v unlimited"


def check_limit() -> None:
    """Raise `LeadlineError` if the limit of address space is too low for any run."""
    try:
        from resource import RLIM_INFINITY, RLIMIT_AS, getrlimit
    except ImportError:  # Windows
        return
    limit, _ = getrlimit(RLIMIT_AS)
    if limit != RLIM_INFINITY and limit < LEAST:
        raise LeadlineError(
            f"not enough address space: the limit is {limit >> 20} MB, and a run needs {LEAST >> 20} MB; {_ADVICE}"
        )


def exhaustion(error: BaseException) -> str:
    """Return the message for an error that too little memory caused; empty for another error."""
    if isinstance(error, BaseExceptionGroup):
        return next(filter(None, map(exhaustion, error.exceptions)), "")
    text = str(error)
    lacking = isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM)
    if lacking or (isinstance(error, RuntimeError) and text == "can't start new thread"):
        return f"not enough memory or too many threads ({text or 'MemoryError'}); free memory, or {_ADVICE}"
    return exhaustion(error.__cause__) if error.__cause__ else ""
