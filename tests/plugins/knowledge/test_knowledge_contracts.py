"""The stage and the fetcher of the knowledge base under the contracts of their kinds."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from leadline import Client
from leadline._hosting.catalog import PluginCatalog
from leadline.errors import Unsupported
from leadline.hookspecs import Offer
from leadline.records import Blob, FetchRequest
from leadline.testing.context import FakeCall, FakeRun, fake_context
from leadline.testing.contracts import FetcherContract
from leadline_plugins.knowledge import KnowledgeSettings
from leadline_plugins.knowledge.base import KnowledgeFetcher


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("base") / "knowledge"


@pytest.fixture(scope="module")
def url(folder: Path) -> str:
    """The address of a document of the user ada and, first, of a shared one."""
    document = Blob(
        name="harbour.md", media_type="text/markdown", data=b"# Harbour\n\nThe harbour is nine fathoms deep.\n"
    )
    settings = {"plugins.knowledge.folder": str(folder), "plugins.flat.folder": str(folder / "vectors")}

    async def added() -> str:
        async with Client(set=settings, folder=folder / "runs", cache=folder / "cache") as client:
            for principal in (None, "ada"):
                await client.knowledge.add(files=[document], principal=principal)
            return (await client.knowledge.search("harbour")).sources[0].hit.url

    return asyncio.run(added())


class TestFetcher(FetcherContract):
    heeds = False

    @pytest.fixture
    def offer(self) -> Offer[Any]:
        return PluginCatalog.discover().offer("fetchers", "knowledge")

    @pytest.fixture
    def settings(self, folder: Path) -> KnowledgeSettings:
        return KnowledgeSettings(folder=folder)

    @pytest.fixture
    def requests(self, url: str) -> Sequence[FetchRequest]:
        return [FetchRequest(url=url)]


async def test_nobody_reads_the_document_of_another_user(url: str, folder: Path, tmp_path: Path) -> None:
    context = fake_context(tmp_path / "cache")
    fetcher, call = KnowledgeFetcher(KnowledgeSettings(folder=folder), context), FakeCall()
    call.run = FakeRun()
    own = url.replace("//shared/", "//own/")
    for address in (own, "knowledge://shared/000000000000/x.md", "knowledge://own/../x", "file:///etc/passwd"):
        with pytest.raises(Unsupported):
            await fetcher.fetch(FetchRequest(url=address), call)
    await context.close()
