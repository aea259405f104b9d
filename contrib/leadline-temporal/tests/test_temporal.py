"""The contract, and turns that are proved by behaviour."""

from __future__ import annotations

import asyncio
from uuid import uuid4

import pytest
from leadline_temporal import Temporal, TemporalSettings
from servers import Server

from leadline.testing.contracts import DispatcherContract

pytestmark = pytest.mark.slow


class TestTemporal(DispatcherContract):
    tested = Temporal

    @pytest.fixture
    def settings(self, server: Server) -> TemporalSettings:
        return TemporalSettings(address=server.address, task_queue=uuid4().hex)


async def test_turns_are_proved_by_behaviour(server: Server) -> None:
    async with Temporal(TemporalSettings(address=server.address)) as fair:
        assert await fair.keeps_turns()
        await asyncio.sleep(1)  # its list is eventually consistent
        left = [one.id async for one in fair._client.list_workflows("ExecutionStatus = 'Running'") if "turns" in one.id]
    assert left == []
