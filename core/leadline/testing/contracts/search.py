"""Contracts of fetchers, parsers, search engines and search strategies."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar
from urllib.parse import urlsplit

import pytest

from leadline._hosting.faults import words
from leadline._runtime.runs.retrieval import as_page
from leadline._settings.secrets import Secrets
from leadline.contracts import Search
from leadline.errors import CallFailed
from leadline.records import Blob, Document, Failure, FetchRequest, Hit, SearchPage, SearchRequest
from leadline.testing.context import FakeCall, NewCall
from leadline.testing.contracts.base import AT_ONCE, PluginContract
from leadline.testing.contracts.checks import must, within

_ODD = ("", " ", "/", "x", ":", "http://", "http://[", "javascript:alert(1)", "text/html; charset=\ud800", "a" * 5000)
_FEW = 64


def check_accepts(plugin: Any, wanted: Sequence[str]) -> None:
    """Check that `accepts` is true for the test requests and returns a bool for any text."""
    for text in (*wanted, *_ODD):
        try:
            accepted = plugin.accepts(text)
        except Exception as error:
            raise AssertionError(
                f"accepts({text!r:.60}) raised {words(error)}; it must return True or False"
            ) from error
        must(isinstance(accepted, bool), f"accepts({text!r:.60}) returned {accepted!r}; it must return True or False")
    refused = [text for text in wanted if not plugin.accepts(text)]
    must(not refused, f"accepts() refuses the requests of the test: {refused}")


class FetcherContract(PluginContract[FetchRequest, Blob]):
    """Contract of fetchers. Set `tested`; fixture: `requests`, addresses that it can read."""

    kind = "fetchers"
    record = Blob
    verb = "fetch"
    heeds: ClassVar[bool] = True
    """False if it ignores `size` and `accept`, because it only returns whole pages."""

    def check(self, request: FetchRequest, reply: Blob, call: FakeCall) -> None:
        """Check the media type, by which a parser is chosen, and the limits of the request."""
        must(bool(reply.name), "returns bytes without a name; use the name of the file or the address")
        must("/" in reply.media_type, f"returns an invalid media type: {reply.media_type!r}")
        must(
            request.size is None or len(reply.data) <= request.size,
            f"returns {len(reply.data)} bytes for a limit of {request.size}",
        )
        media_type = reply.media_type.partition(";")[0].strip()
        must(
            not request.accept or media_type in request.accept,
            f"returns {media_type}, which the request does not accept",
        )

    async def test_it_says_what_it_accepts(self, plugin: Any, requests: Sequence[FetchRequest]) -> None:
        check_accepts(plugin, [request.url for request in requests])

    async def test_it_keeps_to_what_is_wanted(
        self, plugin: Any, requests: Sequence[FetchRequest], new_call: NewCall, secrets: Secrets
    ) -> None:
        """For a small `size` or a missing picture, it obeys the limit or raises `Unsupported`."""
        if not self.heeds:
            pytest.skip("it ignores `size` and `accept`")
        for wanted in ({"size": 1}, {"accept": ("image/x-nobody-has-it",)}):
            request = requests[0].model_copy(update=wanted)
            await self.failure_or_reply(plugin, request, new_call(), secrets)


class ParserContract(PluginContract[Blob, Document]):
    """Contract of parsers. Set `tested`; fixture: `requests`, whole files that it can read."""

    kind = "parsers"
    record = Document
    verb = "parse"

    def check(self, request: Blob, reply: Document, call: FakeCall) -> None:
        """Check that blocks and pages are in the order of the text, and within it."""
        must(not reply.misfit(), f"returns a document whose offsets are wrong: {reply.misfit()}")

    async def test_it_says_what_it_accepts(self, plugin: Any, requests: Sequence[Blob]) -> None:
        check_accepts(plugin, [request.media_type for request in requests])

    async def test_there_is_text(
        self, plugin: Any, requests: Sequence[Blob], new_call: NewCall, secrets: Secrets
    ) -> None:
        for request in requests:
            reply = await self.reply(plugin, request, new_call(), secrets)
            must(bool(reply.text.strip()), f"finds no text in {request.name}")

    async def test_a_broken_file_is_a_failure_and_no_fault(
        self, plugin: Any, requests: Sequence[Blob], new_call: NewCall, secrets: Secrets
    ) -> None:
        for request in requests:
            half = len(request.data) // 2
            for data in (b"", request.data[:half], request.data[half:], bytes(range(256)) * _FEW, b"\0" * _FEW):
                broken = request.model_copy(update={"data": data})
                await self.failure_or_reply(plugin, broken, new_call(), secrets)


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
        """Check that the hits can be cited and do not exceed the limit."""
        must(len(reply.hits) <= request.limit, f"returns {len(reply.hits)} hits for a limit of {request.limit}")
        for hit in reply.hits:
            must(bool(hit.url.strip()), f"returns a hit without an address: {hit.title!r}")
            must(
                urlsplit(hit.url).scheme.lower() not in _NO_PAGE,
                f"returns an address that is not a page: {hit.url:.60}",
            )
            must(
                not hit.published or bool(_DATE.fullmatch(hit.published)),
                f"returns a date that is not ISO 8601: {hit.published!r}",
            )

    async def test_it_gives_no_more_than_is_wanted(
        self, plugin: Any, requests: Sequence[SearchRequest], new_call: NewCall, secrets: Secrets
    ) -> None:
        await self.reply(plugin, requests[0].model_copy(update={"limit": 1}), new_call(), secrets)


class SearchProviderContract(_SearchContract):
    """Contract of search engines. Set `tested`; fixtures: `requests` if it cannot answer any query."""

    kind = "search_providers"

    async def ask(self, plugin: Any, request: SearchRequest, call: FakeCall) -> Any:
        """Search; a list of hits is the only page."""
        return as_page(await super().ask(plugin, request, call))

    async def test_it_takes_any_query(
        self, plugin: Any, requests: Sequence[SearchRequest], new_call: NewCall, secrets: Secrets
    ) -> None:
        for query in ("海藻の森 숲", "\U0001f30a?", '"a" AND (b OR -c) & d=%20', "x" * 300):
            request = requests[0].model_copy(update={"query": query, "language": "ja"})
            await self.failure_or_reply(plugin, request, new_call(), secrets)


class SearchStrategyContract(_SearchContract):
    """Contract of search strategies, with three test engines."""

    kind = "search_strategies"

    def ask(self, plugin: Any, request: SearchRequest, call: FakeCall) -> Any:
        """Search with engines that all answer."""
        return plugin.search(request, {name: engine(name) for name in _ENGINES}, call)

    def check(self, request: SearchRequest, reply: SearchPage, call: FakeCall) -> None:
        """Check that the hits are those of the engines."""
        super().check(request, reply, call)
        must(bool(reply.hits), "returns no hit although the engines do")
        known = {hit.url for name in _ENGINES for hit in hits(name, request)}
        invented = [hit.url for hit in reply.hits if hit.url not in known]
        must(not invented, f"returns hits that no engine returned: {invented}")
        must(len({hit.url for hit in reply.hits}) == len(reply.hits), "returns the same address twice")

    @pytest.mark.parametrize("broken", _ENGINES)
    async def test_it_does_without_an_engine_that_fails(
        self, broken: str, plugin: Any, requests: Sequence[SearchRequest], new_call: NewCall, secrets: Secrets
    ) -> None:
        engines: Mapping[str, Search] = {name: engine(name, fails=name == broken) for name in _ENGINES}
        page = await within(self.patience, plugin.search(requests[0], engines, new_call()))
        must(isinstance(page, SearchPage) and bool(page.hits), "returns no hits if one of three engines fails")

    async def test_it_raises_where_all_engines_fail(
        self, plugin: Any, requests: Sequence[SearchRequest], new_call: NewCall, secrets: Secrets
    ) -> None:
        engines: Mapping[str, Search] = {name: engine(name, fails=True) for name in _ENGINES}
        try:
            page = await within(self.patience, plugin.search(requests[0], engines, new_call()))
        except* CallFailed as group:
            missing = [name for name in _ENGINES if name not in str([str(one) for one in group.exceptions])]
            must(not missing, f"raises without the failures of {missing}; raise all of them as an ExceptionGroup")
        except* Exception as group:
            raise AssertionError(f"raises {words(group)} if all engines fail; raise their failures") from group
        else:
            raise AssertionError(f"returns {page!r} if all engines fail; raise their failures")

    async def test_it_waits_for_no_engine_for_ever(
        self, plugin: Any, requests: Sequence[SearchRequest], new_call: NewCall, secrets: Secrets
    ) -> None:
        """If it is cancelled while engines are running, it cancels them."""
        ended: list[str] = []
        engines: Mapping[str, Search] = {name: silent(name, ended) for name in _ENGINES}
        task = asyncio.create_task(plugin.search(requests[0], engines, new_call()))
        await asyncio.sleep(0.05)
        begun = set(ended)
        task.cancel()
        await asyncio.wait({task}, timeout=self.patience)
        must(task.done() and task.cancelled(), "does not end when it is cancelled while engines are running")
        must(not begun and len(ended) >= 1, "leaves engines running after its cancellation")


def hits(name: str, request: SearchRequest) -> list[Hit]:
    """Return the hits of an engine: one of its own, and one that all engines return."""
    return [Hit(url=f"https://{name}.example/{request.query}", engine=name), Hit(url="https://all.example/")]


def engine(name: str, *, fails: bool = False) -> Search:
    """Return an engine that answers or fails after one iteration of the event loop."""

    async def search(request: SearchRequest) -> SearchPage:
        await asyncio.sleep(0)
        if fails:
            words = {"kind": "search", "provider": name, "type": "Unavailable", "message": f"{name} is closed"}
            raise CallFailed(Failure(category="NETWORK", **words))
        return SearchPage(hits=tuple(hits(name, request)))

    return Search(search)


def silent(name: str, ended: list[str]) -> Search:
    """Return an engine that never answers and records its end."""

    async def search(request: SearchRequest) -> SearchPage:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(name)
        raise AssertionError("nobody sets the event")

    return Search(search)
