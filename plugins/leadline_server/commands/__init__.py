"""The commands of the server; here what those share that use the queue of runs."""

from __future__ import annotations

import os
import shutil
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from leadline.commands import count, database_url, folder_of, run_environment, runs_of
from leadline.errors import UsageError

if TYPE_CHECKING:
    from leadline_server.queue import Queue
    from leadline_server.store import Store
    from leadline_server.supervisor import Supervisor


def database_option(parser: ArgumentParser, **options: Any) -> None:
    """Add a short form of `--set runs.database=URL`."""
    about = "database of several machines: postgresql://… (default: runs.database)"
    options = {"dest": "set", "action": "append", "default": [], "type": "runs.database={}".format, **options}
    parser.add_argument("--database", metavar="URL", help=about, **options)


def _count_or_none(text: str) -> int:
    return 0 if text == "0" else count(text)


def worker_options(parser: ArgumentParser, workers: Callable[[str], int] = _count_or_none) -> None:
    """Add the options of processes that work on the queue."""
    parser.add_argument("--workers", type=workers, default=1, metavar="N", help="worker processes (default: 1)")
    parser.add_argument("--runs", type=count, default=8, metavar="N", help="runs of a worker at once (default: 8)")
    parser.add_argument(
        "--runs-per-user",
        type=count,
        default=0,
        metavar="N",
        help="runs of a user at once (default: all places; a fair share while others wait)",
    )
    database_option(parser)
    parser.add_argument("--log", choices=("text", "json"), default="text", help="form of the log (default: text)")
    run_environment(parser)


def supervisor_of(args: Namespace, queue: Queue) -> Supervisor:
    """Return the parent of the workers that the options choose. Raises `UsageError` for what they cannot work with."""
    from leadline_server.supervisor import Supervisor

    if database_url(args) and not runs_of(args).dispatcher:
        raise UsageError(
            "--database: on several machines a dispatcher gives the runs to workers, and runs.dispatcher is empty: "
            "--set runs.dispatcher=temporal, of the package leadline-temporal"
        )
    if database_url(args):
        from leadline_server.fleet.files import files_at

        files_at(runs_of(args).files)  # a worker with a wrong address would end its runs as failed
    return Supervisor(None if runs_of(args).dispatcher else queue, worker_command(args), args.workers)


@contextmanager
def queue_of(args: Namespace) -> Iterator[Queue]:
    """Open the queue that the options of a command choose."""
    from leadline_server.queue import open_queue

    url = database_url(args)
    with closing(open_queue(url, folder_of(args).absolute())) as queue:
        if url:
            from leadline.api import secret_file

            queue.share_secret(secret_file())
        yield queue


@contextmanager
def store_of(args: Namespace) -> Iterator[Store]:
    """Open the store of tokens."""
    from leadline_server.store import Store

    with closing(Store(folder_of(args).absolute(), database_url(args))) as store:
        yield store


def use_own_folder(args: Namespace) -> None:
    """Give this worker process a folder of runs of its own, if a database keeps the runs; those of dead ones go."""
    if not database_url(args):
        return
    from leadline_server import processes

    workers = folder_of(args).absolute() / ".workers"
    for folder in workers.glob("*.*.*"):
        if processes.is_local(folder.name) and not processes.is_running(folder.name):
            shutil.rmtree(folder, ignore_errors=True)
    args.folder = str(workers / processes.name_of(os.getpid()))


def worker_command(args: Namespace) -> Sequence[str]:
    """Return the command of one worker process with the same options."""
    command = [sys.executable, "-m", "leadline", "worker", "--supervised", f"--runs={args.runs}"]
    command += [f"--runs-per-user={args.runs_per_user}"] if args.runs_per_user else []
    single = ("log", "pipeline", "folder", "settings")
    command += [f"--{name}={value}" for name in single if (value := getattr(args, name))]
    return command + [f"--{name}={value}" for name in ("docs", "set") for value in getattr(args, name)]
