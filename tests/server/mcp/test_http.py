"""MCP over HTTP in `leadline serve`: the same tools, behind the same access rules."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.server.conftest import PATIENCE, QUESTION, Served, finish, order, running

mcp = pytest.importorskip("mcp", reason="the extra mcp is not installed")

import httpx2  # noqa: E402
from mcp.client.streamable_http import streamable_http_client  # noqa: E402
from mcp_types import ElicitResult  # noqa: E402

MODES = pytest.mark.parametrize("mode", ["auto", "legacy"])
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
ACCEPT = {"Accept": "application/json, text/event-stream"}


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server whose gate holds every run: it keeps no results of searches."""
    with running(tmp_path_factory.mktemp("held"), cache__search="0") as server:
        yield server


@asynccontextmanager
async def peer(server: Served, user: str = "", mode: str = "auto", **more: Any) -> AsyncIterator[Any]:
    """Provide a client of the SDK, with the token of a user."""
    headers = {"Authorization": f"Bearer {server.tokens[user]}"} if user else {}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=httpx2.Timeout(PATIENCE), trust_env=False) as http,
        mcp.Client(streamable_http_client(f"{server.url}/mcp", http_client=http), mode=mode, **more) as client,
    ):
        yield client


async def call(client: Any, tool: str, **arguments: Any) -> Any:
    """Return the structured content of a result, or the text of an error."""
    result = await client.call_tool(tool, arguments)
    return result.content[0].text if result.is_error else result.structured_content


@MODES
async def test_the_tools_work_over_http_with_progress_and_resources(served: Served, mode: str) -> None:
    told: list[str | None] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        told.append(message)

    async with peer(served, mode=mode) as client:
        result = await client.call_tool("research", {"question": QUESTION}, progress_callback=progress)
        state = result.structured_content
        assert (state["status"], "fathoms" in state["report"]) == ("complete", True)
        assert told[0] == f"the run {state['run_id']} has begun"
        report = await client.read_resource(f"leadline://runs/{state['run_id']}/report.md")
        assert report.contents[0].text == state["report"]
        assert (await call(client, "verify_report", run_id=state["run_id"]))["passed"] is None
    assert served.client().get(f"/v1/runs/{state['run_id']}").json()["status"] == "complete"


@MODES
async def test_a_cancelled_call_cancels_its_run(held: Served, mode: str) -> None:
    async with peer(held, mode=mode) as client:
        with held.gate.closed():
            asked = asyncio.create_task(call(client, "research", question=QUESTION))
            run = await started(held)
            asked.cancel()
            await asyncio.wait({asked})
            state = await ended(client, run)
        assert (state["status"], state["reason"]) == ("cancelled", "cancelled by the MCP client")
        await call(client, "research_start", run_id=run)
        assert (await call(client, "research_result", run_id=run))["status"] == "complete"


async def started(server: Served) -> str:
    """Return the id of the run that is active."""
    async with asyncio.timeout(PATIENCE):
        while True:
            for run in (await asyncio.to_thread(server.client().get, "/v1/runs")).json()["runs"]:
                if run["status"] == "running":
                    return str(run["run_id"])
            await asyncio.sleep(0.05)


async def ended(client: Any, run: str) -> Any:
    async with asyncio.timeout(PATIENCE):
        while (state := await call(client, "research_status", run_id=run))["status"] in ("pending", "running"):
            await asyncio.sleep(0.05)
    return state


async def test_a_client_of_sessions_that_leaves_does_not_end_its_run(held: Served) -> None:
    with held.gate.closed():
        async with peer(held, mode="legacy") as client:
            asked = asyncio.create_task(call(client, "research", question=QUESTION))
            run = await started(held)
        await asyncio.gather(asked, return_exceptions=True)
        async with peer(held) as client:
            assert (await call(client, "research_status", run_id=run))["status"] == "running"
    async with peer(held) as client:
        assert (await call(client, "research_result", run_id=run))["status"] == "complete"


@MODES
async def test_questions_are_asked_through_the_client(tmp_path: Path, mode: str) -> None:
    asked: list[str] = []

    async def answer(context: Any, params: Any) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action="accept", content={"answer": "how many fathoms the harbour measured"})

    with running(tmp_path, clarify__mode="ask", plugins__clarify__rules="literal") as server:
        async with peer(server, mode=mode, elicitation_callback=answer) as client:
            state = await call(client, "research", question="harbour sounding")
        assert (state["status"], len(asked)) == ("complete", 1)
        async with peer(server, mode=mode) as client:
            state = await call(client, "research", question="harbour sounding")
            assert (state["status"], len(state["questions"])) == ("waiting", 1)
            await call(
                client, "research_answer", run_id=state["run_id"], answer="how many fathoms the harbour measured"
            )
            assert (await call(client, "research_result", run_id=state["run_id"]))["status"] == "complete"


