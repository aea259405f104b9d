"""The commands of the server; here what those share that use the queue of runs."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from leadline.commands import count, database_url, folder_of, run_environment, runs_of
from leadline.errors import UsageError

if TYPE_CHECKING:
    from leadline_server.queue import Queue
    from leadline_server.supervisor import Supervisor


def database_option(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--database", metavar="URL", help="database of several machines: postgresql://… (default: runs.database)"
    )


def worker_options(parser: ArgumentParser) -> None:
    """Add the options of processes that work on the queue."""
    parser.add_argument("--workers", type=count, default=1, metavar="N", help="worker processes (default: 1)")
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
    """Return the parent of the workers that the options choose."""
    from leadline_server.supervisor import Supervisor

    return Supervisor(None if runs_of(args).dispatcher else queue, worker_command(args), args.workers)


@contextmanager
def queue_of(args: Namespace) -> Iterator[Queue]:
    """Open the queue that the options of a command choose."""
    from leadline_server.queue import open_queue

    url = args.database or database_url(args)
    if url and not runs_of(args).dispatcher:
        raise UsageError(
            "--database: on several machines a dispatcher gives the runs to workers, and runs.dispatcher is empty: "
            "--set runs.dispatcher=temporal, of the package leadline-temporal"
        )
    queue = open_queue(url, folder_of(args).absolute())
    try:
        yield queue
    finally:
        queue.close()


def worker_command(args: Namespace) -> Sequence[str]:
    """Return the command of one worker process with the same options."""
    command = [sys.executable, "-m", "leadline", "worker", "--supervised", f"--runs={args.runs}"]
    command += [f"--runs-per-user={args.runs_per_user}"] if args.runs_per_user else []
    single = ("database", "log", "pipeline", "folder", "settings")
    command += [f"--{name}={value}" for name in single if (value := getattr(args, name))]
    return command + [f"--{name}={value}" for name in ("docs", "set") for value in getattr(args, name)]
