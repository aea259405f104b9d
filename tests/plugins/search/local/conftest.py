"""An engine over a folder of the test's own, with all parsers."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from leadline.errors import Unsupported
from leadline.records import Hit, SearchRequest
from leadline.testing.context import FakeCall, FakeRun, fake_context
from leadline_plugins.parse.html import HtmlParser
from leadline_plugins.parse.pdf import PdfParser
from leadline_plugins.parse.text import TextParser
from leadline_plugins.parse.word import WordParser
from leadline_plugins.search.local.folders import LocalSettings, resolve
from leadline_plugins.search.local.provider import Addresses, LocalFetcher, LocalSearch

PARSERS = (lambda _: TextParser(), lambda _: HtmlParser(), lambda _: PdfParser(), lambda _: WordParser())


class Desk:
    """A folder, and what is found in it; each engine looks at the folder anew."""

    def __init__(self, top: Path) -> None:
        self.docs = top / "docs"
        self.cache = top / "cache"
        self.docs.mkdir()
        self.call = FakeCall()
        self.call.run = FakeRun()
        self.context = fake_context(self.cache, *PARSERS)

    def write(self, name: str, data: str | bytes) -> Path:
        path = self.docs / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path

    def engine(self, **settings: Any) -> LocalSearch:
        return LocalSearch(LocalSettings(**{"folders": [self.docs], **settings}), self.context)

    def fetcher(self, **settings: Any) -> LocalFetcher:
        return LocalFetcher(LocalSettings(**{"folders": [self.docs], **settings}), self.context)

    async def hits(self, query: str, **settings: Any) -> tuple[Hit, ...]:
        return (await self.engine(**settings).search(SearchRequest(query=query), self.call)).hits

    async def names(self, query: str, **settings: Any) -> list[str]:
        return [self.path(hit.url, **settings).name for hit in await self.hits(query, **settings)]

    def path(self, url: str, **settings: Any) -> Path:
        return self.addresses(**settings).path(url)

    def addresses(self, **settings: Any) -> Addresses:
        return Addresses(self.context.name, resolve(settings.get("folders", [self.docs])))

    async def problems(self, **settings: Any) -> dict[str, str]:
        engine = self.engine(**settings)
        with suppress(Unsupported):  # there is nothing else
            await engine.search(SearchRequest(query="x"), self.call)
        return {Path(path).name: reason for path, reason in engine._index._store.problems()}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.fixture
def make_desk() -> Callable[[Path], Desk]:
    return Desk
