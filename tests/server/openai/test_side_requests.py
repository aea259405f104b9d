"""Side requests of chat front ends are answered without a run."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.server.conftest import QUESTION, Served

from leadline_server.openai.requests import ChatRequest
from leadline_server.openai.routes import side_answer
from leadline_server.problems import Problem

HISTORY = f"<chat_history>\nUSER: {QUESTION}\nASSISTANT: # Depths\n</chat_history>"


def request(*messages: tuple[str, str], **more: Any) -> ChatRequest:
    said = [{"role": role, "content": text} for role, text in messages]
    return ChatRequest.model_validate({"model": "leadline-research", "messages": said, **more})


def task(keys: str) -> ChatRequest:
    return request(
        ("user", f"### Task:\nDo something.\n### Output:\nJSON format: {keys}\n### Chat History:\n{HISTORY}")
    )


@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        ('{ "title": "your title" }', {"title": "How deep was the harbour measured at each sounding, in…"}),
        ('{ "tags": ["tag1", "tag2"] }', {"tags": []}),
        ('{ "follow_ups": ["one"] }', {"follow_ups": []}),
        ('{\n  "queries": ["query1"]\n}', {"queries": []}),
        ('`{ "text": "<your_completion>" }`', {"text": ""}),
    ],
)
def test_tasks_of_open_webui_are_answered_in_their_form(keys: str, answer: dict[str, Any]) -> None:
    assert json.loads(side_answer(task(keys)) or "") == answer


def test_an_unknown_task_about_a_chat_is_refused() -> None:
    with pytest.raises(Problem, match="task of Open WebUI"):
        side_answer(task("a poem"))


def test_other_prompts_of_open_webui_are_no_questions() -> None:
    tools = request(("system", "Available Tools: []\n\nYour task is to choose"), ("user", "Query: History:"))
    assert json.loads(side_answer(tools) or "") == {"tool_calls": []}
    memory = "You are Open WebUI's private memory reviewer. Return only valid JSON."
    assert json.loads(side_answer(request(("system", memory), ("user", "Review"))) or "") == {"operations": []}
    with pytest.raises(Problem):
        side_answer(request(("user", "### Task:\nSummarize the conversation history that will be compacted out of …")))


def test_titles_of_librechat_are_answered_as_text_or_json() -> None:
    prompt = (
        "Provide a concise, 5-word-or-less title for the conversation, using title case conventions. "
        "Only return the title itself.\n\nConversation:\nUser: Depth of the harbour?\nAI: Nine fathoms."
    )
    assert side_answer(request(("user", prompt))) == "Depth of the harbour?"
    as_json = request(("user", prompt), response_format={"type": "json_schema"})
    assert json.loads(side_answer(as_json) or "") == {"title": "Depth of the harbour?"}


def test_a_question_with_files_of_open_webui_says_what_to_do() -> None:
    text = f"### Task:\nRespond to the user query.\n<context>\nA file.\n</context>\n{QUESTION}"
    with pytest.raises(Problem, match="added files") as refused:
        side_answer(request(("user", text)))
    assert "POST /v1/knowledge" in refused.value.body.hint


@pytest.mark.parametrize("text", [QUESTION, "### Task: find the depth of the harbour", "What are tags in HTML?"])
def test_a_question_is_a_question(text: str) -> None:
    assert side_answer(request(("user", text))) is None


def test_no_side_request_starts_a_run(served: Served) -> None:
    http = served.client()
    before = http.get("/v1/runs").json()
    for keys in ('{ "title": "x" }', '{ "tags": ["x"] }', '{ "follow_ups": ["x"] }'):
        for stream in (False, True):
            body = task(keys).model_dump(include={"model", "messages"}) | {"stream": stream, "max_tokens": 50}
            reply = http.post("/v1/chat/completions", json=body)
            assert reply.status_code == 200, reply.text
            assert ("data: [DONE]" in reply.text) is stream
    assert http.get("/v1/runs").json() == before
