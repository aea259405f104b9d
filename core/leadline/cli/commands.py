"""The commands of the command line, with their arguments. Each names the module and the function that run it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from leadline import __version__
from leadline.cli.arguments import add_command, add_group, docs_option, folder_option, json_option, settings_options
from leadline.cli.knowledge_arguments import add_knowledge
from leadline.cli.parser import Parser
from leadline.cli.run_arguments import (
    add_compare,
    add_explain,
    add_memory,
    add_questions,
    add_resume,
    add_runs,
    add_verify,
)
from leadline.cli.service_arguments import add_mcp, add_serve, add_worker
from leadline.errors import UsageError

# Groups whose command `list` may be omitted.
_GROUPS_WITH_LIST = ("knowledge", "memory", "pipelines", "plugins", "prompts", "runs")


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Parse a command line into `module` and `function` of the command, and its options. Raises `UsageError`."""
    parser = command_line()
    args = parser.parse_args(_with_list(argv))
    if not hasattr(args, "module"):
        parser.print_help(sys.stderr)
        raise UsageError('no command given; for example: leadline research "How does …?"')
    return args


def _with_list(argv: Sequence[str]) -> Sequence[str]:
    """Insert the command `list` if it was omitted."""
    command, following = next(iter(argv), ""), next(iter(argv[1:]), "-")
    if command in _GROUPS_WITH_LIST and following.startswith("-") and following not in ("-h", "--help"):
        return [command, "list", *argv[1:]]
    return argv


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


def command_line() -> Parser:
    """Return the parser of the whole command line."""
    parser = Parser(
        prog="leadline",
        description="Deep research with citations that are checked against the cited passages.",
        epilog=_EXAMPLES,
    )
    parser.add_argument("--version", action="version", version=f"leadline {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="command")
    for add in (
        add_questions,
        add_resume,
        add_knowledge,
        add_explain,
        add_compare,
        add_verify,
        add_runs,
        add_memory,
        add_serve,
        add_worker,
        add_mcp,
        _pipelines,
        _plugins,
        _prompts,
        _config,
        _doctor,
        _trust,
        _completion,
        _version,
    ):
        add(commands)
    return parser


def _pipelines(commands: Any) -> None:
    group = add_group(commands, "pipelines", "list, show and write pipelines")
    parser = add_command(group, "list", "list the pipelines with what they do", "pipelines", "list_")
    settings_options(parser)
    json_option(parser)
    parser = add_command(group, "show", "show a pipeline as settings, with what each stage does", "pipelines", "show")
    parser.add_argument("name", metavar="NAME", help="name of the pipeline")
    settings_options(parser)
    json_option(parser)
    parser = add_command(group, "new", "write a commented pipeline into the settings file", "pipelines", "new")
    parser.add_argument("name", metavar="NAME", help="name of the new pipeline")
    parser.add_argument("--extends", default="", metavar="NAME", help="pipeline that it changes (default: none)")
    settings_options(parser)


def _plugins(commands: Any) -> None:
    group = add_group(commands, "plugins", "list and show the installed plugins")
    parser = add_command(
        group, "list", "list the plugins: kind, distribution, status, missing requirements", "plugins", "list_"
    )
    parser.add_argument("--kind", metavar="KIND", help="list only plugins of this kind, such as search_providers")
    settings_options(parser)
    json_option(parser)
    parser = add_command(group, "show", "show the offers and the settings of a plugin", "plugins", "show")
    parser.add_argument("name", metavar="NAME", help="name of the plugin")
    settings_options(parser)
    json_option(parser)


def _prompts(commands: Any) -> None:
    group = add_group(commands, "prompts", "list and show the prompts that language models receive")
    parser = add_command(
        group, "list", "list the tasks with their plugins and the origin of their templates", "prompts", "list_"
    )
    settings_options(parser)
    json_option(parser)
    parser = add_command(group, "show", "show the full text of one prompt, or of all", "prompts", "show")
    parser.add_argument(
        "name",
        metavar="TASK",
        nargs="?",
        default="",
        help="name of a task, as in `leadline prompts list` (default: all)",
    )
    settings_options(parser)
    json_option(parser)


def _config(commands: Any) -> None:
    group = add_group(commands, "config", "show, check and write settings")
    parser = add_command(group, "show", "show every setting and its origin", "config", "show")
    docs_option(parser)
    settings_options(parser)
    json_option(parser)
    parser = add_command(group, "check", "report all errors in the settings", "config", "check")
    docs_option(parser)
    settings_options(parser)
    parser = add_command(group, "init", "write a commented settings file", "config", "init")
    parser.add_argument(
        "path", nargs="?", default="leadline.toml", metavar="PATH", help="file to write (default: leadline.toml)"
    )
    parser.add_argument("--force", action="store_true", help="overwrite an existing file")


def _doctor(commands: Any) -> None:
    parser = add_command(commands, "doctor", "check the installation and the settings, and suggest next steps")
    docs_option(parser)
    folder_option(parser)
    settings_options(parser)
    json_option(parser)


def _trust(commands: Any) -> None:
    parser = add_command(commands, "trust", "trust the programs, paths and addresses that this folder's settings name")
    parser.add_argument("--pipeline", default="", metavar="NAME", help="pipeline to run (default: research)")
    settings_options(parser)


def _completion(commands: Any) -> None:
    parser = add_command(commands, "completion", "print the script that completes commands in a shell")
    parser.epilog = 'for this session: eval "$(leadline completion bash)"; the scripts say how to keep it'
    parser.add_argument("shell", metavar="SHELL", choices=("bash", "zsh", "fish"), help="bash, zsh or fish")
    parser.add_argument("words", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)


def _version(commands: Any) -> None:
    add_command(commands, "version", "print the version", "doctor", "version")
