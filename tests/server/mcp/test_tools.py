"""The tools of the MCP server, called by the SDK's client in this process."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import leadline
from leadline import hookspecs
from leadline.contracts import Call
from leadline.testing.fakes import fake_web
from leadline.testing.plugins import plugin

mcp = pytest.importorskip("mcp", reason="the extra mcp is not installed")


from leadline_server.mcp.runs import Runs  # noqa: E402
from leadline_server.mcp.stdio import LocalService  # noqa: E402
from leadline_server.mcp.tools import make_server  # noqa: E402

QUESTION = "How deep was the harbour measured at each sounding, in fathoms?"
WEB = {"search.engines": ["fakeweb"], "read.fetchers": ["fakeweb"], "retry.base": 0, "middleware": ["held"]}
ASK: dict[str, Any] = {"plugins__clarify__mode": "ask", "plugins__clarify__rules": "literal"}
# An end that a slow machine never reaches.
LONG = 600.0


class Held:
    """A middleware that holds every search until `go` is set."""

    live = True

    def __init__(self) -> None:
        self.go, self.reached = asyncio.Event(), asyncio.Event()

    async def around(self, request: Any, call: Call, proceed: Callable[[Any], Awaitable[Any]], /) -> Any:
        if type(request).__name__ == "SearchRequest":
            self.reached.set()
            await self.go.wait()
        return await proceed(request)


class Peer:
    """An MCP client of a server over a client of Leadline."""

    def __init__(self, client: Any, held: Held, runs: leadline.Client) -> None:
        self.client, self.held, self.runs = client, held, runs

    async def call(self, tool: str, **arguments: Any) -> Any:
        """Return the structured content of a result, or the text of an error."""
        result = await self.client.call_tool(tool, arguments)
        return result.content[0].text if result.is_error else result.structured_content


@asynccontextmanager
async def connected(
    folder: Path, *, wait: float = LONG, beat: float = LONG, held: bool = True, answer: Any = None, **settings: Any
) -> AsyncIterator[Peer]:
    """Provide a peer; with `held`, searches wait for `held.go`."""
    middleware = Held()
    if not held:
        middleware.go.set()
    offer = hookspecs.middleware("For a test")(lambda: middleware)
    async with leadline.Client(
        plugins=[fake_web(), plugin("held", offer)],
        folder=folder / "runs",
        cache=folder / "cache",
        set=WEB | {name.replace("__", "."): value for name, value in settings.items()},
    ) as client:
        server: Any = make_server(Runs(LocalService(client)), wait=wait, beat=beat)
        async with mcp.Client(server, elicitation_callback=answer, **MODE) as peer:
            yield Peer(peer, middleware, client)


MODE: dict[str, Any] = {}


# `test_http.py` has calls, questions, progress and cancellation with both protocols.
@pytest.fixture(params=["auto", pytest.param("legacy", marks=pytest.mark.slow)], autouse=True)
def mode(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run each test with the newest protocol and with that of the handshake."""
    monkeypatch.setitem(MODE, "mode", request.param)
    return str(request.param)


async def test_research_returns_the_report_with_its_checks_and_resources(tmp_path: Path) -> None:
    async with connected(tmp_path, held=False) as peer:
        state = await peer.call("research", question=QUESTION)
        assert (state["status"], state["steps_finished"]) == ("complete", state["steps_total"])
        assert "fathoms" in state["report"]
        assert state["claims"] == {}
        assert "nobody has checked" in state["report"]
        report, verdicts = [(await peer.client.read_resource(uri)).contents[0] for uri in state["resources"]]
        assert (report.mime_type, report.text) == ("text/markdown", state["report"])
        found = json.loads(verdicts.text)
        assert (found["passed"], found["verdicts"]) == (None, [])
        files = tmp_path.rglob("report.json")
        cited = json.loads(next(files).read_text())["sections"][0]["evidence_ids"][0]
        uri = f"leadline://runs/{state['run_id']}/evidence/{cited}"
        passage = json.loads((await peer.client.read_resource(uri)).contents[0].text)
        assert passage["source"]["url"].startswith("https://example.org/")
        assert passage["verdicts"] == []


