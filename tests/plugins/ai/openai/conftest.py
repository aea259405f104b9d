"""A provider before a scripted server, and the answers it gives."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from leadline.context import HouseContext
from leadline.records import ChatRequest, Message
from leadline.testing.context import FakeCall, fake_context
from leadline.testing.server import ScriptedServer, scripted_server
from leadline_plugins.ai.openai.provider import OpenAI
from leadline_plugins.ai.openai.settings import OpenAISettings


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    """Serve scripted answers on loopback."""
    async with scripted_server() as server:
        yield server


@pytest.fixture
async def context(tmp_path: Path) -> AsyncIterator[HouseContext]:
    """Lend the plugin its context."""
    context = fake_context(tmp_path, name="openai")
    yield context
    await context.close()


@pytest.fixture
def provider(server: ScriptedServer, context: HouseContext) -> Callable[..., OpenAI]:
    """Make a provider before the server, with these settings."""

    def make(**settings: Any) -> OpenAI:
        return OpenAI(OpenAISettings(**({"base_url": f"{server.url}/v1", "model": "m"} | settings)), context)

    return make


@pytest.fixture
def call() -> FakeCall:
    """Give a call that keeps what it is told."""
    return FakeCall()


@pytest.fixture
def request_of() -> Callable[..., ChatRequest]:
    """Make a small request, with these fields changed."""

    def make(**changes: Any) -> ChatRequest:
        return ChatRequest(**({"model": "", "messages": (Message(role="user", text="Hello?"),)} | changes))

    return make
