"""A timeout that holds though the work swallows its cancellation: then the work goes on alone, and nobody waits for it.

And a cancellation by the work itself, of the task that it runs in, stays its own: it is not that of whoever waits.

A task of its own for each call would do the same; this costs a fraction of it, and moves only what does not end.
"""

from __future__ import annotations

import asyncio
import types
from collections.abc import Callable, Coroutine, Generator
from typing import Any, Generic, TypeVar

T = TypeVar("T")
GRACE = 5.0
"""Seconds that work has to end once its time is over."""
_alone: set[asyncio.Task[None]] = set()
"""What goes on alone; the loop itself holds tasks only weakly."""


class Severable(Generic[T]):
    """Work to be awaited below a timeout, and left to itself where it goes on for longer than a grace behind it."""

    def __init__(self, work: Coroutine[Any, Any, T], deadline: asyncio.Timeout, grace: float | None = None) -> None:
        self.severed = False
        self._work = work
        self._deadline = deadline
        self._grace = GRACE if grace is None else grace
        self._timer: asyncio.TimerHandle | None = None

    def __await__(self) -> Generator[Any, Any, T]:
        try:
            return (yield from _steps(self._work, self._caught))
        finally:
            if self._timer:
                self._timer.cancel()

    def _caught(self, error: BaseException) -> None:
        """Take what is thrown into the task before the work gets it: that its time is over, or that the grace is."""
        if self.severed:
            task = asyncio.current_task()
            assert task
            task.uncancel()  # it was our own
            left = asyncio.create_task(_go_on(self._work, error), name="left alone")
            _alone.add(left)
            left.add_done_callback(_alone.discard)
            raise error
        if self._timer is None and self._deadline.expired():
            task = asyncio.current_task()
            assert task
            self._timer = task.get_loop().call_later(self._grace, self._sever, task)

    def _sever(self, task: asyncio.Task[Any]) -> None:
        self.severed = True
        task.cancel()


class Contained(Generic[T]):
    """Work to be awaited in a task that it may cancel itself: that is its own error, and passes with it."""

    def __init__(self, work: Coroutine[Any, Any, T]) -> None:
        self._work = work

    def __await__(self) -> Generator[Any, Any, T]:
        return (yield from _steps(self._work, _as_it_is))


def _as_it_is(error: BaseException) -> None:
    """Let the work have what is thrown into its task."""


def _steps(
    work: Coroutine[Any, Any, T], caught: Callable[[BaseException], None], error: BaseException | None = None
) -> Generator[Any, Any, T]:
    """Step through the work as `await` does; whatever is thrown in is shown to `caught` first, which may raise.

    Who cancels the task during a step is the work itself, for nobody else runs meanwhile.
    """
    resume: Callable[[Any], Any] = work.throw if error else work.send
    value: Any = error
    task = asyncio.current_task()
    assert task
    while True:
        before = task.cancelling()
        try:
            waited = resume(value)
        except BaseException as ended:
            if task.cancelling() > before:
                _take_back(task, before)
                yield from _let_pass(task)
            if not isinstance(ended, StopIteration):
                raise
            result: T = ended.value
            return result
        _take_back(task, before)
        try:
            value, resume = (yield waited), work.send
        except BaseException as thrown:  # noqa: BLE001 - the work gets it
            caught(thrown)
            value, resume = thrown, work.throw


def _take_back(task: asyncio.Task[Any], before: int) -> None:
    while task.cancelling() > before:
        task.uncancel()


def _let_pass(task: asyncio.Task[Any]) -> Generator[Any, Any, None]:
    """Take the error that the task is due for a cancellation that was taken back, unless another came meanwhile."""
    before = task.cancelling()
    try:
        yield
    except asyncio.CancelledError:
        if task.cancelling() > before:
            raise


async def _go_on(work: Coroutine[Any, Any, Any], error: BaseException) -> None:
    try:
        await _stepping(work, error)
    except Exception:  # noqa: BLE001 - nobody waits for it
        return


@types.coroutine
def _stepping(work: Coroutine[Any, Any, Any], error: BaseException) -> Generator[Any, Any, Any]:
    return (yield from _steps(work, _as_it_is, error))
