"""The commands of the command line, with their arguments. Each names the module and the function that run it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from leadline import __version__
from leadline.cli.knowledge_arguments import add_commands
from leadline.cli.parser import Parser, count, port
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
        _questions,
        _resume,
        _knowledge,
        _explain,
        _compare,
        _verify,
        _runs,
        _memory,
        _serve,
        _worker,
        _mcp,
        _pipelines,
        _plugins,
        _prompts,
        _config,
        _doctor,
        _completion,
        _version,
    ):
        add(commands)
    return parser


def _command(commands: Any, name: str, text: str, module: str = "", function: str = "run") -> Parser:
    """Add a command; a function of a module of this package runs it."""
    parser: Parser = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
    parser.set_defaults(module=module or name, function=function)
    return parser


def _group(commands: Any, name: str, text: str) -> Any:
    """Add a command with subcommands."""
    parser = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
    return parser.add_subparsers(title="commands", metavar="command", required=True)


def _settings(parser: Parser) -> None:
    parser.add_argument("--settings", metavar="FILE", help="settings file (default: leadline.toml)")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="override a setting, such as search.strategy=race",
    )


def _json(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def _folder(parser: Parser, default: str | None = None) -> None:
    parser.add_argument("--folder", metavar="DIR", default=default, help="folder of the runs (default: runs)")


def _docs(parser: Parser) -> None:
    parser.add_argument(
        "--docs", action="append", default=[], metavar="DIR", help="folder of documents to search first (repeatable)"
    )


def _run_choices(parser: Parser, pipeline: str = "") -> None:
    """Add the options that determine how a question is answered; `pipeline` is the default."""
    _docs(parser)
    parser.add_argument(
        "--pipeline",
        default=pipeline,
        metavar="NAME",
        help=f"pipeline to run (default: {pipeline or 'research'}); see `leadline pipelines`",
    )
    parser.add_argument(
        "--format",
        action="append",
        default=[],
        metavar="NAME",
        help="format of the report, such as markdown (repeatable)",
    )
    _folder(parser)
    _settings(parser)
    _json(parser)


def _continue(parser: Parser) -> None:
    parser.add_argument(
        "--continue",
        dest="follows",
        nargs="?",
        const="",
        metavar="RUN",
        help="continue this run, or the last one, with a follow-up question",
    )


# The commands that answer a question, and the pipeline of each; the names of pipelines are those of the settings.
_QUESTIONS = (
    ("ask", "auto", "answer a question by the pipeline that fits it"),
    ("research", "", "answer a question with a report"),
    ("search", "search", "answer a question quickly, with citations"),
    ("chat", "chat", "answer a question by the model alone"),
    ("think", "thinking", "think a question through, and answer it"),
    ("code", "code", "write a program for a request, and run it"),
)


def _questions(commands: Any) -> None:
    for name, pipeline, text in _QUESTIONS:
        _question(_command(commands, name, text, "research"), pipeline)


def _question(parser: Parser, pipeline: str) -> None:
    parser.add_argument("question", nargs="*", metavar="QUESTION", help="question; - reads it from standard input")
    _run_choices(parser, pipeline)
    _continue(parser)
    parser.add_argument(
        "--tag", action="append", default=[], metavar="KEY=VALUE", help="label stored with the run (repeatable)"
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress")
    parser.add_argument(
        "--queue",
        dest="enqueue",
        action="store_true",
        help="leave the run to the workers of the queue (setting runs.queue), and print its id",
    )
    parser.add_argument(
        "--priority", type=int, default=0, metavar="N", help="with --queue: runs of higher priority first (default: 0)"
    )


def _resume(commands: Any) -> None:
    parser = _command(commands, "resume", "resume a run without repeating completed calls", "research", "resume")
    parser.add_argument("run", metavar="RUN", help=_RUN)
    parser.add_argument("--retry-failed", action="store_true", help="retry the calls that failed")
    parser.add_argument(
        "--offline",
        action="store_true",
        help="replay a finished run without network and print its report; writes nothing",
    )
    _docs(parser)
    _folder(parser)
    _settings(parser)
    _json(parser)
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress")


def _knowledge(commands: Any) -> None:
    group = _group(commands, "knowledge", "add, list, remove, search and ask your own documents")
    add_commands(group, _command, (_settings, _json))


def _explain(commands: Any) -> None:
    parser = _command(commands, "explain", "show what a run would do and cost, without running it")
    parser.add_argument("question", nargs="*", metavar="QUESTION", help="question to estimate for; no search is made")
    _run_choices(parser)


def _compare(commands: Any) -> None:
    parser = _command(commands, "compare", "answer a question with two pipelines and compare what each takes and makes")
    parser.add_argument("question", nargs="*", metavar="QUESTION", help="question; - reads it from standard input")
    parser.add_argument("--pipelines", default="", metavar="A,B", help="the two pipelines, such as research,oneshot")
    _docs(parser)
    _folder(parser)
    _settings(parser)
    _json(parser)
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress")


def _verify(commands: Any) -> None:
    parser = _command(commands, "verify", "check the citations of a report against its sources")
    parser.add_argument(
        "file", metavar="FILE", help="a Markdown report, or the folder or id of a run; - reads standard input"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--sources",
        metavar="DIR",
        help="folder of the sources as files, named by number (1.pdf, 2.html) or title; or the folder of a run",
    )
    where.add_argument("--fetch", action="store_true", help="fetch the sources from the web")
    _folder(parser)
    _settings(parser)
    _json(parser)


def _runs(commands: Any) -> None:
    group = _group(commands, "runs", "list, search, show, open, compare and delete runs")
    parser = _command(group, "list", "list runs, newest first", "runs", "list_")
    parser.add_argument("--status", metavar="STATUS", help="list only runs with this status", choices=STATUSES)
    parser.add_argument("--limit", type=count, metavar="N", help="list at most N runs")
    _run_options(parser)
    parser = _command(group, "search", "search the questions, tags and reports of runs", "runs", "search")
    parser.add_argument(
        "text", nargs="+", metavar="TEXT", help="words that must all occur; quote a phrase twice: '\"exact words\"'"
    )
    parser.add_argument("--status", metavar="STATUS", help="list only runs with this status", choices=STATUSES)
    parser.add_argument("--limit", type=count, default=20, metavar="N", help="list at most N runs (default: 20)")
    _run_options(parser)
    parser = _command(group, "show", "show the outcome of a run", "runs", "show")
    _run_options(parser, "RUN")
    parser = _command(group, "open", "open the report of a run and print its path", "runs", "open_")
    _run_options(parser, "RUN", json=False)
    parser = _command(group, "compare", "compare the claims, verdicts and sources of two runs", "runs", "compare")
    for name in ("first", "second"):
        parser.add_argument(name, metavar="RUN", help=_RUN)
    _run_options(parser)
    parser = _command(group, "delete", "delete runs with all their files", "runs", "delete")
    _run_options(parser, "RUN", json=False, several=True)
    parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")


def _memory(commands: Any) -> None:
    group = _group(commands, "memory", "list and forget the runs that new questions remember (setting `memory`)")
    parser = _command(group, "list", "list the runs that new questions may remember", "follow_ups", "list_memory")
    _run_options(parser)
    parser = _command(
        group, "delete", "keep runs out of the memory; the runs themselves stay", "follow_ups", "delete_memory"
    )
    parser.add_argument("run", metavar="RUN", nargs="*", help=_RUN)
    parser.add_argument("--all", action="store_true", help="forget all runs")
    _run_options(parser, json=False)
    parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")


_RUN = "id of the run, the beginning of the id, or its folder"
# The statuses of `leadline._runtime.runs.state`, and those of folders without a readable state.
STATUSES = (
    *("pending", "running", "waiting", "complete", "partial", "no_evidence", "failed", "cancelled"),
    *("interrupted", "unreadable"),
)


def _run_options(parser: Parser, run: str = "", *, json: bool = True, several: bool = False) -> None:
    if run:
        parser.add_argument("run", metavar=run, nargs="+" if several else None, help=_RUN)
    _folder(parser)
    _settings(parser)
    if json:
        _json(parser)


def _serve(commands: Any) -> None:
    parser = _command(commands, "serve", "serve runs to browsers and programs over HTTP")
    parser.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="address (default: 127.0.0.1)")
    parser.add_argument("--port", type=port, default=8327, metavar="N", help="port (default: 8327; 0: any free one)")
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="name by which clients reach the server, such as that of a proxy (repeatable)",
    )
    parser.add_argument(
        "--url",
        default="",
        metavar="URL",
        help="address by which people reach the server, for links in chats (default: that of the request)",
    )
    for name, default, what in (
        ("runs", 20, "active runs"),
        ("requests", 600, "requests per minute"),
        ("streams", 16, "open streams of events"),
    ):
        parser.add_argument(
            f"--max-{name}", type=count, default=default, metavar="N", help=f"{what} of a user (default: {default})"
        )
    _workers(parser)
    group = parser.add_subparsers(title="commands", metavar="command")
    tokens = _group(group, "token", "add, list and remove tokens")
    add = _command(tokens, "add", "make a token and print it", "serve", "add_token")
    add.add_argument("name", metavar="NAME", help="name of the token, and of the user for whom it acts")
    add.add_argument("--principal", default="", metavar="ID", help="user for whom it acts (default: NAME)")
    add.add_argument("--metrics", action="store_true", help="allow to read /metrics, and nothing else")
    shown = _command(tokens, "list", "list the tokens without their secrets", "serve", "list_tokens")
    _json(shown)
    remove = _command(tokens, "remove", "remove a token", "serve", "remove_token")
    remove.add_argument("name", metavar="NAME", help="name of the token")
    for parser in (add, shown, remove):
        _folder(parser, default=argparse.SUPPRESS)  # unless it is given here, that of `serve` counts


def _worker(commands: Any) -> None:
    parser = _command(commands, "worker", "work on the runs of the queue until Ctrl-C")
    _workers(parser)
    parser.add_argument("--supervised", action="store_true", help=argparse.SUPPRESS)  # is the process of one worker


def _workers(parser: Parser) -> None:
    """Add the options of processes that work on the queue."""
    parser.add_argument("--workers", type=count, default=1, metavar="N", help="worker processes (default: 1)")
    parser.add_argument("--runs", type=count, default=8, metavar="N", help="runs of a worker at once (default: 8)")
    _queue(parser)
    _docs(parser)
    parser.add_argument("--pipeline", default="", metavar="NAME", help="pipeline to run (default: research)")
    _folder(parser)
    _settings(parser)


def _queue(parser: Parser) -> None:
    parser.add_argument(
        "--queue", metavar="URL", help="queue of runs: postgresql://… or sqlite:///PATH (default: runs.queue)"
    )


def _mcp(commands: Any) -> None:
    parser = _command(commands, "mcp", "serve runs to an MCP client on standard input and output")
    parser.add_argument(
        "--wait",
        type=count,
        default=45,
        metavar="SECONDS",
        help="time after which a tool returns the id of a run that is not finished (default: 45)",
    )
    _mcp_options(parser)
    group = parser.add_subparsers(title="commands", metavar="command")
    add = _command(group, "install", "print the configuration that connects a client", "mcp", "install")
    add.add_argument("client", metavar="CLIENT", choices=MCP_CLIENTS, help=", ".join(MCP_CLIENTS))
    add.add_argument("--url", default="", help="address of a `leadline serve`, such as http://127.0.0.1:8327/mcp")
    _mcp_options(add)


# The keys of `leadline.cli.mcp_clients.CLIENTS`.
MCP_CLIENTS = ("claude-code", "claude-desktop", "codex", "cursor", "vscode", "windsurf", "zed")


def _mcp_options(parser: Parser) -> None:
    _docs(parser)
    parser.add_argument("--pipeline", default="", metavar="NAME", help="pipeline to run (default: research)")
    _folder(parser)
    _settings(parser)


def _pipelines(commands: Any) -> None:
    group = _group(commands, "pipelines", "list, show and write pipelines")
    parser = _command(group, "list", "list the pipelines with what they do", "pipelines", "list_")
    _settings(parser)
    _json(parser)
    parser = _command(group, "show", "show a pipeline as settings, with what each stage does", "pipelines", "show")
    parser.add_argument("name", metavar="NAME", help="name of the pipeline")
    _settings(parser)
    _json(parser)
    parser = _command(group, "new", "write a commented pipeline into the settings file", "pipelines", "new")
    parser.add_argument("name", metavar="NAME", help="name of the new pipeline")
    parser.add_argument("--extends", default="", metavar="NAME", help="pipeline that it changes (default: none)")
    _settings(parser)


def _plugins(commands: Any) -> None:
    group = _group(commands, "plugins", "list and show the installed plugins")
    parser = _command(
        group, "list", "list the plugins: kind, distribution, status, missing requirements", "plugins", "list_"
    )
    parser.add_argument("--kind", metavar="KIND", help="list only plugins of this kind, such as search_providers")
    _settings(parser)
    _json(parser)
    parser = _command(group, "show", "show the offers and the settings of a plugin", "plugins", "show")
    parser.add_argument("name", metavar="NAME", help="name of the plugin")
    _settings(parser)
    _json(parser)


def _prompts(commands: Any) -> None:
    group = _group(commands, "prompts", "list and show the prompts that language models receive")
    parser = _command(
        group, "list", "list the tasks with their plugins and the origin of their templates", "prompts", "list_"
    )
    _settings(parser)
    _json(parser)
    parser = _command(group, "show", "show the full text of one prompt, or of all", "prompts", "show")
    parser.add_argument(
        "name",
        metavar="TASK",
        nargs="?",
        default="",
        help="name of a task, as in `leadline prompts list` (default: all)",
    )
    _settings(parser)
    _json(parser)


def _config(commands: Any) -> None:
    group = _group(commands, "config", "show, check and write settings")
    parser = _command(group, "show", "show every setting and its origin", "config", "show")
    _docs(parser)
    _settings(parser)
    _json(parser)
    parser = _command(group, "check", "report all errors in the settings", "config", "check")
    _docs(parser)
    _settings(parser)
    parser = _command(group, "init", "write a commented settings file", "config", "init")
    parser.add_argument(
        "path", nargs="?", default="leadline.toml", metavar="PATH", help="file to write (default: leadline.toml)"
    )
    parser.add_argument("--force", action="store_true", help="overwrite an existing file")


def _doctor(commands: Any) -> None:
    parser = _command(commands, "doctor", "check the installation and the settings, and suggest next steps")
    _docs(parser)
    _folder(parser)
    _settings(parser)
    _json(parser)


def _completion(commands: Any) -> None:
    parser = _command(commands, "completion", "print the script that completes commands in a shell")
    parser.epilog = 'for this session: eval "$(leadline completion bash)"; the scripts say how to keep it'
    parser.add_argument("shell", metavar="SHELL", choices=("bash", "zsh", "fish"), help="bash, zsh or fish")
    parser.add_argument("words", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)


def _version(commands: Any) -> None:
    _command(commands, "version", "print the version", "doctor", "version")
