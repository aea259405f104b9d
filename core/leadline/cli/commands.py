"""The commands of the command line: those of the core with their arguments, and those that plugins bring.

Only the arguments of the command that is called are built. The installed plugins are looked at for the help, and for a
command that is none of the core.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from leadline import __version__
from leadline.commands import (
    RUN,
    add_command,
    add_group,
    cache_option,
    count,
    docs_option,
    folder_option,
    pipeline_option,
    question_argument,
    quiet_option,
    repeatable,
    run_options,
    settings_options,
)
from leadline.commands.output import write
from leadline.display import choose_from, nearest
from leadline.errors import UsageError


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Lists subcommands without the line for their metavariable, which argparse prints above them."""

    def _format_action(self, action: argparse.Action) -> str:
        if isinstance(action, argparse._SubParsersAction):
            return "".join(map(super()._format_action, action._get_subactions()))
        return super()._format_action(action)


class Parser(argparse.ArgumentParser):
    """A parser that raises `UsageError` for every error."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", HelpFormatter)
        super().__init__(allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        """Raise `UsageError`."""
        word = message.partition("unrecognized arguments: ")[2].split(" ")[0]
        options = re.findall(r"--[a-z][a-z-]*", self.format_usage())
        near = nearest(word, options) if word.startswith("--") else ""
        hint = f" (did you mean {near!r}?)" if near else ""
        raise UsageError(f"{message}{hint}; see `{self.prog} --help`")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse; report unknown arguments with the usage of the command that received them."""
        parsed, extra = super().parse_known_args(args, namespace)
        if extra:
            self.error(f"unrecognized arguments: {' '.join(extra)}")
        return parsed, extra

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            name = action.metavar or action.dest
            raise UsageError(f"no such {name}: {value!r}; {choose_from(str(value), map(str, action.choices))}")


# The statuses of `leadline.runs.Status`, and those of folders without a readable state.
STATUSES = (
    *("pending", "running", "waiting", "complete", "partial", "no_evidence", "failed", "cancelled"),
    *("interrupted", "unreadable"),
)


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Parse a command line into the options of a command and `command`, which runs it. Raises `UsageError`."""
    parser = command_line(next(iter(argv), ""))
    args = parser.parse_args(_with_list(parser, argv))
    if not hasattr(args, "command"):
        parser.print_help(sys.stderr)
        raise UsageError('no command given; for example: leadline research "How does …?"')
    return args


def _with_list(parser: Parser, argv: Sequence[str]) -> Sequence[str]:
    """Insert the subcommand `list` if it was omitted."""
    command, following = next(iter(argv), ""), next(iter(argv[1:]), "-")
    if following.startswith("-") and following not in ("-h", "--help"):
        chosen = subcommands(parser).choices.get(command)
        group = subcommands(chosen) if chosen else None
        if group and group.required and "list" in group.choices:
            return [command, "list", *argv[1:]]
    return argv


def subcommands(parser: argparse.ArgumentParser) -> Any:
    """Return the action of argparse that has the subcommands of a parser as `choices`; None if it has none."""
    return next((action for action in parser._actions if isinstance(action, argparse._SubParsersAction)), None)


_EXAMPLES = """examples:
  leadline ask "Who wrote The Old Man and the Sea?"
  leadline research "How does Python look up attributes?" --docs papers/
  leadline explain --docs papers/         show the plan and the estimated cost of a run
  leadline runs list                      list earlier runs
  leadline doctor                         check the installation and the settings

exit codes:
  0 complete   1 failed   2 needs clarification   3 rejected by audit or verify   4 partial   5 no evidence
  64 usage error   75 another process works on the run: try later   78 settings error   130 interrupted
