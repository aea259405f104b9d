"""What a plugin raises, whatever it is: told from what was wished from outside, and put in words that cannot fail."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio

_NAMED = 3
"""Errors of a group that are told."""
_FRAMES, _LINE, _TRACE = 30, 500, 8_000
"""Frames of a traceback that are kept, the innermost, and characters of a line and of it all.

An error may repeat a page, and one that recursed without end has thousands of frames."""


class Held(Exception):
    """Stands for what a plugin raised that is no `Exception`.

    A task that raises SystemExit takes the event loop with it, and a CancelledError is lost in a task group.
    """

    def __init__(self, error: BaseException) -> None:
        super().__init__(words(error))
        self.__cause__ = error


def wished(error: BaseException) -> bool:
    """Return whether an error comes from outside of the plugin that let it out: Ctrl-C, or a task that was cancelled.

    A `CancelledError` though nobody cancelled is the plugin's own, as `SystemExit` is: taken for a wish, it would end
    the run without a word, or vanish in a task group. So is a `GeneratorExit` in a task that runs: a coroutine that is
    closed was dropped, most often with its loop.
    """
    if (cancelled := _is_cancelled(error)) or isinstance(error, GeneratorExit):
        task = _task()
        return task is None or (cancelled and task.cancelling() > 0)
    return isinstance(error, KeyboardInterrupt)


def _is_cancelled(error: BaseException) -> bool:
    import asyncio  # only where something failed: who reads settings needs none

    return isinstance(error, asyncio.CancelledError)


def _task() -> asyncio.Task[object] | None:
    import asyncio

    try:
        return asyncio.current_task()
    except RuntimeError:  # no loop runs
        return None


def words(error: BaseException) -> str:
    """Return an error with its class, on one line for people; of a group what it is made of, which its text hides."""
    if isinstance(error, Held):
        return str(error)
    name, text = type(error).__name__, _of_group(error) or text_of(error)
    return f"{name}: {text}" if text else name


def _of_group(error: BaseException) -> str:
    """Return the first errors of a group, those in the same words once; empty for another error."""
    if not isinstance(error, BaseExceptionGroup):
        return ""
    said = [*dict.fromkeys(map(words, leaves(error)))]
    more = len(said) - _NAMED
    return "; ".join(said[:_NAMED]) + (f"; and {more} more" if more > 0 else "")


def text_of(error: BaseException) -> str:
    """Return the text of an error; that of a stranger's may itself fail."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - whatever it raises, something must be told
        return "its text cannot be had"
    return "cancelled from within" if not text and _is_cancelled(error) else text


def trace(error: BaseException, scrub: Callable[[str], str]) -> str:
    """Return the traceback of an error, with the errors behind it, as `scrub` lets it be written down.

    It is cut only then: half a secret would be found by nobody.
    """
    try:
        text = scrub("".join(traceback.format_exception(error, limit=-_FRAMES)).rstrip())
    except Exception:  # noqa: BLE001 - of a stranger's class anything may fail; what it is stands in words elsewhere
        return ""
    lines = (line if len(line) <= _LINE else f"{line[:_LINE]}…" for line in text.splitlines())
    return "\n".join(lines)[-_TRACE:]


def leaves(error: BaseException) -> Iterator[BaseException]:
    """Yield the errors that an error is made of: those of a group, and of the groups in it; else it alone."""
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:
            yield from leaves(one)
    else:
        yield error
