"""Checks of a plugin during a call: its reply, its errors, its cancellation, the tasks it leaves running.

Behaviour that would break a run or lose a reply that was paid for raises an `AssertionError` with the remedy.
"""

from __future__ import annotations

import asyncio
import inspect
import sys
from asyncio import AbstractEventLoop, Task
from collections.abc import Awaitable, Collection, Coroutine, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, TypeVar

from pydantic import ValidationError

from leadline._hosting import faults
from leadline._hosting.faults import words
from leadline._runtime.calls.retry import translate
from leadline._runtime.journal.journal import flatten
from leadline._settings.secrets import Secrets
from leadline.encoding import encode
from leadline.errors import CallFailed, PluginError, ProviderError
from leadline.records import Record
from leadline.testing.contracts.blame import BlockedEventLoop, PluginCode

# Seconds within which a cancelled call must end.
GRACE = 2.0
_MOMENT = 0.01
T = TypeVar("T")
R = TypeVar("R", bound=Record)
Failure = ProviderError | CallFailed
# Errors that cannot describe a failure of the service. Others may, such as a ValueError or the error of an SDK.
_BUGS = (ArithmeticError, AssertionError, AttributeError, LookupError, NameError, TypeError, ValidationError)
_recording: ContextVar[bool] = ContextVar("_recording", default=False)


def must(holds: bool, message: str) -> None:
    """Raise AssertionError with a message; pytest does not rewrite the asserts of libraries."""
    if not holds:
        raise AssertionError(message)


def without_method(name: str) -> str:
    """Return what a run says of a plugin without a method."""
    return f"has no method `{name}`: write `async def {name}(self, …)`"


async def outcome(work: object, secrets: Secrets) -> object:
    """Return the result of a plugin, or the failure it raised as Leadline translates it.

    Raises AssertionError for an error that is a bug of the plugin, and for a secret in the message of an error.
    """
    must(inspect.isawaitable(work), f"returned {type(work).__name__} instead of an awaitable: write `async def`")
    assert isinstance(work, Awaitable)
    try:
        return await work
    except GeneratorExit:
        raise  # the test is closing the coroutine
    except BaseException as error:
        if isinstance(error, asyncio.CancelledError) and _cancelled():
            raise
        return _read(error, secrets)


def _cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _read(error: BaseException, secrets: Secrets) -> Failure:
    text = words(error)
    must(
        secrets.scrub(text) == text,
        f"the message of its {type(error).__name__} contains a secret: {secrets.scrub(text)}",
    )
    if isinstance(error, CallFailed):
        return error  # from a call that it made through its run
    if isinstance(error, PluginError | BlockedEventLoop):
        raise AssertionError(str(error)) from error  # the message already names the plugin, or its line
    failure = translate(error) if isinstance(error, Exception) else None
    if failure is None and isinstance(error, _BUGS):
        raise AssertionError(f"raised {text}{line_of(error)}: this is a bug in the plugin") from error
    if failure is None:
        raise AssertionError(
            f"raised {text}{line_of(error)}: Leadline treats this as a bug of the plugin, without retry or fallback; "
            "raise the matching error of leadline.errors"
        ) from error
    return failure


def line_of(error: BaseException) -> str:
    """Return the innermost line of the plugin in the traceback of an error."""
    return faults.line_of(error, PluginCode().contains)


def succeeded(result: T | Failure) -> T:
    """Return the result of a call that did not fail."""
    if isinstance(result, Failure):
        raise AssertionError(f"failed instead of returning a reply: {words(result)}") from result
    return result


def accepted(reply: object, record: type[R]) -> R:
    """Return a reply after a round trip through JSON."""
    try:
        return encode(reply, record)[1]
    except TypeError as error:
        raise AssertionError(f"{error}") from error


async def all_end(tasks: Collection[Task[Any]], seconds: float) -> bool:
    """Wait until tasks end; return whether they did within a number of seconds, in which the machine had time for them.

    Moments are counted, not the time of the clock: on a busy or suspended machine each of them lasts longer.
    """
    for _ in range(round(seconds / _MOMENT)):
        if all(task.done() for task in tasks):
            break
        await asyncio.wait(tasks, timeout=_MOMENT)
    return all(task.done() for task in tasks)


def start(work: Coroutine[Any, Any, T]) -> Task[T]:
    """Start a task whose error is not logged when it is collected: inside of `ast.parse`, the log crashes pytest."""
    task = asyncio.create_task(work)
    task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
    return task


async def within(seconds: float, work: Coroutine[Any, Any, T]) -> T:
    """Await work for a number of seconds; end it by force if it takes longer."""
    task = start(work)
    if not await all_end([task], seconds):
        await force_end(task)
        raise AssertionError(f"did not answer within {seconds:g} s")
    return task.result()


async def force_end(task: Task[Any]) -> bool:
    """End a task by any means; return whether its cancellation was enough."""
    task.cancel()
    if await all_end([task], GRACE):
        return True
    coroutine = task.get_coro()
    assert coroutine is not None
    with suppress(RuntimeError):  # it resists even this
        coroutine.close()
    task.cancel()
    if await all_end([task], GRACE) and not task.cancelled():
        task.exception()  # mark the error of the closed coroutine as retrieved
    return False


def waiting_at(task: Task[Any], code: PluginCode) -> str:
    """Return the innermost line of the plugin at which a task waits, as ` at file:line`; empty if there is none."""
    awaited: Any = task.get_coro()
    line = ""
    while awaited is not None:
        frame = getattr(awaited, "cr_frame", None)
        if frame and code.contains(frame.f_code.co_filename):
            line = f" at {frame.f_code.co_filename}:{frame.f_lineno}, in {frame.f_code.co_name}"
        awaited = getattr(awaited, "cr_await", None)
    return line


@contextmanager
def record_tasks(code: PluginCode) -> Iterator[dict[Task[Any], str]]:
    """Record the tasks started by the code in the block, and the lines that started them; without test servers'."""
    loop, begun = asyncio.get_running_loop(), dict[Task[Any], str]()
    before = loop.get_task_factory()

    def factory(loop: AbstractEventLoop, work: Any, **options: Any) -> Any:
        task = before(loop, work, **options) if before else Task(work, loop=loop, **options)
        if _recording.get() and isinstance(task, Task):
            begun[task] = code.line(sys._getframe(1), through_core=True)
        return task

    loop.set_task_factory(factory)
    token = _recording.set(True)
    try:
        yield begun
    finally:
        _recording.reset(token)
        loop.set_task_factory(before)


def first_difference(alone: Any, at_once: Any) -> str:
    """Return where the replies to a request alone and at once with others differ, and both values there."""
    trees = (reply.model_dump(mode="json") if isinstance(reply, Record) else reply for reply in (alone, at_once))
    here, there = (dict(flatten(tree)) for tree in trees)
    path = next((path for path in (here | there) if here.get(path) != there.get(path)), "")
    return f"{path or 'the whole reply'}: {here.get(path)!s:.120} alone, {there.get(path)!s:.120} at once"


def ended(task: Task[object]) -> str:
    """Describe the end of a task that ignored its cancellation."""
    if error := task.exception():
        return f"raises {words(error)}"
    result = task.result()
    return f"raises {words(result)}" if isinstance(result, BaseException) else f"returns {type(result).__name__}"
