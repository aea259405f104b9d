"""Contracts of fetchers, parsers, search engines and search strategies."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar
from urllib.parse import urlsplit

import pytest

from leadline._hosting.faults import words
from leadline._runtime.runs.retrieval import as_page
from leadline.contracts import Search
from leadline.errors import CallFailed
from leadline.records import Blob, Document, Failure, FetchRequest, Hit, SearchPage, SearchRequest
from leadline.testing.context import FakeCall
from leadline.testing.contracts.base import AT_ONCE, PluginContract, Subject
from leadline.testing.contracts.checks import all_end, must, within

Fetching = Subject[FetchRequest, Blob]
Searching = Subject[SearchRequest, SearchPage]

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

    async def test_it_keeps_to_what_is_wanted(self, subject: Fetching, requests: Sequence[FetchRequest]) -> None:
        """For a small `size` or a missing picture, it obeys the limit or raises `Unsupported`."""
        if not self.heeds:
            pytest.skip("it ignores `size` and `accept`")
        for wanted in ({"size": 1}, {"accept": ("image/x-nobody-has-it",)}):
            await subject.failure_or_reply(requests[0].model_copy(update=wanted))


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

    async def test_there_is_text(self, subject: Subject[Blob, Document], requests: Sequence[Blob]) -> None:
        for request in requests:
            reply = await subject.reply(request)
            must(bool(reply.text.strip()), f"finds no text in {request.name}")

    async def test_a_broken_file_is_a_failure_and_no_fault(
        self, subject: Subject[Blob, Document], requests: Sequence[Blob]
    ) -> None:
        for request in requests:
            half = len(request.data) // 2
            for data in (b"", request.data[:half], request.data[half:], bytes(range(256)) * _FEW, b"\0" * _FEW):
                await subject.failure_or_reply(request.model_copy(update={"data": data}))


_ENGINES = ("north", "south", "east")
_DATE = re.compile(r"\d{4}(-\d\d(-\d\d([T ].*)?)?)?")
_NO_PAGE = {"javascript", "data", "vbscript"}


class _SearchContract(PluginContract[SearchRequest, SearchPage]):
    record = SearchPage
    verb = "search"

    @pytest.fixture
    def requests(self) -> Sequence[SearchRequest]:
        """Return ten queries."""
        return [SearchRequest(query=f"How deep is harbour {number}?") for number in range(AT_ONCE)]

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

    async def test_it_gives_no_more_than_is_wanted(self, subject: Searching, requests: Sequence[SearchRequest]) -> None:
        await subject.reply(requests[0].model_copy(update={"limit": 1}))


class SearchProviderContract(_SearchContract):
    """Contract of search engines. Set `tested`; fixtures: `requests` if it cannot answer any query."""

    kind = "search_providers"

    async def ask(self, plugin: Any, request: SearchRequest, call: FakeCall) -> Any:
        """Search; a list of hits is the only page."""
        return as_page(await super().ask(plugin, request, call))

    async def test_it_takes_any_query(self, subject: Searching, requests: Sequence[SearchRequest]) -> None:
        for query in ("海藻の森 숲", "\U0001f30a?", '"a" AND (b OR -c) & d=%20', "x" * 300):
            await subject.failure_or_reply(requests[0].model_copy(update={"query": query, "language": "ja"}))


class SearchStrategyContract(_SearchContract):
    """Contract of search strategies, with three test engines."""

    kind = "search_strategies"

    def ask(self, plugin: Any, request: SearchRequest, call: FakeCall) -> Any:
        """Search with engines that all answer."""
        return plugin.search(request, _engines(), call)

    def check(self, request: SearchRequest, reply: SearchPage, call: FakeCall) -> None:
        """Check that the hits are those of the engines."""
        super().check(request, reply, call)
        must(bool(reply.hits), "returns no hit although the engines do")
        known = {hit.url for name in _ENGINES for hit in _hits(name, request)}
        invented = [hit.url for hit in reply.hits if hit.url not in known]
        must(not invented, f"returns hits that no engine returned: {invented}")
        must(len({hit.url for hit in reply.hits}) == len(reply.hits), "returns the same address twice")

    @pytest.mark.parametrize("broken", _ENGINES)
    async def test_it_does_without_an_engine_that_fails(
        self, broken: str, subject: Searching, requests: Sequence[SearchRequest]
    ) -> None:
        work = subject.plugin.search(requests[0], _engines(broken), subject.new_call())
        page = await within(self.patience, work)
        must(isinstance(page, SearchPage) and bool(page.hits), "returns no hits if one of three engines fails")

    async def test_it_raises_where_all_engines_fail(
        self, subject: Searching, requests: Sequence[SearchRequest]
    ) -> None:
        work = subject.plugin.search(requests[0], _engines(*_ENGINES), subject.new_call())
        try:
            page = await within(self.patience, work)
        except* CallFailed as group:
            missing = [name for name in _ENGINES if name not in str([str(error) for error in group.exceptions])]
            must(not missing, f"raises without the failures of {missing}; raise all of them as an ExceptionGroup")
        except* Exception as group:
            raise AssertionError(f"raises {words(group)} if all engines fail; raise their failures") from group
        else:
            raise AssertionError(f"returns {page!r} if all engines fail; raise their failures")

    async def test_it_waits_for_no_engine_for_ever(self, subject: Searching, requests: Sequence[SearchRequest]) -> None:
        """If it is cancelled while engines are running, it cancels them."""
        begun, running = asyncio.Event(), set[str]()

        async def never(name: str, request: SearchRequest) -> SearchPage:
            running.add(name)
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                running.remove(name)
            raise AssertionError("nobody sets the event")

        engines = {name: Search(partial(never, name)) for name in _ENGINES}
        task = asyncio.create_task(subject.plugin.search(requests[0], engines, subject.new_call()))
        await within(self.patience, begun.wait())
        task.cancel()
        await all_end({task}, self.patience)
        must(task.done() and task.cancelled(), "does not end when it is cancelled while engines are running")
        must(not running, "leaves engines running after its cancellation")


def _hits(name: str, request: SearchRequest) -> list[Hit]:
    """Return the hits of an engine: its own, and one that all engines return."""
    return [Hit(url=f"https://{name}.example/{request.query}", engine=name), Hit(url="https://all.example/")]


def _engines(*failing: str) -> dict[str, Search]:
    """Return engines that answer, or fail, after one iteration of the event loop."""

    async def search(name: str, request: SearchRequest) -> SearchPage:
        await asyncio.sleep(0)
        if name in failing:
            details = {"kind": "search", "provider": name, "type": "Unavailable", "message": f"{name} is closed"}
            raise CallFailed(Failure(category="NETWORK", **details))
        return SearchPage(hits=tuple(_hits(name, request)))

    return {name: Search(partial(search, name)) for name in _ENGINES}
