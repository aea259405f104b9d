"""Events as the bus sends them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest

from leadline.records import Event

Make = Callable[..., Event]


@pytest.fixture
def event() -> Make:
    """Make the next event, a second after the last."""
    numbers = count()

    def make(kind: str, run: str = "run", **data: Any) -> Event:
        seq = next(numbers)
        time = datetime(2026, 1, 31, tzinfo=UTC) + timedelta(seconds=seq)
        return Event(seq=seq, time=time, run_id=run, kind=kind, data=data)

    return make
