"""Every built-in synthesizer under the contract of its kind; `prose` over a model that says what stands in it."""

from __future__ import annotations

from typing import Any

import pytest

from leadline._hosting.catalog import PluginCatalog
from leadline.hookspecs import Offer
from leadline.testing.contracts import SynthesizerContract


class TestBrief(SynthesizerContract):
    @pytest.fixture
    def offer(self) -> Offer[Any]:
        return PluginCatalog.discover().offer("synthesizers", "brief")
