"""The arguments that commands share."""

from __future__ import annotations

from typing import Any

from leadline.cli.parser import Parser


def add_command(commands: Any, name: str, text: str, module: str = "", function: str = "run") -> Parser:
    """Add a command; a function of a module of this package runs it."""
    parser: Parser = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
    parser.set_defaults(module=module or name, function=function)
    return parser


def add_group(commands: Any, name: str, text: str) -> Any:
    """Add a command with subcommands."""
    parser = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
    return parser.add_subparsers(title="commands", metavar="command", required=True)


def settings_options(parser: Parser) -> None:
    parser.add_argument("--settings", metavar="FILE", help="settings file (default: leadline.toml)")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="override a setting, such as search.strategy=race",
    )


def json_option(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def folder_option(parser: Parser, default: str | None = None) -> None:
    parser.add_argument("--folder", metavar="DIR", default=default, help="folder of the runs (default: runs)")


def docs_option(parser: Parser) -> None:
    parser.add_argument(
        "--docs",
        action="append",
        default=[],
        metavar="DIR",
        help="folder of documents to search, alone unless search.engines is set (repeatable)",
    )


RUN = "id of the run, the beginning of the id, or its folder"


# The statuses of `leadline._runtime.runs.state`, and those of folders without a readable state.
STATUSES = (
    *("pending", "running", "waiting", "complete", "partial", "no_evidence", "failed", "cancelled"),
    *("interrupted", "unreadable"),
)


def run_options(parser: Parser, run: str = "", *, json: bool = True, several: bool = False) -> None:
    if run:
        parser.add_argument("run", metavar=run, nargs="+" if several else None, help=RUN)
    folder_option(parser)
    settings_options(parser)
    if json:
        json_option(parser)


def question_argument(parser: Parser) -> None:
    parser.add_argument("question", nargs="*", metavar="QUESTION", help="question; - reads it from standard input")


def quiet_option(parser: Parser) -> None:
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress")


def run_environment(parser: Parser) -> None:
    """Add the options of a process that makes runs for others."""
    docs_option(parser)
    parser.add_argument("--pipeline", default="", metavar="NAME", help="pipeline to run (default: research)")
    folder_option(parser)
    settings_options(parser)
