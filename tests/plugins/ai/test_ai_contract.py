"""Those who do the typed tasks under the contracts of their kind: OpenAI's protocol both ways, and the algorithms."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from pydantic import SecretStr

from leadline._hosting.catalog import PluginCatalog
from leadline._hosting.context import PluginContext
from leadline.hookspecs import Offer, PluginSettings
from leadline.research_findings import Plan, Question
from leadline.tasks import Task, TaskKind
from leadline.testing.contracts import KEY, AIProviderContract, TaskProviderContract
from leadline.testing.servers import ScriptedAnswer, ScriptedServer, json_answer, scripted_server
from leadline_plugins.ai.openai.settings import OpenAISettings
from leadline_plugins.prompting.research_tasks import PlanRequest

SAID = "Nine fathoms."
QUESTIONS = ("How deep is the harbour?", "Who built the lighthouse of Port Ellery?")


def streamed() -> ScriptedAnswer:
    deltas: tuple[dict[str, str], ...] = ({"content": SAID[:5]}, {"content": SAID[5:]}, {})
    chunks = [
        {"id": "1", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": None if delta else "stop"}]}
        for delta in deltas
    ]
    body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
    return ScriptedAnswer(body.encode(), headers={"content-type": "text/event-stream"})


def whole() -> ScriptedAnswer:
    choice = {"index": 0, "message": {"role": "assistant", "content": SAID}, "finish_reason": "stop"}
    return json_answer(
        {"id": "1", "model": "m", "choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 4}}
    )


@pytest.mark.parametrize("stream", [True, False])
class TestOpenAI(AIProviderContract):
    @pytest.fixture
    def offer(self, stream: bool) -> Offer[Any]:
        return PluginCatalog.discover().offer("ai_providers", "openai")

    @pytest.fixture
    async def server(self, stream: bool) -> AsyncIterator[ScriptedServer]:
        async with scripted_server(streamed() if stream else whole()) as server:
            yield server

    @pytest.fixture
    def settings(self, stream: bool, server: ScriptedServer) -> PluginSettings:
        return OpenAISettings(api_key=SecretStr(KEY), base_url=f"{server.url}/v1", model="m", stream=stream)

    @pytest.fixture
    async def refused(self, context: PluginContext) -> AsyncIterator[Any]:
        async with scripted_server(
            json_answer({"error": {"message": f"Incorrect API key provided: {KEY}"}}, 401)
        ) as shut:
            offer = PluginCatalog.discover().offer("ai_providers", "openai")
            settings = OpenAISettings(api_key=SecretStr(KEY), base_url=f"{shut.url}/v1", model="m")
            yield offer.create(settings, context)


class TestEmbedded(TaskProviderContract):
    @pytest.fixture
    def offer(self) -> Offer[Any]:
        return PluginCatalog.discover().offer("ai_providers", "embedded")

    @pytest.fixture
    def requests(self) -> Sequence[Task[Any]]:
        return [TaskKind("plan", PlanRequest, Plan).of(PlanRequest(question=Question(text=text))) for text in QUESTIONS]
