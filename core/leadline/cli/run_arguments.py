"""The commands that make runs, `research` and its short forms first, and those about runs and their reports."""

from __future__ import annotations

from typing import Any

from leadline.cli.arguments import (
    RUN,
    STATUSES,
    add_command,
    add_group,
    docs_option,
    folder_option,
    json_option,
    question_argument,
    quiet_option,
    run_options,
    settings_options,
)
from leadline.cli.parser import Parser, count


def _run_choices(parser: Parser, pipeline: str = "") -> None:
    """Add the options that determine how a question is answered; `pipeline` is the default."""
    docs_option(parser)
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
    folder_option(parser)
    settings_options(parser)
    json_option(parser)


def _continue(parser: Parser) -> None:
    parser.add_argument(
        "--continue",
        dest="follows",
        nargs="?",
        const="",
        metavar="RUN",
        help="continue this run, or the last one, with a follow-up question",
    )


_BRIEF = """\
Without a language model the report is a brief: the passages that match the question best,
whole and word for word. Nobody has judged whether they answer; the brief names the words of
the question that none of them has."""
# The commands that answer a question, and the pipeline of each; the names of pipelines are those of the settings.
_QUESTIONS = (
    ("ask", "auto", "answer a question by the pipeline that fits it"),
    ("research", "", "answer a question with a report"),
    ("search", "search", "answer a question quickly, with citations"),
    ("chat", "chat", "answer a question by the model alone"),
    ("think", "thinking", "think a question through, and answer it"),
    ("code", "code", "write a program for a request, and run it"),
)


def add_questions(commands: Any) -> None:
    for name, pipeline, text in _QUESTIONS:
        _question(add_command(commands, name, text, "research"), pipeline)
    commands.choices["research"].epilog = _BRIEF


def _question(parser: Parser, pipeline: str) -> None:
    question_argument(parser)
    _run_choices(parser, pipeline)
    _continue(parser)
    parser.add_argument(
        "--tag", action="append", default=[], metavar="KEY=VALUE", help="label stored with the run (repeatable)"
    )
    quiet_option(parser)
    parser.add_argument(
        "--queue",
        dest="enqueue",
        action="store_true",
        help="leave the run to the workers of the queue (setting runs.queue), and print its id",
    )
    parser.add_argument(
        "--priority", type=int, default=0, metavar="N", help="with --queue: runs of higher priority first (default: 0)"
    )


def add_resume(commands: Any) -> None:
    parser = add_command(commands, "resume", "resume a run without repeating completed calls", "research", "resume")
    parser.add_argument("run", metavar="RUN", help=RUN)
    parser.add_argument("--retry-failed", action="store_true", help="retry the calls that failed")
    parser.add_argument(
        "--offline",
        action="store_true",
        help="replay a finished run without network and print its report; writes nothing",
    )
    docs_option(parser)
    folder_option(parser)
    settings_options(parser)
    json_option(parser)
    quiet_option(parser)


def add_explain(commands: Any) -> None:
    parser = add_command(commands, "explain", "show what a run would do and cost, without running it")
    parser.add_argument("question", nargs="*", metavar="QUESTION", help="question to estimate for; no search is made")
    _run_choices(parser)


def add_compare(commands: Any) -> None:
    parser = add_command(
        commands, "compare", "answer a question with two pipelines and compare what each takes and makes"
    )
    question_argument(parser)
    parser.add_argument("--pipelines", default="", metavar="A,B", help="the two pipelines, such as research,oneshot")
    docs_option(parser)
    folder_option(parser)
    settings_options(parser)
    json_option(parser)
    quiet_option(parser)


def add_verify(commands: Any) -> None:
    parser = add_command(commands, "verify", "check the citations of a report against its sources")
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
    folder_option(parser)
    settings_options(parser)
    json_option(parser)


def add_runs(commands: Any) -> None:
    group = add_group(commands, "runs", "list, search, show, open, compare and delete runs")
    parser = add_command(group, "list", "list runs, newest first", "runs", "list_")
    parser.add_argument("--status", metavar="STATUS", help="list only runs with this status", choices=STATUSES)
    parser.add_argument("--limit", type=count, metavar="N", help="list at most N runs")
    run_options(parser)
    parser = add_command(group, "search", "search the questions, tags and reports of runs", "runs", "search")
    parser.add_argument(
        "text", nargs="+", metavar="TEXT", help="words that must all occur; quote a phrase twice: '\"exact words\"'"
    )
    parser.add_argument("--status", metavar="STATUS", help="list only runs with this status", choices=STATUSES)
    parser.add_argument("--limit", type=count, default=20, metavar="N", help="list at most N runs (default: 20)")
    run_options(parser)
    parser = add_command(group, "show", "show the outcome of a run", "runs", "show")
    run_options(parser, "RUN")
    parser = add_command(group, "open", "open the report of a run and print its path", "runs", "open_")
    run_options(parser, "RUN", json=False)
    parser = add_command(group, "compare", "compare the claims, verdicts and sources of two runs", "runs", "compare")
    for name in ("first", "second"):
        parser.add_argument(name, metavar="RUN", help=RUN)
    run_options(parser)
    parser = add_command(group, "delete", "delete runs with all their files", "runs", "delete")
    run_options(parser, "RUN", json=False, several=True)
    parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")


def add_memory(commands: Any) -> None:
    group = add_group(commands, "memory", "list and forget the runs that new questions remember (setting `memory`)")
    parser = add_command(group, "list", "list the runs that new questions may remember", "follow_ups", "list_memory")
    run_options(parser)
    parser = add_command(
        group, "delete", "keep runs out of the memory; the runs themselves stay", "follow_ups", "delete_memory"
    )
    parser.add_argument("run", metavar="RUN", nargs="*", help=RUN)
    parser.add_argument("--all", action="store_true", help="forget all runs")
    run_options(parser, json=False)
    parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")
