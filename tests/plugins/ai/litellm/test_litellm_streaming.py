"""Replies are streamed where somebody follows them, whatever vendor they come from; a library of the test's own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from leadline.records import ChatRequest, Message
from leadline.testing.context import FakeCall
from leadline_plugins.ai.litellm.provider import Litellm
from leadline_plugins.ai.litellm.settings import LitellmSettings
from leadline_plugins.ai.openai.endpoint_quirks import Forms

ASKED = ChatRequest(model="acme/m", messages=(Message(role="user", text="Hello?"),))


class Answer:
    """An answer of litellm: what is taken of it is its dump."""

    def __init__(self, words: dict[str, Any]) -> None:
        choice = {"index": 0, "finish_reason": "stop"} | words
        self._data = {"id": "1", "model": "m", "choices": [choice]}

    def model_dump(self, **_: Any) -> dict[str, Any]:
        return self._data


class Library:
    """Stands in for litellm; keeps what it was asked, and first raises what it was told to."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.asked: list[dict[str, Any]] = []

    async def get(self) -> Library:
        return self

    def supports_response_schema(self, model: str) -> bool:
        return True

    async def acompletion(self, **asked: Any) -> Any:
        self.asked.append(asked)
        if self.errors:
            raise self.errors.pop(0)
        return _streamed() if asked.get("stream") else Answer({"message": {"content": "Hi"}})


async def _streamed() -> AsyncIterator[Answer]:
    yield Answer({"delta": {"content": "Hi"}})


def of_litellm(status: int, message: str) -> Exception:
    kind = type("APIError", (Exception,), {"__module__": "litellm.exceptions"})
    error: Exception = kind(message)
    for name, value in {"status_code": status, "message": message}.items():
        setattr(error, name, value)
    return error


def provider(library: Library, folder: Path, **settings: Any) -> Litellm:
    made = object.__new__(Litellm)  # without the import of the library, which takes seconds
    made._settings = LitellmSettings(**settings)
    made._library = library  # type: ignore[assignment]
    made._forms = Forms(made._settings.stream)
    return made


@pytest.mark.parametrize(
    ("stream", "followed", "streamed"),
    [("auto", True, True), ("auto", False, False), (True, False, True), (False, True, False)],
)
async def test_a_reply_is_streamed_if_it_is_followed(
    tmp_path: Path, stream: Any, followed: bool, streamed: bool
) -> None:
    library, call = Library(), FakeCall(seconds=600)
    call.followed = followed
    reply = await provider(library, tmp_path, stream=stream).chat(ASKED, call)
    assert reply.message.text == "Hi"
    assert bool(library.asked[0].get("stream")) is streamed
    assert library.asked[0]["timeout"].read == (120 if streamed else 600)


async def test_replies_are_streamed_after_a_gateway_timeout(tmp_path: Path) -> None:
    library, call = Library(of_litellm(504, "gateway timeout")), FakeCall()
    call.followed = False
    model = provider(library, tmp_path)
    for _ in range(2):
        await model.chat(ASKED, call)
    assert [bool(asked.get("stream")) for asked in library.asked] == [False, True, True]
