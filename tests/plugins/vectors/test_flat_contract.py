"""The contract of vector stores, for `flat`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from leadline import Offer
from leadline.testing.contracts import VectorStoreContract
from leadline_plugins.vectors.flat import FlatSettings, leadline_vector_stores


class TestFlat(VectorStoreContract):
    @pytest.fixture
    def offer(self) -> Offer[Any, Any]:
        (found,) = leadline_vector_stores()
        return found

    @pytest.fixture
    def settings(self, tmp_path: Path) -> FlatSettings:
        return FlatSettings(folder=tmp_path / "vectors")
