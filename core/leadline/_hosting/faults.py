"""Errors of plugins: whether they are cancellations, and their text for messages, whatever class they have."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from leadline.records.notices import Notice

if TYPE_CHECKING:
    import asyncio

# Errors of a group that a message names.
_NAMED = 3
# The innermost frames of a traceback that are kept, characters of a line, and of the whole. An error may repeat a page,
# and after an endless recursion there are thousands of frames.
_FRAMES, _LINE, _TRACE = 30, 500, 8_000


class Held(Exception):
    """Wraps an error of a plugin that is no `Exception`.

    A task that raises SystemExit takes the event loop with it, and a CancelledError is lost in a task group.
    """

    def __init__(self, error: BaseException) -> None:
        super().__init__(words(error))
        self.__cause__ = error


def is_cancellation(error: BaseException) -> bool:
    """Return True for Ctrl-C and for the cancellation of the running task: errors from outside of the plugin.

    A `CancelledError` without a cancellation is an error of the plugin, as `SystemExit` is: otherwise it would end the
    run without a message, or vanish in a task group. The same holds for a `GeneratorExit` in a running task; without a
    task, the coroutine was dropped, mostly with its loop.
    """
    if (cancelled := _is_cancelled(error)) or isinstance(error, GeneratorExit):
        task = _task()
        return task is None or (cancelled and task.cancelling() > 0)
    return isinstance(error, KeyboardInterrupt)


def _is_cancelled(error: BaseException) -> bool:
    import asyncio  # not at the top: commands that only read settings start faster

    return isinstance(error, asyncio.CancelledError)


def _task() -> asyncio.Task[object] | None:
    import asyncio

    try:
        return asyncio.current_task()
    except RuntimeError:  # no loop runs
        return None


def words(error: BaseException) -> str:
    """Return an error with its class on one line; for a group its errors, which its own text does not show."""
    if isinstance(error, Held):
        return str(error)
    name, text = type(error).__name__, _of_group(error) or message_of(error)
    return f"{name}: {text}" if text else name


def _of_group(error: BaseException) -> str:
    """Return the first errors of a group, equal ones once; empty for another error."""
    if not isinstance(error, BaseExceptionGroup):
        return ""
    texts = [*dict.fromkeys(map(words, flatten(error)))]
    more = len(texts) - _NAMED
    return "; ".join(texts[:_NAMED]) + (f"; and {more} more" if more > 0 else "")


def message_of(error: BaseException) -> str:
    """Return the text of an error, although `str` of a foreign class may itself raise an error."""
    try:
        text = error.args[0] if error.args and isinstance(error.args[0], Notice) else str(error)
    except Exception:  # noqa: BLE001 - foreign code may raise anything
        return "its text cannot be read"
    return "cancelled from within" if not text and _is_cancelled(error) else text


def trace(error: BaseException, scrub: Callable[[str], str]) -> str:
    """Return the traceback of an error and its causes, masked by `scrub`, then cut: half a secret is not found."""
    try:
        text = scrub("".join(traceback.format_exception(error, limit=-_FRAMES)).rstrip())
    except Exception:  # noqa: BLE001 - foreign code may raise anything; the message is reported elsewhere
        return ""
    lines = (line if len(line) <= _LINE else f"{line[:_LINE]}…" for line in text.splitlines())
    return "\n".join(lines)[-_TRACE:]


def line_of(error: BaseException, is_own: Callable[[str], bool]) -> str:
    """Return the innermost line in the traceback of an error that is in an own file, as ` at file:line, in name`."""
    error = error.__cause__ if isinstance(error, Held) and error.__cause__ else error
    first = next(flatten(error), error)
    lines = [(frame.f_code, line) for frame, line in traceback.walk_tb(first.__traceback__)]
    code, line = next((it for it in reversed(lines) if is_own(it[0].co_filename)), (None, 0))
    return f" at {code.co_filename}:{line}, in {code.co_name}" if code else ""


def flatten(error: BaseException) -> Iterator[BaseException]:
    """Yield the errors of a group and of the groups in it; another error itself."""
    if isinstance(error, BaseExceptionGroup):
        for member in error.exceptions:
            yield from flatten(member)
    else:
        yield error
