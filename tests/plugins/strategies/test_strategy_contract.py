"""Every built-in strategy under the contract of its kind."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

from leadline.hookspecs import Offer
from leadline.testing.contracts import SearchStrategyContract


@pytest.mark.parametrize("name", ["batch", "fallback", "hybrid", "race"])
class TestStrategies(SearchStrategyContract):
    @pytest.fixture
    def offer(self, name: str) -> Offer[Any, Any]:
        (found,) = import_module(f"leadline_plugins.strategies.{name}").leadline_search_strategies()
        return found  # type: ignore[no-any-return]
