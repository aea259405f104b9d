"""The Python interface: `research()`, `research_sync()`, and `Client` for everything else.

result = await leadline.research("How does …?", docs="papers/")

async with leadline.Client(docs="papers/") as client:
    run = await client.start("How does …?")
    async for event in run.events():
        print(event.kind, event.data)
    result = await run.result()
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, TypedDict, Unpack

from leadline._runtime import task_groups
from leadline._runtime.plugins import default_cache
from leadline._settings.drift import KEY_FILE
from leadline.client import Client
from leadline.errors import UsageError
from leadline.permits import Permits
from leadline.runs import Result


class ClientOptions(TypedDict, total=False):
    """The options of `Client`, which `research` and `research_sync` take as well."""

    docs: str | Path | Sequence[str | Path]
    settings: str | Path | None
    set: Mapping[str, Any] | Sequence[str]
    pipeline: str
    formats: Sequence[str]
    folder: str | Path | None
    cache: str | Path | None
    plugins: Iterable[EntryPoint]
    permits: Permits | None


async def research(question: str, *, tags: Mapping[str, str] | None = None, **options: Unpack[ClientOptions]) -> Result:
    """Answer a question; the options are those of `Client`."""
    async with Client(**options) as client:
        return await client.research(question, tags=tags)


def research_sync(question: str, *, tags: Mapping[str, str] | None = None, **options: Unpack[ClientOptions]) -> Result:
    """Answer a question, from code that is not async."""
    with contextlib.suppress(RuntimeError):
        asyncio.get_running_loop()
        raise UsageError("an event loop is running in this thread: await leadline.research(…) instead")
    return task_groups.run_loop(research(question, tags=tags, **options))


def secret_file() -> Path:
    """Return the file of 32 random bytes by which runs recognize values that they do not store.

    Machines that take over each other's runs need the same, before their first `Client`.
    """
    return default_cache() / KEY_FILE


def tune_gc() -> None:
    """Exempt modules, plugins and settings from garbage collection, and collect less often.

    Call it once they are loaded, in a process that mostly serves runs: it affects the whole process. Without it, full
    collections stop all runs for up to 150 ms and take a sixth of the time of many concurrent runs.
    """
    # Garbage that exists now stays, too: collecting it first would take 30 ms, and at the start there is little.
    gc.freeze()
    gc.set_threshold(5_000, 3, 120)
