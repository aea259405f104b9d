"""Work on the runs of the queue until Ctrl-C.

A parent watches the worker processes.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from argparse import SUPPRESS, ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from leadline.commands import client_of, count, run_coroutine
from leadline.commands.output import plural, say
from leadline_server.commands import queue_of, supervisor_of, use_own_folder, worker_options

if TYPE_CHECKING:
    from leadline_server.queue import Queue


def arguments(parser: ArgumentParser) -> None:
    worker_options(parser, count)
    parser.add_argument("--supervised", action="store_true", help=SUPPRESS)  # is the process of one worker


def run(args: Namespace) -> int:
    """Work until Ctrl-C or SIGTERM."""
    from leadline_server.logs import configure

    configure(args.log)
    with queue_of(args) as queue:
        if args.supervised:
            return _work(args, queue)
        asyncio.run(_supervise(args, queue))
    return 0


async def _supervise(args: Namespace, queue: Queue) -> None:
    watching = asyncio.create_task(supervisor_of(args, queue).run())
    with _signals(watching.cancel):
        say(
            f"{plural(args.workers, 'worker')} of up to {plural(args.runs, 'run')}  (Ctrl-C ends; runs go on elsewhere)"
        )
        await asyncio.wait({watching})
    if not watching.cancelled():
        watching.result()


def _work(args: Namespace, queue: Queue) -> int:
    """Be the process of one worker: its standard input ends with its parent."""
    from leadline.api import tune_gc
    from leadline_server.dispatchers import Embedded, dispatcher_of
    from leadline_server.processes import name_of, use_one_heap
    from leadline_server.queue import Replaced
    from leadline_server.worker import Worker, warm

    use_one_heap()
    use_own_folder(args)

    async def work() -> None:
        name = name_of(os.getpid())
        async with client_of(args, permits=queue.permits(name)) as client:
            client.plugins.pipeline()  # wrong settings are an error now, not with every run
            tune_gc()
            dispatcher = await dispatcher_of(client)
            if dispatcher:
                await warm(client)
            embedded = Embedded(queue, name, args.runs_per_user, partial(warm, client))
            worker = Worker(client, queue, dispatcher or embedded, name)
            loop = asyncio.get_running_loop()

            def parent_ended() -> None:
                if not os.read(sys.stdin.fileno(), 1):
                    loop.remove_reader(sys.stdin)
                    worker.closing.set()

            loop.add_reader(sys.stdin, parent_ended)
            try:
                with _signals(worker.closing.set):
                    await worker.work(args.runs)
            finally:
                loop.remove_reader(sys.stdin)

    try:
        run_coroutine(work())
    except Replaced:
        return 1  # its parent took it for dead
    return 0


@contextmanager
def _signals(end: Callable[[], object]) -> Iterator[None]:
    """Call a function on SIGINT and SIGTERM."""
    loop, numbers = asyncio.get_running_loop(), (signal.SIGINT, signal.SIGTERM)
    for number in numbers:
        loop.add_signal_handler(number, end)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
