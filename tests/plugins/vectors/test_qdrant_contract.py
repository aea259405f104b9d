"""The contract of vector stores, for `qdrant`: its local mode, and its REST interface on loopback."""

from __future__ import annotations

import asyncio
import os
import pickle
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from leadline._hosting.catalog import PluginCatalog
from leadline.errors import Denied, ProviderError, RateLimited, Unavailable, Unsupported
from leadline.hookspecs import Offer
from leadline.records import DocumentVectors, VectorBatch, VectorListing
from leadline.testing.context import FakeCall, fake_context
from leadline.testing.contracts import VectorStoreContract
from leadline_plugins.vectors.qdrant import QdrantSettings, QdrantStore

pytest.importorskip("qdrant_client", reason="pip install 'leadline[qdrant]'")
sys.path.insert(0, str(Path(__file__).parent))
from tests.plugins.vectors.qdrant_server import KEY, qdrant_server


class TestLocalMode(VectorStoreContract):
    longest_hold = 5.0  # it imports its client

    @pytest.fixture
    def offer(self) -> Offer[Any]:
        return PluginCatalog.discover().offer("vector_stores", "qdrant")

    @pytest.fixture
    def settings(self, tmp_path: Path) -> QdrantSettings:
        return QdrantSettings(folder=tmp_path / "qdrant")


class TestServer(VectorStoreContract):
    longest_hold = 5.0

    @pytest.fixture
    def offer(self) -> Offer[Any]:
        return PluginCatalog.discover().offer("vector_stores", "qdrant")

    @pytest.fixture
    def server(self) -> Iterator[Any]:
        with qdrant_server() as found:
            yield found

    @pytest.fixture
    def settings(self, server: Any) -> QdrantSettings:
        return QdrantSettings(url=server[0], api_key=SecretStr(KEY))

    @pytest.fixture
    async def refused(self, plugin: Any, server: Any) -> Any:
        server[1].failure = (403, "Global access is required")
        return plugin

    @pytest.mark.parametrize(
        ("status", "error"), [(429, RateLimited), (503, Unavailable), (401, Denied), (400, Unsupported)]
    )
    async def test_its_refusals_have_the_kind_of_their_status(
        self, status: int, error: type[ProviderError], plugin: Any, server: Any
    ) -> None:
        server[1].failure = (status, "no")
        with pytest.raises(error, match=str(status)):
            await plugin.describe(VectorListing(collection="x"), FakeCall())


async def test_a_server_that_is_not_there_is_unavailable(tmp_path: Path, unused_tcp_port: int) -> None:
    context = fake_context(tmp_path)
    store = QdrantStore(QdrantSettings(url=f"http://127.0.0.1:{unused_tcp_port}"), context)
    with pytest.raises(Unavailable, match="does not answer"):
        await store.describe(VectorListing(collection="x"), FakeCall())
    await store.__aexit__()
    await context.close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the client leaves its lock open
async def test_a_folder_that_another_process_uses_is_refused_with_the_way_out(tmp_path: Path) -> None:
    context, settings = fake_context(tmp_path), QdrantSettings(folder=tmp_path / "qdrant")
    first, second = QdrantStore(settings, context), QdrantStore(settings, context)
    await first.describe(VectorListing(collection="x"), FakeCall())
    with pytest.raises(Denied, match=r"plugins\.qdrant\.url"):
        await second.describe(VectorListing(collection="x"), FakeCall())
    await first.__aexit__()
    await asyncio.sleep(0)
    await context.close()


class _Runs:
    """Runs a program when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self._mark = mark

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self._mark),)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the client leaves its lock open
async def test_points_of_a_folder_of_somebody_else_run_nothing(tmp_path: Path) -> None:
    context, settings = fake_context(tmp_path), QdrantSettings(folder=tmp_path / "qdrant")
    first, second = QdrantStore(settings, context), QdrantStore(settings, context)
    batch = VectorBatch(collection="x", documents=(DocumentVectors(document="a", vectors=((1.0, 0.0),)),))
    await first.put(batch, FakeCall())
    await first.__aexit__()
    (path,) = (tmp_path / "qdrant").glob("collection/*/storage.sqlite")
    with sqlite3.connect(path) as db:
        db.execute("INSERT INTO points VALUES ('x', ?)", (pickle.dumps(_Runs(tmp_path / "ran")),))
    db.close()
    with pytest.raises(Denied, match="no model of Qdrant"):
        await second.describe(VectorListing(collection="x"), FakeCall())
    assert not (tmp_path / "ran").exists()
    await context.close()
