"""Readers of untrusted bytes and texts: functions that are called in a worker process within limits.

What exceeds a limit, or crashes its worker, is refused with the limit in the message; nothing else is affected. The
limits of time are processor time, so that a file is read or refused whatever else the machine does.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from leadline.encoding import require_type
from leadline.errors import Unsupported
from leadline.records import Blob, Document
from leadline.workers import NotPicklable, WorkerDied, run

# Seconds of processor time: for any file, for each megabyte of it, and at most.
_SECONDS, _SECONDS_PER_MB, _MOST_SECONDS = 5.0, 2.0, 30.0
# Bytes of memory for one file; as many files are parsed at once as there are workers.
MEMORY = 256 * 2**20
# Characters of a document that are kept, and its blocks: more than the longest manuals have.
MOST_CHARACTERS = 4_000_000
MOST_BLOCKS = 50_000
T = TypeVar("T")


async def parse_in_worker(function: Callable[[Blob], Document], blob: Blob) -> Document:
    """Return the document that a function reads from bytes, in a worker process.

    The function is importable by name, and may raise what parsers raise. Raises `Unsupported` for a file that takes too
    much time or memory, crashes the worker or nests too deeply; a document that is too long is cut, and says so in
    `incomplete`.
    """
    return await within_limits(blob.name, len(blob.data), _read, function, blob)


async def within_limits(name: str, size: int, function: Callable[..., T], *args: Any) -> T:
    """Return what a function makes of so many bytes that Leadline did not write, in a worker process.

    `name` begins the messages. Raises what `parse_in_worker` does.
    """
    seconds = min(_MOST_SECONDS, _SECONDS + _SECONDS_PER_MB * size / 1e6)
    try:
        return await run(function, *args, timeout=seconds, memory=MEMORY)
    except TimeoutError as error:
        raise Unsupported(f"{name}: was not parsed within {seconds:.0f} s of processor time") from error
    except MemoryError as error:
        raise Unsupported(f"{name}: needs more than {MEMORY >> 20} MB of memory to parse") from error
    except RecursionError as error:
        raise Unsupported(f"{name}: nests too deeply to parse") from error
    except WorkerDied as error:
        reason = f"crashed the parser ({_status(error.status)}), which may use {MEMORY >> 20} MB of memory"
        raise Unsupported(f"{name}: {reason}") from error
    except NotPicklable as error:
        raise TypeError(
            f"{getattr(function, '__qualname__', function)} cannot run in a worker process ({error}): define it in a "
            "module that can be imported, or await `context.in_thread(…)`, which has no limits"
        ) from error


def _read(function: Callable[[Blob], Document], blob: Blob) -> Document:
    return bounded(function(blob))


def whole(reply: object) -> Document:
    """Return the reply of a parser. Raises TypeError for no document, ValueError if its blocks do not fit its text."""
    document = require_type(reply, Document)
    if fault := document.misfit():
        raise ValueError(fault)
    return document


def bounded(document: Document) -> Document:
    """Return a document of at most `MOST_CHARACTERS` and `MOST_BLOCKS`; `incomplete` says what was cut."""
    text, blocks = document.text, document.blocks
    end, reason = len(text), ""
    if end > MOST_CHARACTERS:
        end, reason = MOST_CHARACTERS, f"only the first {MOST_CHARACTERS:,} of {end:,} characters were kept"
    if len(blocks) > MOST_BLOCKS and blocks[MOST_BLOCKS - 1].end <= end:
        end, reason = blocks[MOST_BLOCKS - 1].end, f"only the first {MOST_BLOCKS:,} blocks were kept"
    if not reason:
        return document
    within = [block for block in blocks[:MOST_BLOCKS] if block.start < end]
    if within and within[-1].end > end:
        within[-1] = within[-1].model_copy(update={"end": end})
    return document.model_copy(
        update={
            "text": text[:end],
            "blocks": tuple(within),
            "pages": tuple(page for page in document.pages if page < end),
            "incomplete": document.incomplete or reason,
        }
    )


def _status(status: int | None) -> str:
    if status is not None and status < 0:
        with suppress(ValueError):
            return signal.Signals(-status).name
    return f"status {status}"
