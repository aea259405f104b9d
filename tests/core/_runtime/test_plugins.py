"""Plugins of a client: shared by runs with equal settings, closed with the last of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from types import TracebackType

import pytest

import leadline
from leadline.errors import LeadlineError
from leadline.hookspecs import Offer, PluginSettings
from leadline.records import Event
from leadline.testing.fakes import fake_web
from leadline.testing.plugins import plugin

QUESTION = "How deep was the harbour measured at each sounding, in fathoms?"


class Watcher(AbstractAsyncContextManager["Watcher"]):
    """An observer that counts how often it was entered and left."""

    entered = left = 0

    async def __aenter__(self) -> Watcher:
        Watcher.entered += 1
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        Watcher.left += 1

    async def observe(self, event: Event, /) -> None:
        """Take no notice."""


@pytest.fixture(autouse=True)
def counts() -> Iterator[None]:
    Watcher.entered = Watcher.left = 0
    yield
    assert Watcher.left == Watcher.entered


def client(folder: Path, title: str = "") -> leadline.Client:
    watcher = plugin("watcher", observers=Offer(lambda settings, _: Watcher(), PluginSettings, "Watches"))
    values = {"search.engines": ["fakeweb"], "read.fetchers": ["fakeweb"], "observers": ["jsonl", "watcher"]}
    return leadline.Client(
        plugins=[fake_web(), watcher],
        folder=folder / "runs",
        cache=folder / "cache",
        set=values | ({"report.title": title} if title else {}),
    )


async def test_replayed_and_resumed_runs_share_the_plugins_of_equal_settings(tmp_path: Path) -> None:
    async with client(tmp_path) as runs:
        first = await runs.research(QUESTION)
        for _ in range(2):
            await runs.replay(first.folder)
            assert (await (await runs.resume(first.folder)).result()).status == "complete"
        assert (Watcher.entered, Watcher.left) == (1, 0), "equal settings, the same plugins"


async def test_plugins_are_closed_with_the_last_run_of_their_settings(tmp_path: Path) -> None:
    async with client(tmp_path) as runs:
        folders = [(await runs.research(f"{QUESTION} {number}")).folder for number in range(2)]
    async with client(tmp_path, title="Soundings") as runs:
        for _ in range(2):
            handles = [await runs.resume(folder) for folder in folders]
            assert [(await handle.result()).status for handle in handles] == ["complete"] * 2
    assert Watcher.entered <= 3, "once for the two, once at most each time both are gone through again"


async def test_a_run_that_cannot_be_resumed_releases_its_plugins(tmp_path: Path) -> None:
    async with client(tmp_path) as runs:
        first = await runs.research(QUESTION)
    async with client(tmp_path, title="Soundings") as runs:
        handle = await runs.resume(first.folder)
        with pytest.raises(LeadlineError):
            await runs.resume(first.folder)
        assert (await handle.result()).status == "complete"
    assert Watcher.entered == 2
