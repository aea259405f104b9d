"""The engine of last resort: asked as a chat, and its hits never citable, in whatever form they come."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from leadline.errors import BadReply
from leadline.records import SearchPage
from leadline.testing.context import FakeCall
from leadline.testing.servers import ScriptedAnswer, ScriptedServer, json_answer

Search = Callable[..., Awaitable[SearchPage]]
TOLD = {"statements": [{"title": "Kelp", "text": "Kelp grows fast."}, {"title": "No text", "text": " "}, "odd"]}


def chat(text: str) -> ScriptedAnswer:
    message = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": 10, "completion_tokens": 5}
    return json_answer({"model": "m-1", "choices": [{"message": message, "finish_reason": "stop"}], "usage": usage})


@pytest.mark.parametrize("form", ["{}", "Sure!\n```json\n{}\n```", "<think>hm</think>{}", '{"reply": {}}'])
async def test_statements_are_hits_that_cannot_be_cited(
    form: str, search: Search, server: ScriptedServer, call: FakeCall
) -> None:
    server.answers = [chat(form.replace("{}", json.dumps(TOLD)))]
    (hit,) = (await search("recall")).hits
    assert hit.citable is False
    assert hit.text is None
    assert hit.url.startswith("recall:")
    assert hit.title == "Kelp (unsourced: from the memory of m-1)"
    assert hit.snippet == "Kelp grows fast."
    assert call.emitted == []  # it is no text of the report
    assert call.spent[0].input_tokens == 10


async def test_the_request_to_the_model(search: Search, server: ScriptedServer) -> None:
    server.answers = [chat(json.dumps(TOLD))]
    await search("recall", request={"limit": 3})
    body: dict[str, Any] = server.asked[0].body
    assert body["model"] == "m"
    assert body["messages"][-1]["content"] == "Query: kelp forests\nAt most 3 statements."
    assert body["response_format"]["type"] == "json_schema"


async def test_prose_is_a_bad_reply(search: Search, server: ScriptedServer) -> None:
    server.answers = [chat("Kelp is a large brown alga.")]
    with pytest.raises(BadReply, match="has no list of statements"):
        await search("recall")
