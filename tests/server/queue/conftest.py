"""A queue on each database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from leadline_server.queue import Queue, open_queue


@pytest.fixture
def queue(url: str, tmp_path: Path) -> Iterator[Queue]:
    opened = open_queue(url, tmp_path / "runs")
    yield opened
    opened.close()