@MODES
async def test_a_plan_is_approved_through_the_client_or_by_a_tool(tmp_path: Path, mode: str) -> None:
    async def answer(context: Any, params: Any) -> ElicitResult:
        [field] = params.requested_schema["properties"].values()
        assert "    Title: " in params.message
        return ElicitResult(
            action="accept", content={"plan": field["default"].replace("Section: ", "Section: All of ")}
        )

    with running(tmp_path, plugins__plan__approve="ask") as server:
        async with peer(server, mode=mode, elicitation_callback=answer) as client:
            state = await call(client, "research", question=QUESTION)
        assert state["status"] == "complete"
        assert "All of How deep" in server.client().get(f"/v1/runs/{state['run_id']}/files/plan.md").text
        async with peer(server, mode=mode) as client:
            state = await call(client, "research", question=QUESTION)
            assert (state["status"], "    Title: " in state["questions"][0]["message"]) == ("waiting", True)
            await call(client, "research_answer", run_id=state["run_id"], answer="go on")
            assert (await call(client, "research_result", run_id=state["run_id"]))["status"] == "complete"


async def test_each_principal_has_only_its_own_runs(team: Served) -> None:
    alice = team.client("alice")
    run = order(alice)
    finish(alice, run)
    async with peer(team, "alice") as client:
        assert (await call(client, "research_result", run_id=run))["status"] == "complete"
    async with peer(team, "bob") as client:
        for tool in ("research_status", "research_result", "research_cancel", "verify_report"):
            foreign = await call(client, tool, run_id=run)
            assert foreign == await call(client, tool, run_id="00000000_20260101_000000")
            assert "there is no such run" in foreign
        assert "there is no such run" in await call(client, "research_start", run_id=run)
        assert "there is no such run" in await call(client, "research_answer", run_id=run, answer="x")
        for name in ("report.md", "verify.json", "evidence/x"):
            with pytest.raises(mcp.MCPError, match="there is no such run"):
                await client.read_resource(f"leadline://runs/{run}/{name}")


def test_a_session_of_another_principal_does_not_exist(team: Served) -> None:
    """Also one whose id was learned, or chosen beforehand (session fixation)."""
    alice, bob = team.client("alice", **ACCEPT), team.client("bob", **ACCEPT)
    opened = alice.post("/mcp", json=INITIALIZE)
    session = {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
    ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
    assert alice.post("/mcp", json=ping, headers=session).status_code == 200
    for method in ("POST", "GET", "DELETE"):
        refused = bob.request(method, "/mcp", headers=session, json=ping if method == "POST" else None)
        assert refused.status_code == 404
    assert bob.post("/mcp", json=INITIALIZE, headers={"Mcp-Session-Id": "0" * 32}).status_code == 404
    assert alice.post("/mcp", json=ping, headers=session).status_code == 200
    assert alice.delete("/mcp", headers=session).status_code == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Origin": "https://evil.example"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Authorization": "Bearer leadline_x"}, 401),
    ],
)
def test_the_access_rules_hold(served: Served, team: Served, headers: dict[str, str], status: int) -> None:
    assert served.client(**ACCEPT).post("/mcp", json=INITIALIZE, headers=headers).status_code in (status, 429)
    assert team.client(**ACCEPT).post("/mcp", json=INITIALIZE).status_code == 401


def test_bodies_and_open_requests_are_limited(served: Served) -> None:
    http = served.client(**ACCEPT)
    large = http.post("/mcp", content=b" " * 300_000, headers={"Content-Type": "application/json"})
    assert (large.status_code, large.json()["code"]) == (413, "too_large")
    deep = http.post("/mcp", content=b"[" * 100_000, headers={"Content-Type": "application/json"})
    assert deep.status_code == 400


def test_sessions_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leadline_server.mcp.http._SESSIONS", 2)
    with running(tmp_path, "alice", "bob") as server:
        codes = [server.client("alice", **ACCEPT).post("/mcp", json=INITIALIZE).status_code for _ in range(3)]
        assert codes == [200, 200, 503]
        assert server.client("bob", **ACCEPT).post("/mcp", json=INITIALIZE).status_code == 200


def test_without_the_package_the_endpoint_says_so(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leadline_server.mcp.http.find_spec", lambda name: None)
    reply = served.client(**ACCEPT).post("/mcp", json=INITIALIZE)
    assert (reply.status_code, reply.json()["code"]) == (501, "not_installed")
    assert "leadline[mcp]" in reply.json()["hint"]


async def test_a_server_that_ends_returns_the_id_and_does_not_cancel_the_run(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        with server.gate.closed():
            async with peer(server) as client:
                await client.list_tools()  # which it would ask for after the first call
                asked = asyncio.create_task(call(client, "research", question=QUESTION))
                run = await started(server)
                server.end()
                state = await asked
        assert (state["run_id"], state["status"]) == (run, "running")
    with running(tmp_path) as server:
        assert finish(server.client(), run)["status"] == "complete"


def test_the_package_is_imported_by_the_first_request(tmp_path: Path) -> None:
    import subprocess

    code = "import sys, leadline_server.command; sys.exit('mcp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=PATIENCE).returncode == 0


def test_the_tools_name_the_pipelines(served: Served) -> None:
    async def schema() -> Any:
        async with peer(served) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            return tools["research"].input_schema["properties"]["pipeline"]

    found = asyncio.run(schema())
    assert "research" in found["enum"]
    assert "research" in found["description"]


def test_a_refused_request_is_counted(served: Served) -> None:
    http: httpx.Client = served.client(**ACCEPT)
    assert http.post("/mcp", content=b"{", headers={"Content-Type": "application/json"}).status_code == 400
    assert 'route="/mcp",status="400"' in http.get("/metrics").text
