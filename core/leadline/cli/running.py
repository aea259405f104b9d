"""A run in the foreground: its progress on the screen, its questions to the person, Ctrl-C."""

from __future__ import annotations

import argparse
import asyncio
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Protocol

from leadline.api import Client
from leadline.assemble import default_cache
from leadline.cli.asking import ask
from leadline.cli.common import interactive
from leadline.cli.out import say, several
from leadline.contracts import Call
from leadline.errors import Unsupported
from leadline.handle import RunHandle
from leadline.hosting.context import HouseContext
from leadline.records import Blob, Document
from leadline.result import Result
from leadline.tuning import tune_gc

PROGRESS = "terminal"
"""The observer that shows progress, by its plugin name."""


class Launch(Protocol):
    """`Client.start` or `Client.resume`, but for who asks and who watches."""

    async def __call__(self, *, asker: Any, observers: Any) -> RunHandle: ...


async def through(client: Client, launch: Launch, args: argparse.Namespace) -> Result:
    """Launch a run and wait for its end."""
    with _progress(client, args) as observers:
        handle = await launch(asker=ask if interactive() else None, observers=observers)
        tune_gc()
        with interruptible(handle):
            return await handle.result()


class _NoParsers:
    """What the observer is lent: the run's own parsers are those of its settings, which a resumed run brings along."""

    def parses(self, media_type: str) -> bool:
        return False

    async def parse(self, blob: Blob, call: Call) -> Document:
        raise Unsupported(f"{blob.name}: an observer reads nothing")


@contextmanager
def _progress(client: Client, args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Make the observer that shows progress, and let it give the terminal back."""
    if args.quiet or PROGRESS not in client.host.names():
        yield {}
        return
    offer = client.host.offer("observers", PROGRESS)
    observer = offer.make(offer.settings(), HouseContext(PROGRESS, default_cache(), _NoParsers()))
    try:
        yield {PROGRESS: observer}
    finally:
        observer.close()


@contextmanager
def interruptible(handle: RunHandle) -> Iterator[None]:
    """Let Ctrl-C stop the search, and a second one or SIGTERM end the run; both find their way to the exit code."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are the main thread's
        return
    interrupts = Interrupts(handle)
    before = {number: signal.signal(number, interrupts.heard) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Interrupts:
    """Counts the signals of a run."""

    def __init__(self, handle: RunHandle) -> None:
        self._handle = handle
        self._loop = asyncio.get_running_loop()
        self._stopping = False
        self._cancelling: asyncio.Task[None] | None = None

    def heard(self, number: int, frame: FrameType | None) -> None:
        """Take a signal; it may come in the middle of anything, so the loop acts on it."""
        self._loop.call_soon_threadsafe(self._act, number)

    def _act(self, number: int) -> None:
        if number == signal.SIGINT and not self._stopping:
            self._stopping = True
            say("Stopping: what is found so far is written up. Ctrl-C again ends the run at once.")
            self._handle.stop("stopped by Ctrl-C")
            if left := self._handle.waited_for():
                say(f"Waiting for what the model was asked before: {several(left, 'reply', 'replies')}.")
        elif self._cancelling is None:
            say("Ending the run.")
            by = "Ctrl-C" if number == signal.SIGINT else signal.Signals(number).name
            self._cancelling = self._loop.create_task(self._handle.cancel(f"ended by {by}"))
            signal.signal(signal.SIGINT, signal.default_int_handler)  # the third one does not wait
