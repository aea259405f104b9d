"""What plugins of several kinds are tested with: a server on this machine, and a call without a run."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from leadline.testing.context import FakeCall
from leadline.testing.servers import ScriptedServer, scripted_server


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    """Serve scripted answers on loopback."""
    async with scripted_server() as server:
        yield server


@pytest.fixture
def call() -> FakeCall:
    """Give a call that keeps what it is told."""
    return FakeCall()
