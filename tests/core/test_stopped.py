"""A run that was stopped in the middle of its pages goes through again as it was."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import leadline
from leadline.contracts import Call
from leadline.hookspecs import Offer, PluginSettings
from leadline.testing.plugins import plugin
from leadline.testing.web import fake_web

QUESTION = "How many fathoms were measured in the harbour?"


def client(folder: Path, *plugins: Any, **settings: Any) -> leadline.Client:
    values: dict[str, Any] = {"search.engines": ["fakeweb"], "read.fetchers": ["fakeweb"]}
    values |= {name.replace("__", "."): value for name, value in settings.items()}
    return leadline.Client(plugins=[fake_web(), *plugins], folder=folder / "runs", cache=folder / "cache", set=values)


class Stops:
    """Has the run stopped once its first page is gone through, and holds the others until then."""

    live = True

    def __init__(self) -> None:
        self.begun, self.through, self.stopped = False, asyncio.Event(), False
        self.handle: Any = None

    async def around(self, request: Any, call: Call, proceed: Any, /) -> Any:
        if call.task != "extract" or self.stopped:
            return await proceed(request)
        if not self.begun:
            self.begun = True
            reply = await proceed(request)
            self.through.set()
            return reply
        await self.through.wait()
        await asyncio.sleep(0.05)  # until that reply has landed
        self.stopped = True
        self.handle.stop()
        return await asyncio.Future()


async def test_a_run_that_was_stopped_is_replayed_with_what_it_had(tmp_path: Path) -> None:
    """An algorithm that was refused then is refused again, though now there is time."""
    stops = Stops()
    middleware = plugin("stops", middleware=Offer(lambda settings, _: stops, PluginSettings, "For a test"))
    async with client(tmp_path, middleware, middleware=["stops"]) as runs:
        stops.handle = await runs.start(QUESTION)
        result = await stops.handle.result()
        assert result.status == "partial"
        again = await runs.replay(result.folder)
    assert result.report is not None
    assert again.report == result.report
