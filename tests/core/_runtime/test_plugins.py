"""Plugins of a client: shared by runs with equal settings, closed with the last of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar

import pytest
from pydantic import SecretStr

import leadline
from leadline._hosting import lifecycle
from leadline._runtime.journal import storage
from leadline._runtime.journal.lock import FolderLock
from leadline._runtime.runs.folder import LOCK
from leadline.contracts import Call
from leadline.errors import Denied, Disconnected, JournalBusy, PluginError, UsageError
from leadline.hookspecs import KINDS
from leadline.plugin import PluginSettings, ai_provider, fetcher, observer, search_provider
from leadline.records import Blob, Event, FetchRequest, ModelTraits
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
    watcher = plugin("watcher", observer("Watches")(lambda: Watcher()))
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


async def test_a_run_that_cannot_be_resumed_releases_its_plugins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage, "PATIENCE", 0.0)
    async with client(tmp_path) as runs:
        first = await runs.research(QUESTION)
    async with client(tmp_path, title="Soundings") as runs:
        lock = FolderLock(first.folder / LOCK)
        with pytest.raises(JournalBusy):
            await runs.resume(first.folder)
        assert not runs._pool._users
        lock.release()
        assert (await (await runs.resume(first.folder)).result()).status == "complete"
    assert Watcher.entered == 2


class Entered:
    """A plugin of any kind whose `__aenter__` does what it is told."""

    live = True

    def __init__(self, enter: Callable[[], Awaitable[object]]) -> None:
        self._enter = enter

    async def __aenter__(self) -> Entered:
        await self._enter()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Nothing to leave."""

    async def unused(self, *_: object) -> Any:
        raise AssertionError("it was never entered")

    run = observe = around = search = parse = fetch = draw = unused

    def accepts(self, _: str) -> bool:
        return True


async def lost() -> None:
    raise OSError("the disk is gone")


# By kind: the setting that names the plugin.
OUTSIDE_OF_CALLS: dict[str, dict[str, Any]] = {
    "stages": {"pipeline": "mine", "pipelines.mine.stages": ["bad"]},
    "observers": {"observers": ["bad"]},
    "middleware": {"middleware": ["bad"]},
    "parsers": {"read.parsers": ["bad"]},
}


@pytest.mark.parametrize("kind", OUTSIDE_OF_CALLS)
async def test_a_plugin_that_cannot_be_entered_is_named(kind: str, tmp_path: Path) -> None:
    bad = plugin("bad", KINDS[kind]("x")(lambda: Entered(lost)))
    values = {"search.engines": ["fakeweb"], "ai.providers": ["embedded"], **OUTSIDE_OF_CALLS[kind]}
    message = "plugin 'bad' could not be entered: OSError: the disk is gone"
    async with leadline.Client(plugins=[fake_web(), bad], folder=tmp_path, cache=tmp_path / "c", set=values) as runs:
        if kind == "stages":
            assert (await runs.research(QUESTION)).reason == message
        else:
            with pytest.raises(PluginError, match=message):
                await runs.research(QUESTION)


async def test_a_client_closes_although_a_plugin_is_never_entered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lifecycle, "EXIT_SECONDS", 0.05)
    stuck = asyncio.Event()
    never = search_provider("x")(lambda: Entered(stuck.wait))
    values = {"search.engines": ["never"], "search.timeout": 0.1, "retry.attempts": 1, "ai.providers": ["embedded"]}

    async def research() -> str:
        plugins = [plugin("never", never)]
        async with leadline.Client(plugins=plugins, folder=tmp_path, cache=tmp_path / "c", set=values) as runs:
            return (await runs.research(QUESTION)).reason

    reason = await asyncio.wait_for(research(), 100)
    assert "search by never: no reply within 0.1 s (search.timeout)" in reason


