"""The queue of runs for commands: `leadline worker`, `leadline serve`, `leadline research --queue`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from leadline._settings.runs_folder import runs_queue
from leadline.cli.common import arguments_of, client_of, file_of, folder_of
from leadline.cli.terminal import say, write, write_json

if TYPE_CHECKING:
    from leadline_server.queue import Queue


@contextmanager
def queue_of(args: argparse.Namespace) -> Iterator[Queue]:
    """Open the queue that the options of a command choose."""
    from leadline_server.queue import open_queue

    url = getattr(args, "queue", "") or runs_queue(arguments=arguments_of(args), sets=args.set, file=file_of(args))
    queue = open_queue(url, folder_of(args).absolute())
    try:
        yield queue
    finally:
        queue.close()


def enqueue(args: argparse.Namespace, question: str, tags: dict[str, str], follows: Path | None) -> int:
    """Leave a run to the workers, and print its id."""
    order = client_of(args).order(question, tags=tags, follows=follows)
    with queue_of(args) as queue:
        queue.put(order, None, priority=args.priority)
        workers = len(queue.workers())
    folder = folder_of(args) / order.run_id
    if args.json:
        write_json({"id": order.run_id, "folder": str(folder), "status": "pending", "workers": workers})
        return 0
    write(order.run_id)
    if workers:
        say(f"A worker takes it. Its state: leadline runs show {order.run_id}   Its events: {folder / 'events.jsonl'}")
    else:
        say("It waits: no worker is running. Start one: leadline worker")
    return 0


def worker_command(args: argparse.Namespace) -> Sequence[str]:
    """Return the command of one worker process with the same options."""
    command = [sys.executable, "-m", "leadline", "worker", "--supervised", f"--runs={args.runs}"]
    single = ("queue", "pipeline", "folder", "settings")
    command += [f"--{name}={value}" for name in single if (value := getattr(args, name))]
    return command + [f"--{name}={value}" for name in ("docs", "set") for value in getattr(args, name)]
