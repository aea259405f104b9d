"""Run in the foreground: progress on the terminal, questions, Ctrl-C, and the outcome at the end."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

from leadline._hosting.context import PluginContext
from leadline._runtime import task_groups
from leadline._runtime.plugins import default_cache
from leadline._runtime.runs.run_request import MAX_QUESTION, check_question
from leadline._settings.defaults import read_defaults
from leadline.api import tune_gc
from leadline.client import Client, Run
from leadline.commands import check_limit, client_of, interactive, pairs
from leadline.commands.outcome import advise, show
from leadline.commands.output import plural, say
from leadline.commands.questions import Terminal
from leadline.errors import UsageError
from leadline.runs import Result


def answer(args: argparse.Namespace, words: Sequence[str], follows: Path | None = None) -> int:
    """Answer a question in the foreground, print the outcome, and return the exit code.

    `args` has the options of the command: `docs_option`, `folder_option`, `settings_options`, `json_option`,
    `quiet_option`, and `pipeline`. Raises `UsageError` without a question.
    """
    check_limit()
    if args.folder and Path(args.folder).is_file():  # the journal would report it with a misleading hint to resume
        raise UsageError(f"--folder {args.folder}: not a folder")
    question = question_of(words)
    if question is None:
        raise UsageError('no question given; write one, such as: leadline research "How does …?" --docs FOLDER')
    question, tags = check_question(question), pairs(getattr(args, "tag", ()), "--tag")
    result = task_groups.run_loop(_answer(args, question, tags, follows))
    show(result, as_json=args.json)
    advise(result, args)
    return result.exit_code


async def _answer(args: argparse.Namespace, question: str, tags: dict[str, str], follows: Path | None) -> Result:
    async with client_of(args) as client:
        return await run_in_foreground(client, partial(client.start, question, tags=tags, follows=follows), args)


def question_of(words: Sequence[str]) -> str | None:
    """Return the question from the command line, or from standard input for `-`; None if there is none."""
    if list(words) == ["-"]:
        return sys.stdin.read(MAX_QUESTION + 1)
    # Where the locale is not that of the text, as in a service, Python keeps the bytes of the words as surrogates.
    return os.fsencode(" ".join(words)).decode("utf-8", "surrogateescape") if words else None


async def run_in_foreground(client: Client, launch: Callable[..., Awaitable[Run]], args: argparse.Namespace) -> Result:
    """Start or resume a run in the foreground and wait for its end.

    `launch` is `Client.start` or `Client.resume` with its other arguments bound.
    """
    with _progress(client, args) as observers:
        handle = await launch(asker=Terminal().ask if interactive() else None, observers=observers)
        tune_gc()
        with interruptible(handle):
            return await handle.result()


@contextmanager
def _progress(client: Client, args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Create the observer that shows progress; restore the terminal at the end."""
    name = read_defaults(client.catalog.defaults).progress
    if args.quiet or name not in client.catalog.names():
        yield {}
        return
    offer = client.catalog.offer("observers", name)
    observer = offer.create(offer.settings(), PluginContext(name, default_cache()))
    try:
        yield {name: observer}
    finally:
        observer.close()


@contextmanager
def interruptible(handle: Run) -> Iterator[None]:
    """Stop the search on Ctrl-C; end the run on a second Ctrl-C, SIGTERM or SIGHUP. They determine the exit code."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread can handle signals
        return
    loop, received, ending = asyncio.get_running_loop(), list[int](), list[asyncio.Task[None]]()

    def act(number: int) -> None:
        received.append(number)
        if number == signal.SIGINT and received.count(number) == 1:
            say("Stopping: writing the report from the results so far. Press Ctrl-C again to end the run at once.")
            handle.stop("stopped by Ctrl-C")
            if left := handle.awaited_replies():
                say(f"Waiting for {plural(left, 'model reply', 'model replies')} already requested.")
        elif not ending:
            say("Ending the run.")
            by = "Ctrl-C" if number == signal.SIGINT else signal.Signals(number).name
            ending.append(loop.create_task(handle.cancel(f"ended by {by}")))
            signal.signal(signal.SIGINT, signal.default_int_handler)  # a third Ctrl-C does not wait

    def receive(number: int, _: FrameType | None) -> None:
        loop.call_soon_threadsafe(act, number)  # a signal may interrupt any code, so the event loop acts on it

    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # which is what nohup wants
        numbers.append(signal.SIGHUP)
    before = {number: signal.signal(number, receive) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
