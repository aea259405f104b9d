"""A provider before a scripted server, and the answers it gives."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from leadline._hosting.context import PluginContext
from leadline.records import ChatReply, ChatRequest, Message
from leadline.testing.context import FakeCall, fake_context
from leadline.testing.servers import ScriptedServer
from leadline_plugins.ai.openai.provider import OpenAI
from leadline_plugins.ai.openai.settings import OpenAISettings


@pytest.fixture
async def context(tmp_path: Path) -> AsyncIterator[PluginContext]:
    """Lend the plugin its context."""
    context = fake_context(tmp_path, name="openai")
    yield context
    await context.close()


@pytest.fixture
def provider(
    server: ScriptedServer, context: PluginContext, request_of: Callable[..., ChatRequest], call: FakeCall
) -> Callable[..., OpenAI]:
    """Make a provider before the server, with these settings."""

    class Provider(OpenAI):
        async def ask(self, **changes: Any) -> ChatReply:
            """Send a small request, with these fields changed."""
            return await self.chat(request_of(**changes), call)

    def make(**settings: Any) -> Provider:
        return Provider(OpenAISettings(**({"base_url": f"{server.url}/v1", "model": "m"} | settings)), context)

    return make


@pytest.fixture
def request_of() -> Callable[..., ChatRequest]:
    """Make a small request, with these fields changed."""

    def make(**changes: Any) -> ChatRequest:
        return ChatRequest(**({"model": "", "messages": (Message(role="user", text="Hello?"),)} | changes))

    return make
