"""Every built-in synthesizer under the contract of its kind; `prose` over a model that says what stands in it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

from leadline.hookspecs import Offer
from leadline.testing.contracts import SynthesizerContract


class TestBrief(SynthesizerContract):
    @pytest.fixture
    def offer(self) -> Offer[Any, Any]:
        (found,) = import_module("leadline_plugins.writing.brief").leadline_synthesizers()
        return found  # type: ignore[no-any-return]
