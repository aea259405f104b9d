"""The commands and their options, as `--help` lists them."""

from __future__ import annotations

from typing import Any

from leadline import __version__
from leadline.cli.parser import Parser, count

_EXAMPLES = """examples:
  leadline research "How does Python look up attributes?" --docs papers/
  leadline explain --docs papers/         what a run would do, before anything is paid for
  leadline runs list                      the runs so far
  leadline doctor                         what works here, and what to do about the rest

exit codes:
  0 complete   1 failed   2 needs clarification   3 the audit decided against   4 partial   5 no evidence
  64 usage error   78 settings error   130 interrupted
"""


def command_line() -> Parser:
    """Return the parser of the whole command line."""
    parser = Parser(
        prog="leadline",
        description="Deep research whose every citation is checked against the passage it cites.",
        epilog=_EXAMPLES,
    )
    parser.add_argument("--version", action="version", version=f"leadline {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="command")
    for add in (_research, _resume, _explain, _verify, _runs, _plugins, _prompts, _config, _doctor, _version):
        add(commands)
    return parser


def _command(commands: Any, name: str, text: str, module: str = "", function: str = "run") -> Parser:
    """Add a command that is run by a function of a module of this package."""
    parser: Parser = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
    parser.set_defaults(module=module or name, function=function)
    return parser


def _group(commands: Any, name: str, text: str) -> Any:
    """Add a command that has commands of its own."""
    parser = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
    return parser.add_subparsers(title="commands", metavar="command", required=True)


def _settings(parser: Parser) -> None:
    parser.add_argument("--settings", metavar="FILE", help="the settings file (default: leadline.toml)")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="one setting, such as search.strategy=race"
    )


def _json(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")


def _folder(parser: Parser) -> None:
    parser.add_argument("--folder", metavar="DIR", help="where runs are kept (default: runs)")


def _docs(parser: Parser) -> None:
    parser.add_argument(
        "--docs", action="append", default=[], metavar="DIR", help="a folder whose documents are searched first"
    )


def _what(parser: Parser) -> None:
    """Add what chooses how a question is answered."""
    _docs(parser)
    parser.add_argument("--pipeline", default="", metavar="NAME", help="the pipeline (default: research)")
    parser.add_argument(
        "--format", action="append", default=[], metavar="NAME", help="a format of the report, such as markdown"
    )
    _folder(parser)
    _settings(parser)
    _json(parser)


def _research(commands: Any) -> None:
    parser = _command(commands, "research", "answer a question with a report")
    parser.add_argument("question", nargs="*", metavar="QUESTION", help="the question; - reads it from standard input")
    _what(parser)
    parser.add_argument("--tag", action="append", default=[], metavar="KEY=VALUE", help="kept with the run")
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress")


def _resume(commands: Any) -> None:
    parser = _command(commands, "resume", "resume a run without repeating completed calls")
    parser.add_argument("run", metavar="RUN", help="its id, the beginning of it, or its folder")
    parser.add_argument("--retry-failed", action="store_true", help="try every call again that had failed")
    parser.add_argument(
        "--offline", action="store_true", help="replay a finished run: no network, nothing written; prints its report"
    )
    _docs(parser)
    _folder(parser)
    _settings(parser)
    _json(parser)
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress")


def _explain(commands: Any) -> None:
    parser = _command(commands, "explain", "show what a run would do, before anything is paid for")
    parser.add_argument("question", nargs="*", metavar="QUESTION", help="the question, checked and not asked")
    _what(parser)


def _verify(commands: Any) -> None:
    parser = _command(
        commands, "verify", "check the citations of a run's report, or of any Markdown file, against the sources"
    )
    parser.add_argument("file", metavar="FILE", help="the report, or a run: its folder or id; - reads standard input")
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--sources",
        metavar="DIR",
        help="the sources as files: 1.pdf, 2.html, or named as their titles; or a run's folder",
    )
    where.add_argument("--fetch", action="store_true", help="fetch the sources from their addresses")
    _settings(parser)
    _json(parser)


def _runs(commands: Any) -> None:
    group = _group(commands, "runs", "list, show, open and delete runs")
    parser = _command(group, "list", "list the runs, the newest first", "runs", "list_")
    parser.add_argument("--status", metavar="STATUS", help="only those of this status", choices=STATUSES)
    parser.add_argument("--limit", type=count, metavar="N", help="at most so many")
    _run_options(parser)
    parser = _command(group, "show", "show how a run went", "runs", "show")
    _run_options(parser, "RUN")
    parser = _command(group, "open", "open the report of a run, or print where it is", "runs", "open_")
    _run_options(parser, "RUN", json=False)
    parser = _command(group, "delete", "delete runs with all they wrote", "runs", "delete")
    _run_options(parser, "RUN", json=False, several=True)
    parser.add_argument("--yes", action="store_true", help="do not ask")


STATUSES = (
    *("pending", "running", "waiting", "complete", "partial", "no_evidence", "failed", "cancelled"),
    *("interrupted", "unreadable"),
)
"""Those of `leadline.runs.state`, and what a folder on disk may be besides."""


def _run_options(parser: Parser, run: str = "", *, json: bool = True, several: bool = False) -> None:
    if run:
        told = "its id, the beginning of it, or its folder"
        parser.add_argument("run", metavar=run, nargs="+" if several else None, help=told)
    _folder(parser)
    _settings(parser)
    if json:
        _json(parser)


def _plugins(commands: Any) -> None:
    group = _group(commands, "plugins", "list and show the installed plugins")
    parser = _command(
        group, "list", "list the plugins: kinds, distribution, version, what each lacks", "plugins", "list_"
    )
    parser.add_argument("--kind", metavar="KIND", help="only those of this kind, such as search_providers")
    _settings(parser)
    _json(parser)
    parser = _command(group, "show", "show a plugin: its offers and its settings", "plugins", "show")
    parser.add_argument("name", metavar="NAME")
    _settings(parser)
    _json(parser)


def _prompts(commands: Any) -> None:
    group = _group(commands, "prompts", "list and show what models are told, task by task")
    parser = _command(group, "list", "list the tasks: who asks each, and where its template is", "prompts", "list_")
    _settings(parser)
    _json(parser)
    parser = _command(group, "show", "show the full text of a prompt, or of all", "prompts", "show")
    parser.add_argument("name", metavar="TASK", nargs="?", default="", help="a task of `leadline prompts list`")
    _settings(parser)
    _json(parser)


def _config(commands: Any) -> None:
    group = _group(commands, "config", "show, check and write settings")
    parser = _command(group, "show", "show every setting, and where it comes from", "config", "show")
    _docs(parser)
    _settings(parser)
    _json(parser)
    parser = _command(group, "check", "say all that is wrong with the settings", "config", "check")
    _docs(parser)
    _settings(parser)
    parser = _command(group, "init", "write a commented settings file", "config", "init")
    parser.add_argument("path", nargs="?", default="leadline.toml", metavar="PATH", help="default: leadline.toml")
    parser.add_argument("--force", action="store_true", help="write over a file that is there")


def _doctor(commands: Any) -> None:
    parser = _command(commands, "doctor", "say what works here, what does not, and what to do")
    _docs(parser)
    _folder(parser)
    _settings(parser)
    _json(parser)


def _version(commands: Any) -> None:
    _command(commands, "version", "print the version")
