"""The commands that work for others: `serve`, `worker` and `mcp`."""

from __future__ import annotations

import argparse
from typing import Any

from leadline.cli.arguments import (
    add_command,
    add_group,
    folder_option,
    json_option,
    run_environment,
)
from leadline.cli.parser import Parser, count, port


def add_serve(commands: Any) -> None:
    parser = add_command(commands, "serve", "serve runs to browsers and programs over HTTP")
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
    tokens = add_group(group, "token", "add, list and remove tokens")
    add = add_command(tokens, "add", "make a token and print it", "serve", "add_token")
    add.add_argument("name", metavar="NAME", help="name of the token, and of the user for whom it acts")
    add.add_argument("--principal", default="", metavar="ID", help="user for whom it acts (default: NAME)")
    add.add_argument("--metrics", action="store_true", help="allow to read /metrics, and nothing else")
    shown = add_command(tokens, "list", "list the tokens without their secrets", "serve", "list_tokens")
    json_option(shown)
    remove = add_command(tokens, "remove", "remove a token", "serve", "remove_token")
    remove.add_argument("name", metavar="NAME", help="name of the token")
    for parser in (add, shown, remove):
        folder_option(parser, default=argparse.SUPPRESS)  # unless it is given here, that of `serve` counts


def add_worker(commands: Any) -> None:
    parser = add_command(commands, "worker", "work on the runs of the queue until Ctrl-C")
    _workers(parser)
    parser.add_argument("--supervised", action="store_true", help=argparse.SUPPRESS)  # is the process of one worker


def _workers(parser: Parser) -> None:
    """Add the options of processes that work on the queue."""
    parser.add_argument("--workers", type=count, default=1, metavar="N", help="worker processes (default: 1)")
    parser.add_argument("--runs", type=count, default=8, metavar="N", help="runs of a worker at once (default: 8)")
    _queue(parser)
    run_environment(parser)


def _queue(parser: Parser) -> None:
    parser.add_argument(
        "--queue", metavar="URL", help="queue of runs: postgresql://… or sqlite:///PATH (default: runs.queue)"
    )


def add_mcp(commands: Any) -> None:
    parser = add_command(commands, "mcp", "serve runs to an MCP client on standard input and output")
    parser.add_argument(
        "--wait",
        type=count,
        default=45,
        metavar="SECONDS",
        help="time after which a tool returns the id of a run that is not finished (default: 45)",
    )
    run_environment(parser)
    group = parser.add_subparsers(title="commands", metavar="command")
    add = add_command(group, "install", "print the configuration that connects a client", "mcp", "install")
    add.add_argument("client", metavar="CLIENT", choices=MCP_CLIENTS, help=", ".join(MCP_CLIENTS))
    add.add_argument("--url", default="", help="address of a `leadline serve`, such as http://127.0.0.1:8327/mcp")
    run_environment(add)


# The keys of `leadline.cli.mcp_clients.CLIENTS`.
MCP_CLIENTS = ("claude-code", "claude-desktop", "codex", "cursor", "vscode", "windsurf", "zed")
