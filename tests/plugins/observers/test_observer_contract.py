"""The built-in observers keep the contract."""

from __future__ import annotations

from typing import Any

import pytest

from leadline._hosting.catalog import PluginCatalog
from leadline.hookspecs import Offer
from leadline.testing.contracts import ObserverContract


@pytest.mark.parametrize("name", ["jsonl", "terminal"])
class TestObservers(ObserverContract):
    @pytest.fixture
    def offer(self, name: str) -> Offer[Any, Any]:
        return PluginCatalog.discover().offer("observers", name)
