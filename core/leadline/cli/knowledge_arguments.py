"""The arguments of `leadline knowledge`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from leadline.cli.parser import Parser, count


def add_commands(group: Any, command: Callable[..., Parser], common: Sequence[Callable[[Parser], None]]) -> None:
    """Add the subcommands; `command` adds one to a group, and `common` the options of each."""
    add = command(group, "add", "add files and folders, or newer versions of them", "knowledge", "add")
    add.add_argument("paths", metavar="PATH", nargs="+", help="file or folder to add, with all folders below")
    add.add_argument("--reembed", action="store_true", help="first embed all documents again, as `reembed` does")
    listed = command(group, "list", "list the documents", "knowledge", "list_")
    remove = command(group, "remove", "remove documents", "knowledge", "remove")
    remove.add_argument("names", metavar="NAME", nargs="+", help="id, name, path or folder, as `list` shows them")
    search = command(group, "search", "print the passages that answer a question best", "knowledge", "search")
    search.add_argument("question", metavar="QUESTION", nargs="+", help="question to search for")
    search.add_argument("--limit", type=count, default=5, metavar="N", help="number of passages (default: 5)")
    again = command(
        group, "reembed", "embed all documents again, with the embedder of the settings", "knowledge", "reembed"
    )
    for parser in (add, listed, remove, search, again):
        parser.add_argument("--principal", default="", metavar="ID", help="user whose documents are meant")
        for options in common:
            options(parser)
    for parser in (add, again):
        parser.add_argument("-q", "--quiet", action="store_true", help="show no progress")
    ask = command(group, "ask", "answer a question from the documents, with citations", "research")
    ask.set_defaults(pipeline="knowledge", docs=[], tag=[], follows=None)
    ask.add_argument("question", metavar="QUESTION", nargs="*", help="question; - reads it from standard input")
    ask.add_argument("--format", action="append", default=[], metavar="NAME", help="format of the answer (repeatable)")
    ask.add_argument("--folder", metavar="DIR", help="folder of the runs (default: runs)")
    ask.add_argument("-q", "--quiet", action="store_true", help="show no progress")
    for options in common:
        options(ask)
