"""The contract of vector stores, for `flat`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from leadline._hosting.catalog import PluginCatalog
from leadline.hookspecs import Offer
from leadline.testing.contracts import VectorStoreContract
from leadline_plugins.vectors.flat import FlatSettings


class TestFlat(VectorStoreContract):
    @pytest.fixture
    def offer(self) -> Offer[Any]:
        return PluginCatalog.discover().offer("vector_stores", "flat")

    @pytest.fixture
    def settings(self, tmp_path: Path) -> FlatSettings:
        return FlatSettings(folder=tmp_path / "vectors")
