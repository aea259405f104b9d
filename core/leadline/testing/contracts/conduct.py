"""How a plugin behaves while it is asked: what it gives, what it raises, whether it lets go, what it leaves behind.

Whatever would break a run, or cost it a reply that was paid for, is an `AssertionError` that says what to do.
"""

from __future__ import annotations

import asyncio
import inspect
import sysconfig
import traceback
from asyncio import AbstractEventLoop, Task
from collections.abc import Awaitable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TypeVar

from leadline.door.retry import translate
from leadline.door.secrets import Secrets
from leadline.errors import CallFailed, PluginError, ProviderError
from leadline.journal.wire import encode
from leadline.records import Record, Usage
from leadline.testing.context import FakeCall

GRACE = 2.0
"""Seconds in which what was cancelled must have ended."""
T = TypeVar("T")
R = TypeVar("R", bound=Record)
Failure = ProviderError | CallFailed
_BUGS = (ArithmeticError, AssertionError, AttributeError, LookupError, NameError, TypeError)
"""Errors that say nothing of a service. Any other may stand for what it did: a ValueError, one of an SDK."""
_CORE = Path(__file__).parents[2]
_OTHERS = {Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib")}
_watched: ContextVar[bool] = ContextVar("_watched", default=False)


def must(holds: bool, message: str) -> None:
    """Raise AssertionError with the message where something does not hold: pytest rewrites no asserts of libraries."""
    if not holds:
        raise AssertionError(message)


def told(error: BaseException) -> str:
    """Return an error in words, also one whose text cannot be had."""
    try:
        return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    except Exception as odd:  # noqa: BLE001 - that is what is told
        return f"{type(error).__name__}, whose text cannot be had: {type(odd).__name__}"


async def outcome(work: object, secrets: Secrets) -> object:
    """Return what a plugin returned, or the failure it raised, as the house reads it.

    AssertionError for an error that is the plugin's own fault, and for a secret in the text of one.
    """
    must(inspect.isawaitable(work), f"returned {type(work).__name__} where it is awaited: write `async def`")
    assert isinstance(work, Awaitable)
    try:
        return await work
    except GeneratorExit:
        raise  # it is being put down
    except BaseException as error:
        if isinstance(error, asyncio.CancelledError) and _cancelled():
            raise
        return _read(error, secrets)


def _cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _read(error: BaseException, secrets: Secrets) -> Failure:
    text = told(error)
    must(secrets.scrub(text) == text, f"the text of its {type(error).__name__} holds a secret: {secrets.scrub(text)}")
    if isinstance(error, CallFailed):
        return error  # of a call that it made through its run
    if isinstance(error, PluginError):
        raise AssertionError(str(error)) from error  # the house's own words
    failure = translate(error) if isinstance(error, Exception) else None
    if failure is None and isinstance(error, _BUGS):
        raise AssertionError(f"raised {text}{_where(error)}: this is a bug in the plugin") from error
    if failure is None:
        raise AssertionError(
            f"raised {text}: the house takes that for a fault of the plugin, and tries neither again nor another; "
            "raise an error of leadline.errors, by what happened"
        ) from error
    return failure


def _where(error: BaseException) -> str:
    """Return the innermost line of the plugin's own that an error went through."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not Path(frame.filename).is_relative_to(_CORE)]
    mine = [frame for frame in own if not any(Path(frame.filename).is_relative_to(folder) for folder in _OTHERS)]
    return f" at {last.filename}:{last.lineno}, in {last.name}" if (last := next(reversed(mine or own), None)) else ""


async def answered(work: object, record: type[R], secrets: Secrets, seconds: float) -> R:
    """Return a plugin's reply as the house takes it: of the right record, and the same when it is read from JSON."""
    reply = await within(seconds, outcome(work, secrets))
    if isinstance(reply, Failure):
        raise AssertionError(f"failed where a reply was expected: {told(reply)}") from reply
    return taken(reply, record)


def taken(reply: object, record: type[R]) -> R:
    """Return a reply as the house takes it."""
    try:
        return encode(reply, record)[1]
    except TypeError as error:
        raise AssertionError(f"{error}") from error


async def within(seconds: float, work: Coroutine[Any, Any, T]) -> T:
    """Return what comes of work, in so many seconds; what takes longer is put down, whether it lets itself or not."""
    task = asyncio.create_task(work)
    await asyncio.wait({task}, timeout=seconds)
    if not task.done():
        await put_down(task)
        raise AssertionError(f"has not answered within {seconds:g} s")
    return task.result()


async def put_down(task: Task[Any]) -> bool:
    """End a task; returns whether cancelling it was enough."""
    task.cancel()
    await asyncio.wait({task}, timeout=GRACE)
    if task.done():
        return True
    coroutine = task.get_coro()
    assert coroutine is not None
    with suppress(RuntimeError):  # it holds on even so
        coroutine.close()
    task.cancel()
    await asyncio.wait({task}, timeout=GRACE)
    if task.done() and not task.cancelled():
        task.exception()  # that it was closed is known
    return False


@contextmanager
def watching() -> Iterator[list[Task[Any]]]:
    """Give a list of the tasks that are begun below the block; those of a test's servers are not."""
    loop, begun = asyncio.get_running_loop(), list[Task[Any]]()
    before = loop.get_task_factory()

    def factory(loop: AbstractEventLoop, work: Any, **options: Any) -> Any:
        task = before(loop, work, **options) if before else Task(work, loop=loop, **options)
        if _watched.get() and isinstance(task, Task):
            begun.append(task)
        return task

    loop.set_task_factory(factory)
    token = _watched.set(True)
    try:
        yield begun
    finally:
        _watched.reset(token)
        loop.set_task_factory(before)


async def longest_hold(work: Coroutine[Any, Any, Any]) -> float:
    """Return the longest time, in seconds, for which work kept the event loop to itself."""
    loop = asyncio.get_running_loop()
    task, longest, last = asyncio.create_task(work), 0.0, loop.time()
    while not task.done():
        await asyncio.sleep(0.005)
        longest, last = max(longest, loop.time() - last), loop.time()
    await task
    return longest


def check_spent(call: FakeCall) -> None:
    """Check the usage that a call was told."""
    for usage in call.spent:
        must(isinstance(usage, Usage), f"spends {type(usage).__name__}: it is a leadline.records.Usage")
        counts = [usage.input_tokens, usage.cached_tokens, usage.output_tokens, usage.reasoning_tokens]
        must(all(isinstance(count, int) and count >= 0 for count in counts), f"spends less than nothing: {usage!r}")
        must(usage.cost is None or usage.cost >= 0, f"spends less than nothing: {usage!r}")


def ended(task: Task[object]) -> str:
    """Say what came of a task that was cancelled in vain."""
    if error := task.exception():
        return f"raises {told(error)}"
    found = task.result()
    return f"raises {told(found)}" if isinstance(found, BaseException) else f"returns {type(found).__name__}"
