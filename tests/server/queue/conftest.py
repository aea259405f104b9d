"""A queue on each database."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from uuid import uuid4

import pytest
from tests.server.queue.cluster import Cluster, cluster, programs

from leadline_server.queue import Queue, open_queue


@pytest.fixture(scope="session")
def postgres() -> Iterator[Cluster]:
    if programs() is None or find_spec("psycopg") is None:
        pytest.skip("needs Postgres and psycopg: apt-get install postgresql, pip install 'leadline[fleet]'")
    with cluster() as running:
        yield running


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty queue; empty for that of the folder."""
    if request.param == "sqlite":
        return ""
    running: Cluster = request.getfixturevalue("postgres")
    return running.database(uuid4().hex)


@pytest.fixture
def queue(url: str, tmp_path: Path) -> Iterator[Queue]:
    opened = open_queue(url, tmp_path / "runs")
    yield opened
    opened.close()
