"""A plugin whose method lacks its `async` is told so, by its name and that of the method."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from leadline._hosting.lifecycle import awaitable, awaited
from leadline.client import Client
from leadline.errors import PluginError
from leadline.hookspecs import KINDS
from leadline.plugin import ai_provider
from leadline.records import ChatReply, ChatRequest, Message, ModelTraits
from leadline.testing.plugins import plugin


def test_every_awaited_method_of_the_contracts_is_known() -> None:
    methods = {kind: {*awaited(kind)} for kind in KINDS}
    assert methods["ai_providers"] == {"chat", "perform"}
    assert methods["stages"] == {"run", "map", "rest"}
    assert methods["vector_stores"] == {"put", "remove", "search", "describe"}
    assert all(methods.values())


class Forgetful:
    def traits(self, model: str, /) -> ModelTraits:
        return ModelTraits()

    def chat(self, request: ChatRequest, call: Any, /) -> ChatReply:
        return ChatReply(message=Message(role="assistant", text="{}"))


class Engine:
    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def search(self, request: Any, call: Any, /) -> Any:
        return self.answer

    async def real(self) -> str:
        return "found"


async def test_a_chat_that_is_not_async_is_told(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "bay.md").write_text("The bay of Port Ellery is forty fathoms deep.")
    offer = ai_provider("x")(lambda: cast("Any", Forgetful()))
    async with Client(
        docs=tmp_path / "docs",
        folder=tmp_path / "runs",
        set={"ai.providers": ["forgetful", "embedded"]},
        plugins=[plugin("forgetful", offer)],
    ) as client:
        result = await client.research("How deep is the bay of Port Ellery?")
    told = " ".join(result.metadata.notices)
    assert "plugin 'forgetful'" in told
    assert "returns ChatReply from Forgetful.chat, which is awaited: write `async def chat`" in told


async def test_what_hands_on_an_awaitable_is_let_be() -> None:
    made = Engine(None)
    made.answer = made.real()
    assert await awaitable(made, ["search_providers"], "plugin 'x'").search(None, None) == "found"
    assert "search" not in vars(awaitable(Engine(None), ["fetchers"], "plugin 'x'"))


async def test_the_answer_is_named_by_its_type() -> None:
    made = awaitable(Engine(3), ["search_providers"], "plugin 'x' (x 1.0)")
    with pytest.raises(
        PluginError, match=r"^plugin 'x' \(x 1.0\) returns int from Engine.search, .* `async def search`$"
    ):
        await made.search(SimpleNamespace(), None)
