"""The small model of the slow tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(scope="session")
def small() -> Iterator[Any]:
    """Import the script of the small model's server, which stands beside the benchmarks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        import small_model

        if lacking := small_model.missing():
            pytest.skip(lacking)
        yield small_model
