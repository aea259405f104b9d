"""Serve runs to browsers and programs over HTTP."""

from __future__ import annotations

import json
from argparse import SUPPRESS, ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from shlex import quote
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from leadline.api import tune_gc
from leadline.commands import (
    add_command,
    add_group,
    agrees,
    client_of,
    count,
    database_url,
    folder_of,
    folder_option,
    interactive,
    json_option,
    port,
    run_coroutine,
    runs_of,
)
from leadline.commands.output import say, table, write, write_json
from leadline.errors import UsageError
from leadline.files import private_folder
from leadline_server.commands import database_option, queue_of, store_of, supervisor_of, worker_options

if TYPE_CHECKING:
    from leadline_server.store import Store, Token

# What `backup` keeps beside the runs.
_BESIDE = ("leadline.toml", "leadline-knowledge")
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
    for what, unit, kind in (("money", "USD", float), ("tokens", "tokens", int)):
        for span in ("day", "month"):
            parser.add_argument(
                f"--max-{what}-{span}",
                type=_not_negative(kind),
                default=0,
                metavar="N",
                help=f"{unit} that a user may spend in a {span} of UTC (default: 0, no limit)",
            )
    parser.add_argument(
        "--access", type=Path, metavar="FILE", help="settings of logins, proxies, roles and models: see sign-in.md"
    )
    worker_options(parser)
    group = add_group(parser, required=False)
    tokens = add_group(add_command(group, "token", "add, list and remove tokens"))
    add = add_command(tokens, "add", "make a token and print it", add_token)
    add.add_argument("name", metavar="NAME", help="name of the token, and of the user for whom it acts")
    add.add_argument("--principal", default="", metavar="ID", help="user for whom it acts (default: NAME)")
    add.add_argument("--days", type=count, default=0, metavar="N", help="days until it expires (default: never)")
    add.add_argument("--mail", default="", metavar="ADDRESS", help="where the user may get mail: see operate.md")
    add.add_argument(
        "--role",
        choices=("admin", "user", "reader", "metrics"),
        default="user",
        help="admin: also sees usage and all users; reader: starts and changes nothing; metrics: reads /metrics only",
    )
    shown = add_command(tokens, "list", "list the tokens without their secrets", list_tokens)
    json_option(shown)
    remove = add_command(tokens, "remove", "remove a token", remove_token)
    remove.add_argument("name", metavar="NAME", help="name of the token")
    save = add_command(group, "backup", "write runs, tokens, queue, settings and documents to a file", save_backup)
    save.add_argument("file", type=Path, metavar="FILE", help="file to write, such as leadline.tar.gz")
    save.add_argument(
        "others",
        type=Path,
        nargs="*",
        metavar="PATH",
        help="what to keep beside the runs (default: leadline.toml and leadline-knowledge, if they are here)",
    )
    back = add_command(group, "restore", "bring a backup back, into an empty folder of runs", restore_backup)
    back.add_argument("file", type=Path, metavar="FILE", help="file that `leadline serve backup` wrote")
    bring = add_command(group, "import", "bring what one machine kept into the database of several", import_all)
    bring.add_argument("source", type=Path, metavar="SOURCE", help="its folder of runs, or its backup")
    users = add_group(add_command(group, "user", "export or erase everything of a user"))
    out = add_command(users, "export", "write runs, documents, usage and audit lines to a file", export_user)
    away = add_command(users, "erase", "erase runs, documents, tokens, usage and audit lines", erase_user)
    for command in (out, away):
        command.add_argument("user", metavar="USER", help="name of the user")
    out.add_argument("file", type=Path, metavar="FILE", help="file to write, such as alice.tar.gz")
    away.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    for command in (add, shown, remove, save, back, bring, out, away):
        folder_option(command, default=SUPPRESS)  # unless it is given here, that of `serve` counts
    for command in (add, shown, remove, save, bring, out, away):
        database_option(command, default=SUPPRESS)


def _not_negative(kind: Callable[[str], float]) -> Callable[[str], float]:
    """Return the parser of an option that takes numbers of this kind, but none below zero."""

    def number(text: str) -> float:
        if not (value := kind(text)) >= 0:
            raise ValueError
        return value

    return number


def run(args: Namespace) -> int:
    """Serve until Ctrl-C or SIGTERM."""
    _require()
    from leadline_server.command import Running, serve
    from leadline_server.limits import Address, Limits
    from leadline_server.logs import configure
    from leadline_server.processes import use_one_heap
    from leadline_server.queue import Quota
    from leadline_server.sign_in import AccessSettings, read_access

    use_one_heap()
    if args.docs:  # their files are documents of everybody, beside those that users add
        folders = [str(Path(folder).expanduser().absolute()) for folder in args.docs]
        args.set, args.docs = [*args.set, f"plugins.local.folders={json.dumps(folders)}"], []
    quota = Quota(None, args.max_tokens_day, args.max_tokens_month, args.max_money_day, args.max_money_month)
    limits = Limits(
        runs=args.max_runs,
        at_once=args.runs_per_user,
        requests=args.max_requests,
        streams=args.max_streams,
        quota=quota,
    )
    access = read_access(args.access, args.url) if args.access else AccessSettings()
    address = Address(args.host, args.port, tuple(args.allow_host), limits, args.url, access)

    def started(server: Running) -> None:
        say(f"Leadline serves {server.url}  (Ctrl-C ends it; runs go on when it is back)")

    configure(args.log)
    with _store(args) as store, queue_of(args) as queue:
        supervisor = supervisor_of(args, queue)

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
        if args.mail:
            store.set_address(args.principal or args.name, args.mail)
        token = store.add_token(args.name, args.principal or args.name, args.role, args.days)
    write(token)
    say("Keep it: it is not stored, and cannot be shown again.")
    return 0


