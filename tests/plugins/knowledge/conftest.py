"""Places for documents: a folder, or a database and a vector store that several machines share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from tests.plugins.vectors.qdrant_server import KEY, qdrant_server
from tests.server.queue.cluster import Cluster


@pytest.fixture
def database(postgres: Cluster) -> Iterator[dict[str, Any]]:
    """Return the settings of machines that share documents."""
    pytest.importorskip("qdrant_client")
    with qdrant_server() as (url, _):
        yield {
            "plugins.knowledge.database": postgres.database(uuid4().hex),
            "knowledge.store": "qdrant",
            "plugins.qdrant.url": url,
            "plugins.qdrant.api_key": KEY,
        }


@pytest.fixture(params=["folder", pytest.param("database", marks=pytest.mark.slow)])
def places(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Return the settings that say where documents are."""
    shared: dict[str, Any] = {} if request.param == "folder" else request.getfixturevalue("database")
    return shared
