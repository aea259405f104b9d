"""The contract, and turns that are proved by behaviour."""

from __future__ import annotations

import asyncio
from uuid import uuid4

import pytest
from leadline_temporal import Temporal, TemporalSettings
from temporalio.service import RPCError

from leadline.testing.contracts import DispatcherContract

pytestmark = pytest.mark.slow


class TestTemporal(DispatcherContract):
    tested = Temporal

    @pytest.fixture
    def settings(self, address: str) -> TemporalSettings:
        return TemporalSettings(address=address, task_queue=uuid4().hex)


async def test_doctor_is_told_of_a_missing_namespace(address: str) -> None:
    async with Temporal(TemporalSettings(address=address, namespace="other")) as elsewhere:
        with pytest.raises(RPCError, match="other"):
            await elsewhere.check()


async def test_turns_are_proved_by_behaviour(address: str) -> None:
    async with Temporal(TemporalSettings(address=address)) as fair:
        assert [check.state for check in await fair.check()] == ["ok", "ok"]
        await asyncio.sleep(1)  # its list is eventually consistent
        running = fair._client.list_workflows("ExecutionStatus = 'Running'")
        left = [workflow.id async for workflow in running if "turns" in workflow.id]
    assert left == []
