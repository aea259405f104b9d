"""The search in one's own documents, and their fetcher, under the contracts of their kinds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from leadline._hosting.catalog import PluginCatalog
from leadline._hosting.context import PluginContext
from leadline.hookspecs import Offer
from leadline.records import FetchRequest
from leadline.testing.context import fake_context
from leadline.testing.contracts import FetcherContract, SearchProviderContract
from leadline_plugins.parse.text import TextParser
from leadline_plugins.search.local import LocalSettings


class Folder:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        folder = tmp_path / "papers"
        folder.mkdir()
        for place in range(12):
            (folder / f"{place}.txt").write_text(f"The harbour {place} is {place + 3} fathoms deep at the mole.")
        return folder

    @pytest.fixture
    def settings(self, folder: Path) -> LocalSettings:
        return LocalSettings(folders=(folder,))

    @pytest.fixture
    def context(self, tmp_path: Path) -> PluginContext:
        return fake_context(tmp_path, lambda _: TextParser())


class TestLocalSearch(Folder, SearchProviderContract):
    @pytest.fixture
    def offer(self) -> Offer[Any]:
        return PluginCatalog.discover().offer("search_providers", "local")


class TestLocalFetcher(Folder, FetcherContract):
    @pytest.fixture
    def offer(self) -> Offer[Any]:
        return PluginCatalog.discover().offer("fetchers", "local")

    heeds = False

    @pytest.fixture
    def requests(self, folder: Path) -> Sequence[FetchRequest]:
        return [FetchRequest(url=(folder / "1.txt").as_uri())]
