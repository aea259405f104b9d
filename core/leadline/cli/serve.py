"""`leadline serve`: the HTTP server, and its tokens."""

from __future__ import annotations

import argparse
from datetime import datetime
from importlib.util import find_spec

from leadline._runtime import loop_shutdown
from leadline.api import tune_gc
from leadline.cli.common import client_of, folder_of
from leadline.cli.queue import queue_of, worker_command
from leadline.cli.terminal import say, table, write, write_json
from leadline.errors import UsageError

_NEEDED = ("starlette", "uvicorn", "prometheus_client", "jinja2", "markupsafe")


def run(args: argparse.Namespace) -> int:
    """Serve until Ctrl-C or SIGTERM."""
    _require()
    from leadline_server.command import Address, Running, serve
    from leadline_server.limits import Limits
    from leadline_server.store import Store
    from leadline_server.supervisor import Supervisor

    limits = Limits(runs=args.max_runs, requests=args.max_requests, streams=args.max_streams)
    address = Address(args.host, args.port, tuple(args.allow_host), limits, args.url)

    def started(server: Running) -> None:
        say(f"Leadline serves {server.url}  (Ctrl-C ends it; runs go on when it is back)")

    store = Store(folder_of(args).absolute())
    try:
        with queue_of(args) as queue:
            supervisor = Supervisor(queue, worker_command(args), args.workers)
            loop_shutdown.run(serve(client_of(args), store, queue, address, started, supervisor, loaded=tune_gc))
    finally:
        store.close()
    return 0


def add_token(args: argparse.Namespace) -> int:
    """Make a token and print it."""
    _require()
    from leadline_server.store import Store

    if not args.name.isprintable() or not args.name.strip():
        raise UsageError("the name of a token is one or more printable characters")
    store = Store(folder_of(args).absolute())
    try:
        token = store.add_token(args.name, args.principal or args.name, "metrics" if args.metrics else "runs")
    finally:
        store.close()
    write(token)
    say("Keep it: it is not stored, and cannot be shown again.")
    return 0


def list_tokens(args: argparse.Namespace) -> int:
    """Print the tokens without their secrets."""
    _require()
    from leadline_server.store import Store

    store = Store(folder_of(args).absolute())
    try:
        tokens = store.tokens()
    finally:
        store.close()
    made = [datetime.fromtimestamp(token.created).astimezone() for token in tokens]
    if args.json:
        write_json(
            [
                {"name": one.name, "principal": one.principal, "scope": one.scope, "created": when.isoformat()}
                for one, when in zip(tokens, made, strict=True)
            ]
        )
    elif tokens:
        rows = [
            (one.name, one.principal, one.scope, f"{when:%Y-%m-%d}") for one, when in zip(tokens, made, strict=True)
        ]
        write(table(rows, ("NAME", "PRINCIPAL", "MAY READ", "MADE")))
    else:
        say("There are no tokens. Make one: leadline serve token add NAME")
    return 0


def remove_token(args: argparse.Namespace) -> int:
    """Remove a token; what uses it is refused at once."""
    _require()
    from leadline_server.store import Store

    store = Store(folder_of(args).absolute())
    try:
        store.remove_token(args.name)
    finally:
        store.close()
    say(f"Removed the token {args.name!r}.")
    return 0


def _require() -> None:
    """Raise `UsageError` if the packages of the extra are not installed."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise UsageError(f"the server needs {', '.join(missing)}: pip install 'leadline[serve]'")