async def test_research_returns_the_id_of_a_long_run_and_its_result_later(tmp_path: Path) -> None:
    async with connected(tmp_path, wait=0.01) as peer:
        state = await peer.call("research", question=QUESTION)
        assert state["status"] in ("pending", "running")
        assert "research_result" in state["hint"]
        assert "report" not in state or not state["report"]
        peer.held.go.set()
        while (state := await peer.call("research_result", run_id=state["run_id"]))["status"] == "running":
            pass
        assert (state["status"], bool(state["report"])) == ("complete", True)


async def test_research_sends_progress_until_it_ends(tmp_path: Path) -> None:
    async with connected(tmp_path, beat=0.01) as peer:
        told: list[float] = []

        async def progress(done: float, total: float | None, message: str | None) -> None:
            told.append(done)
            assert message
            assert (total is None) == (done == 0)
            assert done < (total or 1)
            if len(told) == 3:
                peer.held.go.set()

        result = await peer.client.call_tool("research", {"question": QUESTION}, progress_callback=progress)
        assert result.structured_content["status"] == "complete"
        assert len(told) >= 3
        assert told == sorted(set(told))


async def test_a_cancelled_run_goes_on_when_it_is_started_again(tmp_path: Path) -> None:
    async with connected(tmp_path) as peer:
        run_id = (await peer.call("research_start", question=QUESTION))["run_id"]
        await peer.held.reached.wait()
        assert (await peer.call("research_cancel", run_id=run_id))["status"] == "cancelled"
        assert (await peer.call("research_cancel", run_id=run_id))["status"] == "cancelled"
        peer.held.go.set()
        assert (await peer.call("research_start", run_id=run_id))["run_id"] == run_id
        assert (await peer.call("research_result", run_id=run_id))["status"] == "complete"


async def test_a_call_that_only_waits_does_not_cancel_the_run(tmp_path: Path) -> None:
    async with connected(tmp_path) as peer:
        run_id = (await peer.call("research_start", question=QUESTION))["run_id"]
        await peer.held.reached.wait()
        call = asyncio.create_task(peer.call("research_result", run_id=run_id))
        await asyncio.sleep(0.1)
        call.cancel()
        await asyncio.wait({call})
        assert (await peer.call("research_status", run_id=run_id))["status"] == "running"
        peer.held.go.set()
        assert (await peer.call("research_result", run_id=run_id))["status"] == "complete"


async def test_a_question_is_returned_to_a_client_that_cannot_ask_and_answered_by_a_tool(tmp_path: Path) -> None:
    async with connected(tmp_path, held=False, **ASK) as peer:
        state = await peer.call("research", question="harbour sounding")
        assert (state["status"], len(state["questions"])) == ("waiting", 1)
        assert "research_answer" in state["hint"]
        wrong = await peer.call("research_answer", run_id=state["run_id"], answer="x", question_id="other")
        assert "open questions" in wrong
        await peer.call("research_answer", run_id=state["run_id"], answer="how many fathoms the harbour measured")
        assert (await peer.call("research_result", run_id=state["run_id"]))["status"] == "complete"


async def test_a_question_of_a_run_that_another_process_attends_is_answered(tmp_path: Path) -> None:
    async with connected(tmp_path, held=False, **ASK) as peer, connected(tmp_path, **ASK) as other:
        handle = await other.runs.start("harbour sounding", interactive=True)
        async for event in handle.events():
            if event.kind == "question":
                break
        answer = {"run_id": handle.id, "answer": "how many fathoms the harbour measured"}
        assert "status" in await peer.call("research_answer", **answer)
        other.held.go.set()
        assert (await handle.result()).status == "complete"


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("research_start", {"question": "  "}, "the question is empty"),
        ("research_start", {"question": QUESTION, "pipeline": "nosuch"}, "nosuch"),
        ("research_status", {"run_id": "../../etc"}, "is not the id of a run"),
        ("research_result", {"run_id": "00000000_20260101_000000"}, "there is no run"),
        ("research_cancel", {"run_id": "/etc/passwd"}, "is not the id of a run"),
        ("verify_report", {}, "pass either"),
    ],
)
async def test_errors_are_told_in_words(tmp_path: Path, tool: str, arguments: dict[str, Any], words: str) -> None:
    async with connected(tmp_path) as peer:
        assert words in await peer.call(tool, **arguments)


