"""Every pipeline over HTTP, by the endpoint for clients of OpenAI's API, and by MCP, from one server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.server.conftest import PATIENCE, SETTINGS, Served, finish, order, running

from leadline.contracts import Call
from leadline.plugin import sandbox
from leadline.records import Code, Execution
from leadline.testing.plugins import plugin

ROOT = Path(__file__).parents[2]
USUAL = "How do European ports pay for shore power, and what does it bring them?"
QUESTIONS = {
    "audited": "Shore power in European seaports: tariffs, subsidies and emissions between 2020 and 2025",
    "auto": USUAL,
    "chat": "Why is the sky blue?",
    "code": "Calculate the sum of the squares of the numbers from 1 to 100",
    "knowledge": "What does shore power cost a port?",
    "longform": USUAL,
    "oneshot": USUAL,
    "requirements": "We want a bot that answers the visitors of our museum on their phones, day and night.",
    "research": USUAL,
    "search": USUAL,
    "thinking": "Should a small town buy its own power grid?",
}
PAGE = (
    b"# Shore power\n\nA connection for one berth costs a port 4 million euros on average, of which grants pay half.\n"
)
NEEDS_MODEL = ("audited", "chat", "requirements", "thinking")


class Sandbox:
    """A sandbox for a test: it runs nothing."""

    async def execute(self, code: Code, call: Call, /) -> Execution:
        return Execution(stdout="338350\n", value=338350)


@pytest.fixture(scope="module")
def emulated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with the emulator's model, engine and pages, a sandbox, and a document."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "tests" / "benchmarks"))
        from emulator_use import emulator

        with emulator() as world:
            settings: dict[str, Any] = {
                "ai.providers": ["openai"],
                "plugins.openai.base_url": world.base_url,
                "plugins.openai.model": "emulated",
                "search.engines": ["searxng"],
                "plugins.searxng.base_url": f"http://127.0.0.1:{world.port}/search",
                "read.fetchers": ["web"],
                "plugins.web.allow": ["127.0.0.0/8"],
                "plugins.web.ports": [world.port],
                "plugins.web.per_host": 500,
                "code.sandbox": "bench",
                "research.first_queries": 2,
                "research.max_queries": 2,
                "charts.runner": "",
            }
            offer = sandbox("For a test")(lambda: Sandbox())
            folder = tmp_path_factory.mktemp("emulated")
            settings |= {
                "plugins.knowledge.folder": str(folder / "base"),
                "plugins.flat.folder": str(folder / "vectors"),
            }
            given: Any = {key.replace(".", "__"): value for key, value in settings.items()}
            with running(folder, plugins=[plugin("bench", offer)], **given) as server:
                added = server.client().post("/v1/knowledge?name=power.md", content=PAGE)
                assert added.status_code == 200, added.text
                yield server


async def over_http(server: Served, pipeline: str) -> dict[str, Any]:
    http = server.client()
    run = await asyncio.to_thread(order, http, QUESTIONS[pipeline], pipeline=pipeline)
    return await asyncio.to_thread(finish, http, run)


async def by_openai(server: Served, pipeline: str) -> dict[str, Any]:
    body = {"model": f"leadline-{pipeline}", "messages": [{"role": "user", "content": QUESTIONS[pipeline]}]}
    async with httpx.AsyncClient(base_url=server.url, timeout=PATIENCE, trust_env=False) as http:
        reply = await http.post("/v1/chat/completions", json=body)
        assert reply.status_code == 200, reply.text
        found = reply.json()
        assert found["choices"][0]["message"]["content"].strip()
        view: dict[str, Any] = (await http.get(f"/v1/runs/{found['leadline']['run_id']}")).json()
        return view


async def by_mcp(server: Served, pipeline: str) -> dict[str, Any]:
    async for client in peer(server):
        result = await client.call_tool("research", {"question": QUESTIONS[pipeline], "pipeline": pipeline})
        assert not result.is_error, result.content
        state: dict[str, Any] = result.structured_content
        assert state["report"].startswith(("# ", "---"))
        return state
    raise AssertionError("no client")


async def peer(server: Served) -> AsyncIterator[Any]:
    mcp = pytest.importorskip("mcp", reason="the extra mcp is not installed")
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    async with (
        httpx2.AsyncClient(timeout=httpx2.Timeout(PATIENCE), trust_env=False) as http,
        mcp.Client(streamable_http_client(f"{server.url}/mcp", http_client=http)) as client,
    ):
        yield client


@pytest.mark.slow
@pytest.mark.parametrize("way", [over_http, by_openai, by_mcp])
@pytest.mark.parametrize("pipeline", QUESTIONS)
async def test_every_pipeline_answers(emulated: Served, pipeline: str, way: Callable[..., Any]) -> None:
    state = await way(emulated, pipeline)
    assert state["status"] == "complete"
    assert not state["reason"]
    if pipeline == "auto":
        assert state["pipeline"] in QUESTIONS.keys() - {"auto"}
    else:
        assert state["pipeline"] == pipeline


@pytest.mark.slow
def test_every_pipeline_is_in_the_test(emulated: Served) -> None:
    models = emulated.client().get("/v1/models").json()["data"]
    assert {model["id"].removeprefix("leadline-") for model in models} == QUESTIONS.keys()


async def test_a_pipeline_that_cannot_run_is_not_offered_and_its_order_says_why(served: Served) -> None:
    assert "ai.providers" not in SETTINGS, "the server has no model"
    http = served.client()
    models = {model["id"] for model in http.get("/v1/models").json()["data"]}
    assert "leadline-research" in models
    for name in NEEDS_MODEL:
        assert f"leadline-{name}" not in models
    refused = http.post("/v1/runs", json={"question": "Why is the sky blue?", "pipeline": "chat"})
    assert (refused.status_code, refused.json()["code"]) == (422, "pipeline_unavailable")
    message = "the pipeline chat needs a language model, which this server does not have"
    assert refused.json()["message"] == message
    assert refused.json()["hint"].startswith("choose from: auto, ")
    strict = {"question": "Why is the sky blue?", "set": {"verify.require_support": True}}
    assert "no claim is checked" in http.post("/v1/runs", json=strict).json()["message"]
    body = {"model": "leadline-chat", "messages": [{"role": "user", "content": "Why is the sky blue?"}]}
    assert message in http.post("/v1/chat/completions", json=body).json()["error"]["message"]
    async for client in peer(served):
        tools = {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}
        assert "chat" not in tools["research"]["properties"]["pipeline"]["enum"]
        assert "research: " in tools["research_start"]["properties"]["pipeline"]["description"]
        refusal = await client.call_tool("research", {"question": "Why is the sky blue?", "pipeline": "chat"})
        assert refusal.content[0].text.endswith(message)
