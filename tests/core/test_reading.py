"""What a run keeps of pages and of what is worked out by algorithm: enough to go through it again, and no more."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import leadline
from leadline.contracts import Call
from leadline.hookspecs import Offer, PluginSettings
from leadline.journal import Journal
from leadline.testing.plugins import plugin
from leadline.testing.web import FakePages, WebSettings, fake_web

QUESTION = "How many fathoms were measured in the harbour?"


def client(folder: Path, *plugins: Any, **settings: Any) -> leadline.Client:
    values: dict[str, Any] = {"search.engines": ["fakeweb"], "read.fetchers": ["fakeweb"]}
    values |= {name.replace("__", "."): value for name, value in settings.items()}
    return leadline.Client(plugins=[fake_web(), *plugins], folder=folder / "runs", cache=folder / "cache", set=values)


async def kept(folder: Path) -> Counter[tuple[str, str]]:
    """Return how many replies stand in a journal, by kind and provider."""
    journal = await Journal.open(folder / "journal.sqlite", mode="read")
    try:
        return Counter((row.kind, row.provider) for row in journal.rows() if row.outcome == "reply")
    finally:
        await journal.close()


@pytest.mark.parametrize("priced", [True, False])
async def test_a_page_is_kept_as_a_document_and_as_bytes_only_where_they_cost(priced: bool, tmp_path: Path) -> None:
    pages = Offer(lambda settings, _: FakePages(settings), WebSettings, "For a test", priced=priced)
    async with client(tmp_path, plugin("archive", fetchers=pages), read__fetchers=["archive"]) as runs:
        result = await runs.research(QUESTION)
    assert result.status == "complete"
    assert result.metadata.calls["fetch/archive"] == result.metadata.calls["read/read"] > 0
    rows = await kept(result.folder)
    assert rows["read", "read"] == result.metadata.calls["read/read"]
    assert rows["fetch", "archive"] == (rows["read", "read"] if priced else 0)
    assert not [kind for kind, _ in rows if kind == "perform"]


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