"""


def command_line(name: str) -> Parser:
    """Return the parser of the command line, with the arguments of one command."""
    parser = Parser(
        prog="leadline",
        description="Deep research with citations that are checked against the cited passages.",
        epilog=_EXAMPLES,
    )
    parser.add_argument("--version", action="version", version=f"leadline {__version__}")
    parser.set_defaults(owner="")
    commands = add_group(parser, required=False)
    for own, (text, arguments) in _COMMANDS.items():
        command = add_command(commands, own, text)
        if own == name:
            arguments(command)
    if name not in _COMMANDS:
        _add_installed(commands, name)
    return parser


def _add_installed(commands: Any, name: str) -> None:
    """Add the commands of plugins, with the arguments of one. Raises `PluginError` if that cannot be loaded."""
    from leadline._hosting.commands import installed_commands

    for command in installed_commands():
        if command.name in _COMMANDS:
            continue
        parser = add_command(commands, command.name, command.summary())
        if command.name == name:
            loaded = command.load()
            loaded.arguments(parser)
            parser.set_defaults(owner=str(command))
            if run := getattr(loaded, "run", None):
                parser.set_defaults(command=run)


def _question(pipeline: str = "") -> Callable[[argparse.ArgumentParser], None]:
    """Return a function that adds the arguments of a command that answers a question by a pipeline."""

    def add(parser: argparse.ArgumentParser) -> None:
        parser.set_defaults(command="research")
        question_argument(parser)
        _run_choices(parser, pipeline)
        follows = "continue this run, or the last one, with a follow-up question"
        parser.add_argument("--continue", dest="follows", nargs="?", const="", metavar="RUN", help=follows)
        repeatable(parser, "--tag", "KEY=VALUE", "label stored with the run (repeatable)")
        quiet_option(parser)
        if not pipeline:
            parser.epilog = _BRIEF

    return add


_BRIEF = """\
Without a language model the report is a brief: the passages that match the question best,
whole and word for word. Nobody has judged whether they answer; the brief names the words of
the question that none of them has."""


def _run_choices(parser: argparse.ArgumentParser, pipeline: str = "") -> None:
    """Add the options that determine how a question is answered; `pipeline` is the default."""
    docs_option(parser)
    pipeline_option(parser, pipeline)
    repeatable(parser, "--format", "NAME", "format of the report, such as markdown (repeatable)")
    cache_option(parser)
    folder_option(parser)
    settings_options(parser, json=True)


def _resume(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command="research:resume")
    offline = "replay a finished run without network and print its report; writes nothing"
    parser.add_argument("--retry-failed", action="store_true", help="retry the calls that failed")
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument("--offline", action="store_true", help=offline)
    ways.add_argument("--answer", metavar="TEXT", help="answer the question for which the run waits")
    ways.add_argument("--no-answer", action="store_true", help="go on without answering it")
    docs_option(parser)
    cache_option(parser)
    run_options(parser, "RUN")
    quiet_option(parser)


def _explain(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command="research:explain")
    parser.add_argument("question", nargs="*", metavar="QUESTION", help="question to estimate for; no search is made")
    _run_choices(parser)


def _runs(parser: argparse.ArgumentParser) -> None:
    group = add_group(parser)
    listing = add_command(group, "list", "list runs, newest first", "runs:list_")
    listing.add_argument("--limit", type=count, metavar="N", help="list at most N runs")
    search = add_command(group, "search", "search the questions, tags and reports of runs", "runs:search")
    words = "words that must all occur; quote a phrase twice: '\"exact words\"'"
    search.add_argument("text", nargs="+", metavar="TEXT", help=words)
    search.add_argument("--limit", type=count, default=20, metavar="N", help="list at most N runs (default: 20)")
    for parser in (listing, search):
        parser.add_argument("--status", metavar="STATUS", help="list only runs with this status", choices=STATUSES)
        run_options(parser)
    run_options(add_command(group, "show", "show the outcome of a run", "runs:show"), "RUN")
    parser = add_command(group, "open", "open the report of a run and print its path", "runs:open_")
    run_options(parser, "RUN", json=False)
    parser = add_command(group, "delete", "delete runs with all their files", "runs:delete")
    parser.add_argument("run", metavar="RUN", nargs="*", help=RUN)
    run_options(parser, json=False)
    parser.add_argument("--older-than", metavar="TIME", help="delete the runs of all users that ended so long ago: 30d")
    parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")


def _pipelines(parser: argparse.ArgumentParser) -> None:
    group = add_group(parser)
    settings_options(add_command(group, "list", "list the pipelines with what they do", "pipelines:list_"), json=True)
    parser = add_command(group, "show", "show a pipeline as settings, with what each stage does", "pipelines:show")
    parser.add_argument("name", metavar="NAME", help="name of the pipeline")
    settings_options(parser, json=True)
    parser = add_command(group, "new", "write a commented pipeline into the settings file", "pipelines:new")
    parser.add_argument("name", metavar="NAME", help="name of the new pipeline")
    parser.add_argument("--extends", default="", metavar="NAME", help="pipeline that it changes (default: none)")
    settings_options(parser)


def _plugins(parser: argparse.ArgumentParser) -> None:
    group = add_group(parser)
    columns = "list the plugins: kind, distribution, status, missing requirements"
    parser = add_command(group, "list", columns, "plugins:list_")
    parser.add_argument("--kind", metavar="KIND", help="list only plugins of this kind, such as search_providers")
    settings_options(parser, json=True)
    for name in ("install", "update", "remove"):
        parser = add_command(group, name, f"{name} packages of plugins, or extras, beside Leadline", "plugins:change")
        parser.add_argument("packages", metavar="PACKAGE", nargs="+", help="name, address or folder of a package")
        parser.set_defaults(verb=name)
    parser = add_command(group, "show", "show the offers and the settings of a plugin", "plugins:show")
    parser.add_argument("name", metavar="NAME", help="name of the plugin")
    settings_options(parser, json=True)
    parser = add_command(group, "new", "write a plugin of a kind, from its example", "plugins:new")
    parser.add_argument("kind", metavar="KIND", help="kind, such as search_provider; see `leadline plugins list`")
    parser.add_argument("name", metavar="NAME", help="name of the new plugin, such as acme_wiki")
    project = "write a project: pyproject, module, contract test, README, CI"
    parser.add_argument("--project", action="store_true", help=project)
    parser = add_command(group, "check", "run the contract tests of a plugin", "plugins:check")
    parser.add_argument("name", metavar="NAME", help="name of the plugin, or its file")
    parser.add_argument("--live", action="store_true", help="also make real calls, with the settings of the plugin")
    settings_options(parser)


def _prompts(parser: argparse.ArgumentParser) -> None:
    group = add_group(parser)
    columns = "list the tasks with their plugins and the origin of their templates"
    settings_options(add_command(group, "list", columns, "prompts:list_"), json=True)
    parser = add_command(group, "show", "show the full text of one prompt, or of all", "prompts:show")
    task = "name of a task, as in `leadline prompts list` (default: all)"
    parser.add_argument("name", metavar="TASK", nargs="?", default="", help=task)
    settings_options(parser, json=True)


def _config(parser: argparse.ArgumentParser) -> None:
    group = add_group(parser)
    for name, text in (("show", "show every setting and its origin"), ("check", "report all errors in the settings")):
        parser = add_command(group, name, text, f"config:{name}")
        docs_option(parser)
        settings_options(parser, json=name == "show")
    parser = add_command(group, "init", "write a commented settings file", "config:init")
    path = "file to write (default: leadline.toml)"
    parser.add_argument("path", nargs="?", default="leadline.toml", metavar="PATH", help=path)
    parser.add_argument("--force", action="store_true", help="overwrite an existing file")


def _doctor(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command="doctor")
    server = "check a running server instead, with the token in LEADLINE_TOKEN"
    parser.add_argument("--server", default="", metavar="URL", help=server)
    docs_option(parser)
    run_options(parser)


def _trust(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command="config:trust_folder")
    pipeline_option(parser)
    settings_options(parser)


_SHELLS = """\
for this session: eval "$(leadline completion bash)"; to keep it, write the script to
  ~/.local/share/bash-completion/completions/leadline, a file _leadline in a folder of $fpath (zsh),
  or ~/.config/fish/completions/leadline.fish"""


def _completion(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command="completion")
    parser.epilog = _SHELLS
    parser.add_argument("shell", metavar="SHELL", choices=("bash", "zsh", "fish"), help="bash, zsh or fish")


def _version(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(command=lambda args: write(f"leadline {__version__}"))


# The name of each command, its help, and what adds its arguments.
_COMMANDS: dict[str, tuple[str, Callable[[argparse.ArgumentParser], None]]] = {
    "ask": ("answer a question by the pipeline that fits it", _question("auto")),
    "research": ("answer a question with a report", _question()),
    "search": ("answer a question quickly, with citations", _question("search")),
    "chat": ("answer a question by the model alone", _question("chat")),
    "think": ("think a question through, and answer it", _question("thinking")),
    "code": ("write a program for a request, and run it", _question("code")),
    "resume": ("resume a run without repeating completed calls", _resume),
    "runs": ("list, search, show, open and delete runs", _runs),
    "explain": ("show what a run would do and cost, without running it", _explain),
    "pipelines": ("list, show and write pipelines", _pipelines),
    "plugins": ("list, show, install and remove plugins", _plugins),
    "prompts": ("list and show the prompts that language models receive", _prompts),
    "config": ("show, check and write settings", _config),
    "doctor": ("check the installation and the settings, and suggest next steps", _doctor),
    "trust": ("trust the programs, paths and addresses that this folder's settings name", _trust),
    "completion": ("print the script that completes commands in a shell", _completion),
    "version": ("print the version", _version),
}