def list_tokens(args: Namespace) -> int:
    """Print the tokens without their secrets."""
    with _store(args) as store:
        tokens = store.tokens()
    if args.json:
        names = ("name", "principal", "role")
        times = ("created", "expires", "used")
        write_json(
            [
                {name: getattr(token, name) for name in names} | {name: _time(getattr(token, name)) for name in times}
                for token in tokens
            ]
        )
    elif tokens:
        write(table(map(token_row, tokens), TOKEN_HEAD))
    else:
        say("There are no tokens. Make one: leadline serve token add NAME")
    return 0


TOKEN_HEAD = ("TOKEN", "USER", "ROLE", "MADE", "EXPIRES", "LAST USE")


def token_row(token: Token) -> tuple[str, ...]:
    """Return a token as a row of a table."""
    times = ((_time(when) or "never")[:10] for when in (token.created, token.expires, token.used))
    return (token.name, token.principal, token.role, *times)


def _time(seconds: float) -> str | None:
    return datetime.fromtimestamp(seconds).astimezone().isoformat(timespec="seconds") if seconds else None


def remove_token(args: Namespace) -> int:
    """Remove a token; what uses it is refused at once."""
    with _store(args) as store:
        store.remove_token(args.name)
    say(f"Removed the token {args.name!r}.")
    return 0


def save_backup(args: Namespace) -> int:
    """Write a backup; the server may work meanwhile. With a database it is that of a machine which goes on alone."""
    from leadline_server.backup import RUNS, back_up

    others = args.others or [path for name in _BESIDE if (path := Path(name)).exists()]
    folder = folder_of(args).absolute()
    with ExitStack() as stack:
        if database_url(args):
            from leadline_server.fleet.transfer import export_folder

            top = Path(stack.enter_context(TemporaryDirectory(dir=args.file.absolute().parent, prefix=".backup-")))
            folder, documents = top / RUNS, top / _BESIDE[1]
            with _store(args) as store, queue_of(args) as queue:
                export_folder(folder, runs_of(args), store, queue)
            if run_coroutine(_export_documents(args, documents)):
                others = [*(path for path in others if path.name != documents.name), documents]
        say(f"Wrote {back_up(folder, others, args.file)} files to {args.file}.")
    return 0


async def _export_documents(args: Namespace, folder: Path) -> bool:
    async with client_of(args) as client:
        return await client.knowledge.export_folder(folder)


def restore_backup(args: Namespace) -> int:
    """Bring a backup back."""
    from leadline_server.backup import restore

    folder = folder_of(args).absolute()
    say(f"Restored {restore(args.file, folder)} files, the runs into {folder}. Start it: leadline serve")
    return 0


def import_all(args: Namespace) -> int:
    """Bring runs, tokens, orders, usage, the audit log and documents of one machine into the database."""
    if not database_url(args):
        raise UsageError("runs.database is empty, so there is nothing to import into: name it with --database")
    from leadline_server.backup import RUNS, restore
    from leadline_server.fleet.transfer import import_folder

    source, documents = args.source.absolute(), None
    with ExitStack() as stack:
        if source.is_file():
            top = Path(stack.enter_context(TemporaryDirectory(dir=private_folder(folder_of(args)), prefix=".import-")))
            restore(source, top / RUNS, top)
            source, documents = top / RUNS, top / _BESIDE[1]
        elif not source.is_dir():
            raise UsageError(f"there is neither a folder of runs nor a backup at {source}")
        elif (beside := source.parent / _BESIDE[1]).is_dir():
            documents = beside
        store, queue = stack.enter_context(_store(args)), stack.enter_context(queue_of(args))
        alone = Namespace(**{**vars(args), "folder": str(source), "set": [*args.set, "runs.database="]})

        async def bring() -> tuple[int, int | None]:
            async with client_of(alone) as reader, client_of(args) as client:
                runs = await import_folder(source, runs_of(args), reader, store, queue)
                return runs, await client.knowledge.import_folder(documents)

        runs, added = run_coroutine(bring())
    say(f"Imported {runs} runs, and what the server knew of users, orders and usage.")
    if added is None:
        say("Documents stay where they are: plugins.knowledge.database is empty.")
    else:
        say(f"Imported {added} documents. If their vectors were in another store: leadline knowledge reembed")
    return 0


def export_user(args: Namespace) -> int:
    """Write everything of a user to a file."""
    from leadline_server.users import export

    with _store(args) as store, queue_of(args) as queue:
        files = run_coroutine(export(args.user, client_of(args), store, queue, args.file))
    say(f"Wrote {files} files of {args.user} to {args.file}.")
    return 0


def erase_user(args: Namespace) -> int:
    """Erase everything of a user, after a question."""
    from leadline_server.users import check_user, erase

    with _store(args) as store, queue_of(args) as queue:
        client = client_of(args)
        check_user(args.user, client, store, queue)
        if not args.yes and not interactive():
            again = f"leadline serve user erase --yes {quote(args.user)}"
            raise UsageError(f"cannot ask for confirmation without a terminal; run: {again}")
        if not args.yes and not agrees(f"Erase all runs, documents, tokens and usage of {args.user!r} for good?"):
            say("Nothing was erased.")
            return 1
        run_coroutine(erase(args.user, client, store, queue))
    say(f"Erased everything of {args.user}.")
    return 0


@contextmanager
def _store(args: Namespace) -> Iterator[Store]:
    """Open the store of tokens."""
    _require()
    with store_of(args) as store:
        yield store


def _require() -> None:
    """Raise `UsageError` if the packages of the extra are not installed."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise UsageError(f"the server needs {', '.join(missing)}: leadline plugins install 'leadline[serve]'")
