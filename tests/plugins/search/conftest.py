"""Search engines before a scripted server, made as the house makes them; and what real services answered."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from leadline._hosting.catalog import PluginCatalog
from leadline._hosting.context import PluginContext
from leadline.hookspecs import Offer
from leadline.records import SearchPage, SearchRequest
from leadline.testing.context import FakeCall, fake_context
from leadline.testing.servers import ScriptedServer

HERE = Path(__file__).parents[3]
DATA = Path(os.environ.get("EVAL_DATA") or HERE.parent / "shared" / "data") / "apifix" / "fixtures.jsonl"
KEY = "tvly-a-secret-of-twenty-four"


@pytest.fixture
async def context(tmp_path: Path) -> AsyncIterator[PluginContext]:
    """Lend the engine its context."""
    context = fake_context(tmp_path, name="engine")
    yield context
    await context.close()


@pytest.fixture
def offer_of() -> Callable[[str], Offer[Any]]:
    """Return what an engine's plugin offers."""

    def offer(name: str) -> Offer[Any]:
        return PluginCatalog.discover().offer("search_providers", name)

    return offer


@pytest.fixture
def settings_of(server: ScriptedServer, offer_of: Callable[[str], Offer[Any]]) -> Callable[..., Any]:
    """Return an engine's settings before the server, with a key where it takes one."""

    def settings(name: str, **changes: Any) -> Any:
        form = offer_of(name).settings
        own: dict[str, Any] = {"recall": {"model": "m"}, "model": {"openai_api_key": KEY}}.get(name, {})
        keyed = {"api_key": KEY} if "api_key" in form.model_fields else {}
        return form(**({"base_url": server.url} | keyed | own | changes))

    return settings


@pytest.fixture
def make(
    settings_of: Callable[..., Any], context: PluginContext, offer_of: Callable[[str], Offer[Any]]
) -> Callable[..., Any]:
    """Make an engine before the server, with these settings."""

    def engine(name: str, **settings: Any) -> Any:
        return offer_of(name).create(settings_of(name, **settings), context)

    return engine


@pytest.fixture
def search(make: Callable[..., Any], call: FakeCall) -> Callable[..., Awaitable[SearchPage]]:
    """Search once with an engine before the server: settings by name, the request's own fields in `request`."""

    async def found(name: str, query: str = "kelp forests", *, request: Any = None, **settings: Any) -> SearchPage:
        asked = SearchRequest(**{"query": query, **(request or {})})
        page: SearchPage = await make(name, **settings).search(asked, call)
        return page

    return found


@pytest.fixture(scope="session")
def recorded() -> Callable[[str], list[dict[str, Any]]]:
    """Return the recorded answers of a service; skips where they are not at hand: they are not ours to ship."""

    def rows(provider: str) -> list[dict[str, Any]]:
        if not DATA.is_file():
            pytest.skip(f"no recordings at {DATA}")
        lines = DATA.read_text(encoding="utf-8").splitlines()
        return [row for row in map(json.loads, lines) if row["provider"] == provider]

    return rows
