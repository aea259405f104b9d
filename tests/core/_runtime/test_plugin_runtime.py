"""Plugins while they live: made once, entered and left by one task, lent threads and clients."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import httpx

from leadline._hosting.context import PluginContext
from leadline._hosting.lifecycle import PluginLifecycle
from leadline.testing.context import fake_context


class Session:
    """Notes the tasks that enter and leave it."""

    def __init__(self, log: list[tuple[str, Any]], fails: str = "") -> None:
        self._log = log
        self._fails = fails

    async def __aenter__(self) -> Session:
        if self._fails == "enter":
            raise OSError("no such server")
        self._log.append(("in", asyncio.current_task()))
        return self

    async def __aexit__(self, *_: object) -> None:
        self._log.append(("out", asyncio.current_task()))
        if self._fails == "exit":
            raise OSError("gone already")


async def test_a_plugin_is_made_once_however_many_ask_at_once() -> None:
    made: list[object] = []

    def make() -> object:
        made.append(object())
        return made[-1]

    lifecycle = PluginLifecycle("plugin 'mine'", make)
    assert len({id(item) for item in await asyncio.gather(*(lifecycle.get() for _ in range(20)))}) == len(made) == 1


async def test_one_task_enters_and_leaves_a_plugin() -> None:
    log: list[tuple[str, Any]] = []
    lifecycle = PluginLifecycle("plugin 'mine'", lambda: Session(log))
    await asyncio.gather(lifecycle.get(), lifecycle.get())
    await lifecycle.close()
    (first, entering), (last, leaving) = log
    assert (first, last) == ("in", "out")
    assert entering is leaving is not asyncio.current_task()


async def test_the_context_lends_threads_of_the_plugins_own_and_clients_that_the_house_closes(tmp_path: Path) -> None:
    context: PluginContext = fake_context(tmp_path, name="mine")
    name = await context.in_thread(lambda: threading.current_thread().name)
    assert name.startswith("leadline-mine")
    client = context.http(headers={"X-Mine": "1"})
    assert client.headers["user-agent"].startswith("leadline/")
    assert client.headers["x-mine"] == "1"
    assert client.timeout == httpx.Timeout(None, connect=10)
    assert context.cache_dir == tmp_path / "mine"
    await context.close()
    assert client.is_closed