@pytest.mark.parametrize("name", ["evidence/nosuch", "report.md", "verify.json"])
async def test_a_resource_of_no_run_is_an_error(tmp_path: Path, name: str) -> None:
    async with connected(tmp_path) as peer:
        for run_id in ("00000000_20260101_000000", "x"):
            with pytest.raises(mcp.MCPError):
                await peer.client.read_resource(f"leadline://runs/{run_id}/{name}")


async def test_a_report_is_verified_by_its_run_or_as_markdown(tmp_path: Path) -> None:
    async with connected(tmp_path, held=False) as peer:
        state = await peer.call("research", question=QUESTION)
        own = await peer.call("verify_report", run_id=state["run_id"])
        assert (own["passed"], own["claims"]) == (None, [])
        form = await peer.call(
            "verify_report", markdown="# T\n\nIt is deep.[1]\n\n## Sources\n\n1. Pilot https://a.example/\n"
        )
        assert [source["urls"] for source in form["sources"]] == [["https://a.example/"]]
        dangling = await peer.call("verify_report", markdown="# T\n\nIt is deep.[7]\n")
        assert dangling["passed"] is False


async def test_one_report_at_a_time_is_verified_and_the_client_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done, told, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def verify(*_: Any, **__: Any) -> dict[str, bool]:
        try:
            await done.wait()
        finally:
            ended.set()
        return {"passed": True}

    async def progress(seconds: float, total: float | None, message: str | None) -> None:
        told.set()

    monkeypatch.setattr(leadline.Client, "verify", verify)
    async with connected(tmp_path, beat=0.01) as peer:
        arguments = {"markdown": "# T"}
        first = asyncio.create_task(peer.client.call_tool("verify_report", arguments, progress_callback=progress))
        await told.wait()
        refused = await peer.client.call_tool("verify_report", arguments)
        assert (refused.is_error, "is being verified" in refused.content[0].text) == (True, True)
        done.set()
        assert (await first).structured_content == {"passed": True}
        for event in (done, told, ended):
            event.clear()
        left = asyncio.create_task(peer.client.call_tool("verify_report", arguments, progress_callback=progress))
        await told.wait()
        left.cancel()
        await ended.wait()  # the work of a client that left


async def test_prompts_name_the_tools_and_a_wrong_one_is_an_error_of_the_client(tmp_path: Path) -> None:
    async with connected(tmp_path) as peer:
        listed = {prompt.name: prompt for prompt in (await peer.client.list_prompts()).prompts}
        assert {*listed} == {"research_question", "check_report", "ask_documents"}
        tools = {tool.name for tool in (await peer.client.list_tools()).tools}
        for name, prompt in listed.items():
            (argument,) = prompt.arguments
            (message,) = (await peer.client.get_prompt(name, {argument.name: "How deep is it?"})).messages
            assert "How deep is it?" in message.content.text
            assert tools & {*re.findall(r"`(\w+)`", message.content.text)}
        with pytest.raises(mcp.MCPError, match="choose from: research_question"):
            await peer.client.get_prompt("nosuch")
        with pytest.raises(mcp.MCPError, match="needs the argument report"):
            await peer.client.get_prompt("check_report")


async def test_no_tool_takes_a_setting_a_folder_or_a_command(tmp_path: Path) -> None:
    async with connected(tmp_path) as peer:
        taken = {name for tool in (await peer.client.list_tools()).tools for name in tool.input_schema["properties"]}
    assert taken == {"question", "pipeline", "run_id", "answer", "question_id", "markdown", "fetch"}
