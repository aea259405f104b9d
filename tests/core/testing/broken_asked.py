"""Engines and models that are wrong in one way each; `test_contracts.py` runs this file by a pytest of its own.

Each is held against the contract of its kind; that `good` passes and which tests the others fail is told there.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import Any

import pytest
from pydantic import SecretStr

from leadline.hookspecs import Offer, offers_of
from leadline.plugin import PluginSettings, ai_provider, search_provider
from leadline.records import ChatReply, Hit, Message, ModelTraits, SearchPage, ToolCall, Usage
from leadline.testing.contracts import AIProviderContract, SearchProviderContract


class KeySettings(PluginSettings):
    key: SecretStr


class OddError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("even its text fails")


def conduct(how: str, key: str) -> Any:
    """Do what any kind of plugin can do wrong; anything else is left to its kind."""
    match how:
        case "none" | "dict" | "str":
            return {"none": None, "dict": {"hits": []}, "str": "hello"}[how]
        case "key_in_error":
            raise ConnectionError(f"https://x.example/?key={key} refused")
        case "own_fault":
            raise KeyError("region")
        case "odd_error":
            raise OddError
        case "exits":
            raise SystemExit("bye")
        case "cancels_itself":
            raise asyncio.CancelledError
    return ...


async def wait_wrongly(how: str) -> None:
    match how:
        case "hangs":
            await asyncio.sleep(3600)
        case "stubborn":
            while True:
                try:
                    await asyncio.sleep(0.01)
                    return
                except asyncio.CancelledError:
                    await asyncio.sleep(3600)
        case "swallows":
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0.01)
        case "leaves_a_task":
            LEFT.append(asyncio.create_task(asyncio.sleep(3600)))
        case _:
            await asyncio.sleep(0)


LEFT: list[asyncio.Task[Any]] = []


class Engine:
    def __init__(self, how: str, settings: KeySettings, seconds: float) -> None:
        self.how, self.key, self.seconds = how, settings.key.get_secret_value(), seconds
        self.query = ""

    async def search(self, request: Any, call: Any, /) -> Any:
        self.query = request.query
        await wait_wrongly(self.how)
        if self.how == "blocks" and "harbour 0" in request.query:
            time.sleep(self.seconds)
        if (wrong := conduct(self.how, self.key)) is not ...:
            return wrong
        query = self.query if self.how == "shared" else request.query
        hit = Hit(url="x:1", title=query, text="The harbour is nine fathoms deep.")
        changes: dict[str, Any] = {
            "no_address": {"url": " "},
            "script": {"url": "javascript:alert(1)"},
            "key_in_hit": {"url": f"https://x.example/?key={self.key}"},
            "no_date": {"published": "yesterday"},
        }
        hit = hit.model_copy(update=changes.get(self.how, {}))
        if self.how == "unchecked":
            return SearchPage.model_construct(hits={"url": "x:1"})  # type: ignore[arg-type]
        if self.how == "not_json":
            return SearchPage(hits=(hit.model_copy(update={"score": float("nan")}),))
        return SearchPage(hits=(hit,) * (50 if self.how == "many" else 1))


class SyncEngine:
    def search(self, request: Any, call: Any, /) -> Any:
        return SearchPage()


def seconds_of(test: pytest.FixtureRequest) -> float:
    """Return for how long a plugin blocks: on a busy machine, the kit needs some time to notice."""
    return 1.0 if "event_loop_free" in test.node.name else 0.01


def ways(names: str) -> pytest.MarkDecorator:
    """Give each test of a class these ways of being wrong; one is none."""
    return pytest.mark.parametrize("how", names.split())


class Engines(SearchProviderContract):
    @pytest.fixture(autouse=True)
    def _short_patience(self, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
        if how == "hangs":  # a slow machine must not make the others late
            monkeypatch.setattr(type(self), "patience", 0.5)

    @pytest.fixture
    def offer(self, how: str, request: pytest.FixtureRequest) -> Offer[Any]:
        if how == "sync":
            return offers_of(search_provider("Sync")(lambda: SyncEngine()))[self.kind]
        summary = "" if how == "bad_offer" else "An engine"
        seconds = seconds_of(request)
        engine = search_provider(summary, settings=KeySettings)(lambda settings: Engine(how, settings, seconds))
        return offers_of(engine)[self.kind]


@ways("good none dict str key_in_error own_fault odd_error exits cancels_itself blocks hangs stubborn swallows")
class TestConduct(Engines):
    pass


@ways("leaves_a_task no_address script key_in_hit no_date unchecked not_json many shared sync bad_offer")
class TestSearch(Engines):
    pass


class Model:
    def __init__(self, how: str) -> None:
        self.how = how

    def traits(self, model: str, /) -> Any:
        if self.how == "traits_none":
            return None
        if self.how == "traits_raise":
            raise KeyError(model)
        return ModelTraits(tools=True, context_tokens=0 if self.how == "traits_zero" else None)

    async def chat(self, request: Any, call: Any, /) -> Any:
        text = request.messages[-1].text
        streamed = text[:-1] if self.how == "stream_short" else text
        for piece in (streamed[:3], streamed[3:]):
            call.emit("text", piece)
            await asyncio.sleep(0)
        used: dict[str, Any] = {"negative": Usage(input_tokens=-5), "no_usage": {"input_tokens": 5}}
        call.spend(used.get(self.how, Usage(input_tokens=5)))
        role = "user" if self.how == "role" else "assistant"
        wishes = (ToolCall(id="", name="rm", arguments={}),) if self.how == "tool" else ()
        return ChatReply(message=Message(role=role, text=text, tool_calls=wishes))


@ways("good traits_none traits_raise traits_zero stream_short negative no_usage role tool")
class TestAI(AIProviderContract):
    @pytest.fixture
    def offer(self, how: str) -> Offer[Any]:
        return offers_of(ai_provider("A model")(lambda: Model(how)))[self.kind]
