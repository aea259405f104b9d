"""The contracts of search: engines, and how several of them serve one query."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import pytest

from leadline.contracts import Search
from leadline.door.secrets import Secrets
from leadline.errors import CallFailed
from leadline.records import Failure, Hit, SearchPage, SearchRequest
from leadline.testing.context import FakeCall
from leadline.testing.contracts.base import AT_ONCE, PluginContract
from leadline.testing.contracts.conduct import must, told, within

_ENGINES = ("north", "south", "east")
_DATE = re.compile(r"\d{4}(-\d\d(-\d\d([T ].*)?)?)?")
_NO_PAGE = {"javascript", "data", "vbscript"}


class _SearchContract(PluginContract[SearchRequest, SearchPage]):
    record = SearchPage
    verb = "search"

    @pytest.fixture
    def requests(self) -> Sequence[SearchRequest]:
        """Return ten queries."""
        return [SearchRequest(query=f"How deep is harbour {place}?") for place in range(AT_ONCE)]

    def check(self, request: SearchRequest, reply: SearchPage, call: FakeCall) -> None:
        """Check that the hits can be cited, and are no more than were wanted."""
        must(len(reply.hits) <= request.limit, f"gives {len(reply.hits)} hits where at most {request.limit} are wanted")
        for hit in reply.hits:
            must(bool(hit.url.strip()), f"gives a hit without an address: {hit.title!r}")
            must(urlsplit(hit.url).scheme.lower() not in _NO_PAGE, f"gives an address that is no page: {hit.url:.60}")
            must(not hit.published or bool(_DATE.fullmatch(hit.published)), f"no ISO 8601 date: {hit.published!r}")

    async def test_it_gives_no_more_than_is_wanted(
        self, plugin: Any, requests: Sequence[SearchRequest], new_call: Callable[[], FakeCall], secrets: Secrets
    ) -> None:
        await self.reply(plugin, requests[0].model_copy(update={"limit": 1}), new_call(), secrets)


class SearchProviderContract(_SearchContract):
    """What every search engine does. Fixture: `offer`; `requests`, where it does not take any query."""

    kind = "search_providers"

    async def test_it_takes_any_query(
        self, plugin: Any, requests: Sequence[SearchRequest], new_call: Callable[[], FakeCall], secrets: Secrets
    ) -> None:
        for query in ("海藻の森 숲", "\U0001f30a?", '"a" AND (b OR -c) & d=%20', "x" * 300):
            request = requests[0].model_copy(update={"query": query, "language": "ja"})
            await self.failure_or_reply(plugin, request, new_call(), secrets)


class SearchStrategyContract(_SearchContract):
    """What every search strategy does, over three engines of the test's. Fixture: `offer`."""

    kind = "search_strategies"

    def ask(self, plugin: Any, request: SearchRequest, call: FakeCall) -> Any:
        """Search with engines that all answer."""
        return plugin.search(request, {name: engine(name) for name in _ENGINES}, call)

    def check(self, request: SearchRequest, reply: SearchPage, call: FakeCall) -> None:
        """Check that the hits are those of the engines."""
        super().check(request, reply, call)
        must(bool(reply.hits), "gives no hit though the engines do")
        known = {hit.url for name in _ENGINES for hit in hits(name, request)}
        invented = [hit.url for hit in reply.hits if hit.url not in known]
        must(not invented, f"gives hits that no engine gave: {invented}")
        must(len({hit.url for hit in reply.hits}) == len(reply.hits), "gives the same address twice")

    @pytest.mark.parametrize("broken", _ENGINES)
    async def test_it_does_without_an_engine_that_fails(
        self,
        broken: str,
        plugin: Any,
        requests: Sequence[SearchRequest],
        new_call: Callable[[], FakeCall],
        secrets: Secrets,
    ) -> None:
        engines: Mapping[str, Search] = {name: engine(name, fails=name == broken) for name in _ENGINES}
        page = await within(self.patience, plugin.search(requests[0], engines, new_call()))
        must(isinstance(page, SearchPage) and bool(page.hits), "gives no hits where one of three engines fails")

    async def test_it_raises_where_all_engines_fail(
        self, plugin: Any, requests: Sequence[SearchRequest], new_call: Callable[[], FakeCall], secrets: Secrets
    ) -> None:
        engines: Mapping[str, Search] = {name: engine(name, fails=True) for name in _ENGINES}
        try:
            page = await within(self.patience, plugin.search(requests[0], engines, new_call()))
        except* CallFailed as group:
            missing = [name for name in _ENGINES if name not in str([str(one) for one in group.exceptions])]
            must(not missing, f"raises without the failures of {missing}: raise all of them as an ExceptionGroup")
        except* Exception as group:
            raise AssertionError(f"raises {told(group)} where all engines fail: raise their failures") from group
        else:
            raise AssertionError(f"returns {page!r} where all engines fail: an error is never an empty page")

    async def test_it_waits_for_no_engine_for_ever(
        self, plugin: Any, requests: Sequence[SearchRequest], new_call: Callable[[], FakeCall], secrets: Secrets
    ) -> None:
        """Cancelled while engines are silent, it lets go of them."""
        ended: list[str] = []
        engines: Mapping[str, Search] = {name: silent(name, ended) for name in _ENGINES}
        task = asyncio.create_task(plugin.search(requests[0], engines, new_call()))
        await asyncio.sleep(0.05)
        begun = set(ended)
        task.cancel()
        await asyncio.wait({task}, timeout=self.patience)
        must(task.done() and task.cancelled(), "does not let itself be cancelled while engines are silent")
        must(not begun and len(ended) >= 1, "leaves engines running when it is cancelled")


def hits(name: str, request: SearchRequest) -> list[Hit]:
    """Return what an engine gives for a query: one page of its own, and one that all engines know."""
    return [Hit(url=f"https://{name}.example/{request.query}", engine=name), Hit(url="https://all.example/")]


def engine(name: str, *, fails: bool = False) -> Search:
    """Return an engine that answers, or fails, after a turn of the event loop."""

    async def search(request: SearchRequest) -> SearchPage:
        await asyncio.sleep(0)
        if fails:
            words = {"kind": "search", "provider": name, "type": "Unavailable", "message": f"{name} is closed"}
            raise CallFailed(Failure(category="NETWORK", **words))
        return SearchPage(hits=tuple(hits(name, request)))

    return search


def silent(name: str, ended: list[str]) -> Callable[[SearchRequest], Awaitable[SearchPage]]:
    """Return an engine that never answers, and notes its end."""

    async def search(request: SearchRequest) -> SearchPage:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(name)
        raise AssertionError("nobody sets the event")

    return search
