"""Runs that take longer than a client waits for a call, over both transports, cancelled and not.

They take 90 s, or as long as TEST_LONG_RUN says; ten minutes: TEST_LONG_RUN=600.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

mcp = pytest.importorskip("mcp", reason="the extra mcp is not installed")

import httpx2  # noqa: E402
from mcp.client.streamable_http import streamable_http_client  # noqa: E402
from tests.server.mcp.test_stdio import QUESTION, environment, held, run_in, server, until  # noqa: E402

LENGTH = float(os.environ.get("TEST_LONG_RUN", "90"))
# Seconds after which the client gives up on a call.
LIMIT = 60.0


@asynccontextmanager
async def over_stdio(folder: Path, mode: str) -> AsyncIterator[Any]:
    async with server(folder, *held(folder), mode=mode) as client:
        yield client


@asynccontextmanager
async def over_http(folder: Path, mode: str) -> AsyncIterator[Any]:
    words = ["-m", "leadline", "serve", "--port", "0", "--folder", str(folder / "runs"), *held(folder)]
    process = subprocess.Popen(
        [sys.executable, *words], cwd=folder, env=environment(), stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr
        url = re.search(r"http://[\d.:]+", await asyncio.to_thread(process.stderr.readline))
        assert url
        async with (
            httpx2.AsyncClient(timeout=httpx2.Timeout(LIMIT), trust_env=False) as http,
            mcp.Client(streamable_http_client(f"{url[0]}/mcp", http_client=http), mode=mode) as client,
        ):
            yield client
    finally:
        process.terminate()
        await asyncio.to_thread(process.communicate)


async def call(client: Any, tool: str, told: list[float], **arguments: Any) -> Any:
    """Return the result of a call, which must come within the limit."""

    async def progress(done: float, total: float | None, message: str | None) -> None:
        told.append(asyncio.get_running_loop().time())

    result = await client.call_tool(tool, arguments, read_timeout_seconds=LIMIT, progress_callback=progress)
    assert not result.is_error, result.content
    return result.structured_content


@pytest.mark.slow
@pytest.mark.timeout(LENGTH + 200)
@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("transport", [over_stdio, over_http])
@pytest.mark.parametrize("cancelled", [False, True], ids=["to its end", "cancelled"])
async def test_a_long_run_under_a_client_of_short_patience(
    tmp_path: Path, transport: Any, mode: str, *, cancelled: bool
) -> None:
    clock, told, calls = asyncio.get_running_loop().time, list[float](), 0
    async with transport(tmp_path, mode) as client:
        begin = clock()
        state = await call(client, "research", told, question=QUESTION)
        run = state["run_id"]
        assert state["status"] == "running"
        while clock() - begin < LENGTH:
            state = await call(client, "research_result", told, run_id=run)
            calls += 1
            assert state["status"] == "running"
        if cancelled:
            state = await call(client, "research_cancel", told, run_id=run)
            assert (state["status"], state["reason"]) == ("cancelled", "cancelled by the MCP client")
            (tmp_path / "gate").touch()
            await call(client, "research_start", told, run_id=run)
        else:
            (tmp_path / "gate").touch()
        while (state := await call(client, "research_result", told, run_id=run))["status"] == "running":
            pass
        assert "six feet" in state["report"]
    assert state["status"] == "complete"
    assert max(later - earlier for earlier, later in pairwise(told)) < 20
    assert run_in(tmp_path)["sessions"] == (2 if cancelled else 1)
    print(f"{clock() - begin:.0f} s, {calls + 2} calls, progress {len(told)} times")


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("transport", [over_stdio, over_http])
async def test_a_client_whose_time_is_over_cancels_the_run_and_continues_it(
    tmp_path: Path, transport: Any, mode: str
) -> None:
    """A limit below the 45 s of the server: the SDK cancels the call."""
    async with transport(tmp_path, mode) as client:
        with pytest.raises((mcp.MCPError, httpx2.TimeoutException)):
            await client.call_tool("research", {"question": QUESTION}, read_timeout_seconds=8)
        await until(lambda: run_in(tmp_path).get("status") == "cancelled")
        run = run_in(tmp_path)["run_id"]
        (tmp_path / "gate").touch()
        await call(client, "research_start", [], run_id=run)
        assert (await call(client, "research_result", [], run_id=run))["status"] == "complete"
