"""Serve runs to browsers and programs over HTTP."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING

from leadline.api import tune_gc
from leadline.commands import (
    add_command,
    add_group,
    client_of,
    count,
    folder_of,
    folder_option,
    json_option,
    port,
    run_coroutine,
)
from leadline.commands.output import say, table, write, write_json
from leadline.errors import UsageError
from leadline_server.commands import queue_of, worker_command, worker_options

if TYPE_CHECKING:
    from leadline_server.store import Store

_NEEDED = ("starlette", "uvicorn", "prometheus_client", "jinja2", "markupsafe")


def arguments(parser: ArgumentParser) -> None:
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
    worker_options(parser)
    group = add_group(parser, required=False)
    tokens = add_group(add_command(group, "token", "add, list and remove tokens"))
    add = add_command(tokens, "add", "make a token and print it", add_token)
    add.add_argument("name", metavar="NAME", help="name of the token, and of the user for whom it acts")
    add.add_argument("--principal", default="", metavar="ID", help="user for whom it acts (default: NAME)")
    add.add_argument("--metrics", action="store_true", help="allow to read /metrics, and nothing else")
    shown = add_command(tokens, "list", "list the tokens without their secrets", list_tokens)
    json_option(shown)
    remove = add_command(tokens, "remove", "remove a token", remove_token)
    remove.add_argument("name", metavar="NAME", help="name of the token")
    for parser in (add, shown, remove):
        folder_option(parser, default=SUPPRESS)  # unless it is given here, that of `serve` counts


def run(args: Namespace) -> int:
    """Serve until Ctrl-C or SIGTERM."""
    _require()
    from leadline_server.command import Running, serve
    from leadline_server.limits import Address, Limits
    from leadline_server.supervisor import Supervisor

    limits = Limits(runs=args.max_runs, requests=args.max_requests, streams=args.max_streams)
    address = Address(args.host, args.port, tuple(args.allow_host), limits, args.url)

    def started(server: Running) -> None:
        say(f"Leadline serves {server.url}  (Ctrl-C ends it; runs go on when it is back)")

    with _store(args) as store, queue_of(args) as queue:
        supervisor = Supervisor(queue, worker_command(args), args.workers)

        async def work() -> None:
            tune_gc()
            await supervisor.run()

        run_coroutine(serve(client_of(args), store, queue, address, started, work))
    return 0


def add_token(args: Namespace) -> int:
    """Make a token and print it."""
    if not args.name.isprintable() or not args.name.strip():
        raise UsageError("the name of a token is one or more printable characters")
    with _store(args) as store:
        token = store.add_token(args.name, args.principal or args.name, "metrics" if args.metrics else "runs")
    write(token)
    say("Keep it: it is not stored, and cannot be shown again.")
    return 0


def list_tokens(args: Namespace) -> int:
    """Print the tokens without their secrets."""
    with _store(args) as store:
        tokens = store.tokens()
    made = [datetime.fromtimestamp(token.created).astimezone() for token in tokens]
    if args.json:
        write_json(
            [
                {"name": token.name, "principal": token.principal, "scope": token.scope, "created": when.isoformat()}
                for token, when in zip(tokens, made, strict=True)
            ]
        )
    elif tokens:
        rows = [
            (token.name, token.principal, token.scope, f"{when:%Y-%m-%d}")
            for token, when in zip(tokens, made, strict=True)
        ]
        write(table(rows, ("NAME", "PRINCIPAL", "MAY READ", "MADE")))
    else:
        say("There are no tokens. Make one: leadline serve token add NAME")
    return 0


def remove_token(args: Namespace) -> int:
    """Remove a token; what uses it is refused at once."""
    with _store(args) as store:
        store.remove_token(args.name)
    say(f"Removed the token {args.name!r}.")
    return 0


@contextmanager
def _store(args: Namespace) -> Iterator[Store]:
    """Open the store of tokens."""
    _require()
    from leadline_server.store import Store

    with closing(Store(folder_of(args).absolute())) as store:
        yield store


def _require() -> None:
    """Raise `UsageError` if the packages of the extra are not installed."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise UsageError(f"the server needs {', '.join(missing)}: pip install 'leadline[serve]'")
