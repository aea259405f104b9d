"""The fetcher of web pages under the contract of its kind, before a server on loopback."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from leadline._hosting.catalog import PluginCatalog
from leadline.hookspecs import Offer
from leadline.records import FetchRequest
from leadline.testing.contracts import FetcherContract
from leadline.testing.servers import ScriptedServer, raw_reply

PAGE = b"<html><body><p>The harbour is nine fathoms deep.</p></body></html>"


class TestWeb(FetcherContract):
    @pytest.fixture
    def offer(self) -> Offer[Any]:
        return PluginCatalog.discover().offer("fetchers", "web")

    @pytest.fixture
    async def plugin(self, server: ScriptedServer, make: Callable[..., Awaitable[Any]]) -> Any:
        server.routes["/page"] = raw_reply(PAGE)
        return await make()

    @pytest.fixture
    def requests(self, server: ScriptedServer) -> Sequence[FetchRequest]:
        return [FetchRequest(url=server.at("/page"))]

    @pytest.fixture
    async def refused(self, server: ScriptedServer, make: Callable[..., Awaitable[Any]]) -> Any:
        fetcher = await make()
        server.routes["/page"] = raw_reply(b"members only", "403 Forbidden")
        return fetcher
