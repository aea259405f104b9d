"""The built-in observers keep the contract."""

from __future__ import annotations

from typing import Any, cast

import pytest

from leadline._hosting.catalog import PluginCatalog
from leadline.hookspecs import Offer, PluginSettings
from leadline.testing.contracts import ObserverContract


@pytest.mark.parametrize("name", ["jsonl", "terminal", "prometheus"])
class TestObservers(ObserverContract):
    @pytest.fixture
    def offer(self, name: str) -> Offer[Any]:
        if name == "prometheus":
            pytest.importorskip("prometheus_client", reason="needs leadline[telemetry]")
        return PluginCatalog.discover().offer("observers", name)


class TestOpentelemetry(ObserverContract):
    @pytest.fixture
    def offer(self) -> Offer[Any]:
        return PluginCatalog.discover().offer("observers", "opentelemetry")

    @pytest.fixture
    def settings(self, offer: Offer[Any], receiver: Any) -> PluginSettings:
        made: PluginSettings = cast("Any", offer.settings)(
            endpoint=receiver.url, headers={"authorization": "Bearer a-secret-of-the-receiver"}
        )
        return made
