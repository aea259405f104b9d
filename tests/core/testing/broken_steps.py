"""Stages, middleware and observers that are wrong in one way each, and faults of any kind beside the reply.

`test_contracts.py` runs this file by a pytest of its own, as `broken_asked.py`.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from datetime import datetime
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from leadline.errors import Refused
from leadline.findings import Key
from leadline.hookspecs import Offer, offers_of
from leadline.plugin import PluginSettings, map_stage, middleware, observer, search_provider, stage
from leadline.records import Block, ChatRequest, Document, FetchRequest, Hit, Record, SearchPage, SearchRequest, Source
from leadline.research_findings import SOURCES
from leadline.testing.context import FakeRun
from leadline.testing.contracts import (
    KEY,
    MapStageContract,
    MiddlewareContract,
    ObserverContract,
    SearchProviderContract,
    StageContract,
)
from leadline.testing.servers import json_answer, scripted_server


def ways(names: str) -> Any:
    return pytest.mark.parametrize("how", names.split())


class Depth(Record):
    id: str


class Deepest(Record):
    depth: str


class Choice(Record):
    text: str


DEPTHS: Key[Any] = Key("depths", Depth, grows=True)
DEEPEST: Key[Any] = Key("deepest", Deepest)
CHOICE: Key[Any] = Key("choice", Choice)


class Stage:
    def __init__(self, how: str) -> None:
        self.how = how
        self.count = 0

    async def run(self, findings: Any, run: Any, /) -> Any:
        await asyncio.sleep(0)
        self.count += 1
        if self.how == "reads_undeclared":
            findings.get(Key("other", Depth))
        if self.how == "needs_wanted":
            findings.get(CHOICE).text.upper()
        answer = await run.ask("Which one?", {}, {"which": "first"} if self.how != "asks_nobody" else None)
        value = {"wrong_type": Choice(text="x"), "unstable": Deepest(depth=f"{self.count}")}.get(
            self.how, Deepest(depth=answer.content["which"])
        )
        if self.how != "writes_nothing":
            findings[DEEPEST] = value
        return findings if self.how == "returns" else None


@ways("good reads_undeclared needs_wanted wrong_type unstable writes_nothing returns asks_nobody")
class TestStage(StageContract):
    @pytest.fixture
    def offer(self, how: str) -> Offer[Any]:
        keys: dict[str, Any] = {"needs": (DEPTHS,), "wants": (CHOICE,), "gives": (DEEPEST,)}
        return offers_of(stage("Finds the deepest", **keys)(lambda: Stage(how)))[self.kind]

    @pytest.fixture
    def requests(self) -> list[Any]:
        return [{DEPTHS: [Depth(id="a"), Depth(id="b")], CHOICE: Choice(text="x")}]

    @pytest.fixture
    def new_run(self, how: str) -> Any:
        answered = [{"which": "second"}] if how == "good" else []
        return lambda: FakeRun(answers=answered)


class Mapped:
    def __init__(self, how: str) -> None:
        self.how = how

    async def map(self, item: Depth, findings: Any, run: Any, /) -> Any:
        await asyncio.sleep(0)
        if self.how == "maps_to_none":
            return None
        return [Choice(text=item.id)] if self.how == "maps_to_other" else [Deepest(depth=item.id)]

    async def rest(self, items: Any, findings: Any, run: Any, /) -> Any:
        return [Choice(text="x")] if self.how == "rests_wrongly" else ()


@ways("good maps_to_none maps_to_other rests_wrongly")
class TestMapStage(MapStageContract):
    @pytest.fixture
    def offer(self, how: str) -> Offer[Any]:
        found: Key[Any] = Key("found", Deepest, grows=True)
        return offers_of(map_stage("Maps", over=DEPTHS, gives=found)(lambda: Mapped(how)))[self.kind]

    @pytest.fixture
    def requests(self) -> list[Any]:
        return [{DEPTHS: [Depth(id="a"), Depth(id="b")]}]


class Redacts:
    def __init__(self, how: str) -> None:
        self.how = how

    async def map(self, item: Source, findings: Any, run: Any, /) -> Any:
        await asyncio.sleep(0)
        text = item.document.text.replace("Ann", "somebody")
        blocks = {"blocks": item.document.blocks} if self.how == "stale" else {}
        return [item.model_copy(update={"document": item.document.model_copy(update={"text": text, **blocks})})]


@ways("good stale")
class TestRedactingStage(MapStageContract):
    @pytest.fixture
    def offer(self, how: str) -> Offer[Any]:
        return offers_of(map_stage("Redacts", over=SOURCES, gives=SOURCES)(lambda: Redacts(how)))[self.kind]

    @pytest.fixture
    def requests(self) -> list[Any]:
        blocks = (Block(kind="paragraph", start=0, end=9), Block(kind="paragraph", start=11, end=17))
        document = Document(text="Ask Ann.\n\n\nSevens.", blocks=blocks)
        return [{SOURCES: [Source(id="s1", hit=Hit(url="x:1"), document=document)]}]


SUBJECTS: dict[Any, str] = {ChatRequest: "messages", SearchRequest: "query", FetchRequest: "url"}


class Around:
    live: Any = True

    def __init__(self, how: str) -> None:
        self.how = how
        if how == "not_live":
            self.live = "yes"

    async def around(self, request: Any, call: Any, proceed: Any, /) -> Any:
        if self.how == "knows_three":
            SUBJECTS[type(request)]
        if self.how == "changes_type":
            request = SearchRequest(query="x")
        if self.how == "refuses":
            raise Refused("not in this house")
        try:
            reply = await proceed(request)
        except Exception:
            if self.how == "stumbles":
                raise KeyError("status") from None
            raise
        return "fine" if self.how == "replies_wrongly" else reply


@ways("good not_live knows_three changes_type refuses stumbles replies_wrongly")
class TestMiddleware(MiddlewareContract):
    @pytest.fixture
    def offer(self, how: str) -> Offer[Any]:
        return offers_of(middleware("Around calls")(lambda: Around(how)))[self.kind]


class Watching:
    deltas: Any = False

    def __init__(self, how: str) -> None:
        self.how = how
        self.began: set[str] = set()
        if how == "odd_deltas":
            self.deltas = "some"

    async def observe(self, event: Any, /) -> Any:
        await asyncio.sleep(0)
        if self.how == "knows_all" and event.kind.startswith("acme"):
            raise ValueError("no such event")
        if self.how == "needs_data":
            event.data["kind"].upper()
        if self.how == "mixes_runs":
            if event.kind == "run.started":
                self.began = {event.run_id}
            assert event.run_id in self.began
        return event if self.how == "observes_wrongly" else None


@ways("good odd_deltas knows_all needs_data mixes_runs observes_wrongly")
class TestObserver(ObserverContract):
    @pytest.fixture
    def offer(self, how: str) -> Offer[Any]:
        return offers_of(observer("Watches")(lambda: Watching(how)))[self.kind]


# --- faults beside the reply, of any kind ----------------------------------------------------------------------------


LEFT: list[Any] = []


class WithKey(PluginSettings):
    api_key: SecretStr


class Engine:
    def __init__(self, how: str, url: str, context: Any, seconds: float) -> None:
        self.how, self.url, self.context, self.seconds = how, url, context, seconds
        self.count = 0
        # Kept, so that nothing warns of them when they are collected.
        self.client: Any = httpx.AsyncClient() if how == "leaks_a_client" else context.http()
        LEFT.append(self.client)

    async def search(self, request: SearchRequest, call: Any, /) -> SearchPage:
        self.count += 1
        if self.how == "leaks_each_call":
            self.client = httpx.AsyncClient()
            LEFT.append(self.client)
        if self.how == "leaks_a_connection":
            parts = httpx.URL(self.url)
            LEFT.append(await asyncio.open_connection(parts.host, parts.port))
        if self.how == "asks_synchronously":
            with suppress(Exception):
                httpx.get(self.url)
        await self.client.get(self.url)
        if self.how == "prints_its_key":
            print(self.client.headers, KEY)
        if self.how == "sleeps" and "harbour 0" in request.query:
            time.sleep(self.seconds)
        if self.how == "sleeps_elsewhere" and "harbour 0" in request.query:
            await self.context.in_thread(time.sleep, self.seconds)
        if self.how == "starts_a_task":
            LEFT.append(asyncio.create_task(asyncio.sleep(3600), name="refresher"))
        title = f"{self.count}" if self.how == "varies" else request.query
        if self.how == "reads_the_clock":
            title = datetime.now().strftime("%H:%M:%S")
        return SearchPage(hits=(Hit(url="x:1", title="One"), Hit(url="x:2", title=title))[: request.limit])


WAYS = "good leaks_a_client leaks_each_call leaks_a_connection sleeps sleeps_elsewhere starts_a_task varies"


@ways(f"{WAYS} asks_synchronously prints_its_key reads_the_clock")
class TestEngine(SearchProviderContract):
    @pytest.fixture
    async def url(self) -> Any:
        async with scripted_server(json_answer({})) as server:
            yield server.url

    @pytest.fixture
    def offer(self, how: str, url: str, request: pytest.FixtureRequest) -> Offer[Any]:
        # On a busy machine, the kit needs some time to notice that an engine blocks.
        seconds = 1.0 if "event_loop_free" in request.node.name else 0.01
        engine = search_provider("An engine", settings=WithKey)(lambda context: Engine(how, url, context, seconds))
        return offers_of(engine)[self.kind]


@ways("good heavy required native")
class TestImports(SearchProviderContract):
    @pytest.fixture
    def offer(self, how: str, monkeypatch: pytest.MonkeyPatch) -> Offer[Any]:
        class Settings(PluginSettings):
            pass

        Settings.__module__ = f"{'light' if how == 'good' else how}_plugin"
        requires = ("wave=acme[wave]",) if how == "required" else ()
        context: Any = None
        engine = search_provider("An engine", settings=Settings, requires=requires)(lambda: Quiet(context))
        return offers_of(engine)[self.kind]


class Quiet:
    def __init__(self, _: Any) -> None:
        pass

    async def search(self, request: SearchRequest, call: Any, /) -> SearchPage:
        await asyncio.sleep(0)
        return SearchPage(hits=(Hit(url="x:1", title=request.query),))
