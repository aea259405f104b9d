"""The arguments of `leadline knowledge`."""

from __future__ import annotations

from typing import Any

from leadline.cli.arguments import (
    add_command,
    add_group,
    folder_option,
    json_option,
    question_argument,
    quiet_option,
    settings_options,
)
from leadline.cli.parser import count


def add_knowledge(commands: Any) -> None:
    group = add_group(commands, "knowledge", "add, list, remove, search and ask your own documents")
    add = add_command(group, "add", "add files and folders, or newer versions of them", "knowledge", "add")
    add.add_argument("paths", metavar="PATH", nargs="+", help="file or folder to add, with all folders below")
    add.add_argument("--reembed", action="store_true", help="first embed all documents again, as `reembed` does")
    listed = add_command(group, "list", "list the documents", "knowledge", "list_")
    remove = add_command(group, "remove", "remove documents", "knowledge", "remove")
    remove.add_argument("names", metavar="NAME", nargs="+", help="id, name, path or folder, as `list` shows them")
    search = add_command(group, "search", "print the passages that answer a question best", "knowledge", "search")
    search.add_argument("question", metavar="QUESTION", nargs="+", help="question to search for")
    search.add_argument("--limit", type=count, default=5, metavar="N", help="number of passages (default: 5)")
    again = add_command(
        group, "reembed", "embed all documents again, with the embedder of the settings", "knowledge", "reembed"
    )
    for parser in (add, listed, remove, search, again):
        parser.add_argument("--principal", default="", metavar="ID", help="user whose documents are meant")
        settings_options(parser)
        json_option(parser)
    for parser in (add, again):
        quiet_option(parser)
    ask = add_command(group, "ask", "answer a question from the documents, with citations", "research")
    ask.set_defaults(pipeline="knowledge", docs=[], tag=[], follows=None)
    question_argument(ask)
    ask.add_argument("--format", action="append", default=[], metavar="NAME", help="format of the answer (repeatable)")
    folder_option(ask)
    quiet_option(ask)
    settings_options(ask)
    json_option(ask)