class Flaky:
    """A fetcher whose first session is lost at its first request."""

    made: ClassVar[list[Flaky]] = []

    def __init__(self) -> None:
        self.made.append(self)

    def accepts(self, url: str, /) -> bool:
        return True

    async def fetch(self, request: FetchRequest, call: Call, /) -> Blob:
        if self is self.made[0]:
            raise Disconnected("the session is gone")
        return Blob(name=request.url, media_type="text/plain", data=b"The harbour measured seven fathoms.")


async def test_the_next_attempt_uses_the_fetcher_that_was_entered_again(tmp_path: Path) -> None:
    Flaky.made.clear()
    flaky = plugin("flaky", fetcher("x")(lambda: Flaky()))
    values = {"search.engines": ["fakeweb"], "read.fetchers": ["flaky"], "retry.base": 0, "ai.providers": ["embedded"]}
    async with leadline.Client(plugins=[fake_web(), flaky], folder=tmp_path, cache=tmp_path / "c", set=values) as runs:
        result = await runs.research(QUESTION)
    assert "seven fathoms" in result.text, result.reason
    assert len(Flaky.made) == 2, "restarted once for all calls that lost the session"


def test_a_client_is_used_on_one_event_loop_or_opened_again(tmp_path: Path) -> None:
    runs = client(tmp_path)
    question = iter(range(9))

    async def research() -> str:
        return (await runs.research(f"{QUESTION} {next(question)}")).status

    async def opened() -> str:
        async with runs:
            return await research()

    assert [asyncio.run(opened()) for _ in range(2)] == ["complete"] * 2
    assert asyncio.run(research()) == "complete"
    with pytest.raises(UsageError, match="a client belongs to one event loop"):
        asyncio.run(research())


class Keyed(PluginSettings):
    api_key: SecretStr = SecretStr("")


class Refused:
    """A model provider whose key is refused, and a fetcher with the same manners."""

    def traits(self, model: str, /) -> ModelTraits:
        return ModelTraits()

    async def chat(self, request: Any, call: Call, /) -> Any:
        raise Denied("HTTP 401 from http://model.example")


def refusing(folder: Path, **settings: Any) -> leadline.Client:
    offer = ai_provider("x", settings=Keyed, env={"api_key": "HOUSE_KEY"})(lambda: Refused())
    return leadline.Client(
        plugins=[fake_web(), plugin("house", offer)],
        folder=folder / "runs",
        cache=folder / "cache",
        set={"search.engines": ["fakeweb"], "ai.providers": ["house"], **settings},
    )


@pytest.mark.parametrize(
    ("settings", "variables", "advice"),
    [
        ({}, {}, "no key is set: set HOUSE_KEY, or plugins.house.api_key"),
        ({}, {"HOUSE_KEY": "wrong-key"}, "the key comes from environment HOUSE_KEY"),
        (
            {"plugins.house.api_key": "wrong-key"},
            {},
            "the key comes from argument; without it, HOUSE_KEY is read",
        ),
        (
            {"plugins.mine.use": "house", "ai.providers": ["mine"]},
            {"HOUSE_KEY": "wrong-key"},
            "no key is set: set LEADLINE_PLUGINS__MINE__API_KEY, or plugins.mine.api_key",
        ),
    ],
)
async def test_a_refused_key_is_named_by_its_origin(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    settings: dict[str, Any],
    variables: dict[str, str],
    advice: str,
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    async with refusing(tmp_path, **settings) as runs:
        result = await runs.research(QUESTION)
    assert result.status == "failed"
    assert f"HTTP 401 from http://model.example; {advice}" in result.reason


@pytest.mark.parametrize(
    ("settings", "seconds"), [({}, 600.0), ({"limits.house.timeout": 5}, 5.0), ({"search.timeout": 7}, 600.0)]
)
def test_a_model_has_ten_minutes_unless_its_offer_or_the_settings_say_otherwise(
    tmp_path: Path, settings: dict[str, Any], seconds: float
) -> None:
    plugins = refusing(tmp_path, **settings).plugins
    assert plugins.instance("ai_providers", "house").identity.timeout == seconds
