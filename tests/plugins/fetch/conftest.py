"""Fetchers let into a server on loopback, and closed at the end of the test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from leadline.records import Blob, FetchRequest
from leadline.testing.context import FakeCall, fake_context
from leadline.testing.servers import ScriptedServer, scripted_server
from leadline_plugins.fetch.guard import Guard
from leadline_plugins.fetch.web import WebSettings
from leadline_plugins.fetch.web.fetcher import WebFetcher
from leadline_plugins.parse.html import HtmlParser
from leadline_plugins.parse.pdf import PdfParser
from leadline_plugins.parse.text import TextParser


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    async with scripted_server({}) as made:
        yield made


@pytest.fixture
async def make(server: ScriptedServer, tmp_path: Path) -> AsyncIterator[Callable[..., Awaitable[WebFetcher]]]:
    """Make a fetcher that may read the server by its number, and keeps nothing unless told."""
    async with AsyncExitStack() as stack:

        async def made(resolve: Any = None, transport: Any = None, **settings: Any) -> WebFetcher:
            typed = WebSettings(**{"allow": [f"127.0.0.1:{server.port}"], "cache_size": 0, **settings})
            context = fake_context(tmp_path, lambda _: TextParser(), lambda _: HtmlParser(), lambda _: PdfParser())
            guard = Guard(typed.allow, typed.ports, resolve)
            return await stack.enter_async_context(WebFetcher(typed, context, guard, transport))

        yield made


@pytest.fixture
def get(server: ScriptedServer, make: Callable[..., Awaitable[WebFetcher]]) -> Callable[..., Awaitable[Blob]]:
    """Fetch a path of the server, or an address, with a fetcher of these settings, left when it is done."""

    async def got(path: str, **settings: Any) -> Blob:
        url = path if "://" in path else server.at(path)
        async with await make(**settings) as fetcher:
            return await fetcher.fetch(FetchRequest(url=url), FakeCall())

    return got
