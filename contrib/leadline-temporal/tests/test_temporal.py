"""The contract, and turns that are proved by behaviour."""

from __future__ import annotations

import asyncio
from uuid import uuid4

import pytest
from leadline_temporal import Temporal, TemporalSettings
from servers import Server
from temporalio.service import RPCError

from leadline.testing.contracts import DispatcherContract

pytestmark = pytest.mark.slow


class TestTemporal(DispatcherContract):
    tested = Temporal

    @pytest.fixture
    def settings(self, server: Server) -> TemporalSettings:
        return TemporalSettings(address=server.address, task_queue=uuid4().hex)


async def test_doctor_is_told_of_a_missing_namespace(server: Server) -> None:
    async with Temporal(TemporalSettings(address=server.address, namespace="other")) as elsewhere:
        with pytest.raises(RPCError, match="other"):
            await elsewhere.check()


async def test_turns_are_proved_by_behaviour(server: Server) -> None:
    async with Temporal(TemporalSettings(address=server.address)) as fair:
        assert [found.state for found in await fair.check()] == ["ok", "ok"]
        await asyncio.sleep(1)  # its list is eventually consistent
        left = [one.id async for one in fair._client.list_workflows("ExecutionStatus = 'Running'") if "turns" in one.id]
    assert left == []
