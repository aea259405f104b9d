"""Every built-in strategy under the contract of its kind."""

from __future__ import annotations

from typing import Any

import pytest

from leadline._hosting.catalog import PluginCatalog
from leadline.hookspecs import Offer
from leadline.testing.contracts import SearchStrategyContract


@pytest.mark.parametrize("name", ["batch", "fallback", "hybrid", "race"])
class TestStrategies(SearchStrategyContract):
    @pytest.fixture
    def offer(self, name: str) -> Offer[Any]:
        return PluginCatalog.discover().offer("search_strategies", name)
