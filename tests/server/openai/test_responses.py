"""Responses of OpenAI's newer API, with the real client."""

from __future__ import annotations

import asyncio
import json
import time
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import TypeAdapter
from tests.server.conftest import PATIENCE, QUESTION, Served, events, finish, running
from tests.server.openai.test_chat import ASKING, VAGUE, client_of, runs_of

import leadline
from leadline.records import Figure, Report, Section
from leadline_server.openai.answers import Exchange, answer
from leadline_server.openai.turns import Turn
from leadline_server.views import Links

openai = pytest.importorskip("openai", reason="needs the client of OpenAI's API: pip install openai")
from openai.types.responses import Response, ResponseStreamEvent  # noqa: E402

PNG = b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
EVENT: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)


@pytest.fixture
def client(served: Served) -> Iterator[Any]:
    with client_of(served) as client:
        yield client


def respond(client: Any, question: Any, **options: Any) -> Any:
    return client.responses.create(model="leadline-research", input=question, **options)


def poll(client: Any, response: Any) -> Any:
    """Return a response that has ended, as the guide of OpenAI waits for it."""
    until = time.monotonic() + PATIENCE
    while response.status in {"queued", "in_progress"}:
        assert time.monotonic() < until
        time.sleep(0.05)
        response = client.responses.retrieve(response.id)
    return response


def run_of(response: Any) -> str:
    return str(response.id.removeprefix("resp_"))


def checked(response: Any) -> Any:
    """Return a response that has the types of OpenAI's."""
    return Response.model_validate(response.model_dump())


def test_a_response_has_the_report_its_citations_and_the_searches(client: Any, served: Served) -> None:
    response = checked(respond(client, f"{QUESTION} whole"))
    run = run_of(response)
    assert (response.status, response.model, response.error) == ("completed", "leadline-research", None)
    kinds = [item.type for item in response.output]
    assert (kinds[0], kinds[-1]) == ("reasoning", "message")
    assert {"search", "open_page"} == {item.action.type for item in response.output if item.type == "web_search_call"}
    assert "- search" in response.output[0].summary[0].text
    text = response.output_text
    sources = {source["hit"]["url"]: source["hit"]["title"] for source in _report(served, run)["sources"]}
    cited = response.output[-1].content[0].annotations
    assert cited
    for citation in cited:
        mark = text[citation.start_index : citation.end_index]
        assert mark.startswith("[[")
        assert f"]({served.url}/runs/{run}/evidence/" in mark
        assert mark.count("](") == 1
        assert sources[citation.url] == citation.title
    assert len(cited) == text.count(f"]({served.url}/runs/{run}/evidence/")
    assert served.client().get(f"/v1/runs/{run}").json()["status"] == "complete"


def _report(served: Served, run: str) -> Any:
    return served.client().get(f"/v1/runs/{run}/files/report.json").json()


def test_a_background_response_is_retrieved_and_cancelled(client: Any, served: Served) -> None:
    with served.gate.closed():
        first = respond(client, f"{QUESTION} behind", background=True, metadata={"team": "harbour"})
        assert (first.status, first.background, first.output) == ("queued", True, [])
        stopped = respond(client, f"{QUESTION} never", background=True)
        assert checked(client.responses.cancel(stopped.id)).status == "cancelled"
        assert client.responses.cancel(stopped.id).status == "cancelled", "again"
    response = checked(poll(client, first))
    assert (response.status, response.metadata) == ("completed", {"team": "harbour"})
    assert response.output_text.startswith("# ")
    assert client.responses.cancel(first.id).output_text == response.output_text, "it had ended"
    assert client.responses.retrieve(stopped.id).status == "cancelled"


def test_the_events_of_a_stream_make_up_the_response(client: Any) -> None:
    raw = [*respond(client, f"{QUESTION} raw events", stream=True)]
    for event in raw:
        EVENT.validate_python(event.model_dump())
    assert [event.sequence_number for event in raw] == [*range(len(raw))]
    assert [raw[0].type, raw[1].type, raw[-1].type] == [
        "response.created",
        "response.in_progress",
        "response.completed",
    ]
    with client.responses.stream(model="leadline-research", input=f"{QUESTION} helper") as stream:
        text = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
        final = stream.get_final_response()
    assert text == final.output_text
    again = client.responses.retrieve(final.id)
    assert [item.id for item in again.output] == [item.id for item in final.output]
    assert again.output_text == final.output_text


def test_a_stream_in_the_background_is_continued_where_it_broke(client: Any, served: Served) -> None:
    with served.gate.closed():
        stream = respond(client, f"{QUESTION} cut", stream=True, background=True)
        seen = [next(stream) for _ in range(3)]
        stream.close()
    response = seen[0].response.id
    rest = client.responses.retrieve(response, stream=True, starting_after=seen[-1].sequence_number)
    numbers = [event.sequence_number for event in [*seen, *rest]]
    assert numbers == [*range(len(numbers))]
    whole = [event.type for event in client.responses.retrieve(response, stream=True)]
    assert len(whole) == len(numbers)
    other = respond(client, f"{QUESTION} uncut")
    with pytest.raises(openai.UnprocessableEntityError, match="background"):
        client.responses.retrieve(other.id, stream=True, starting_after=3)


def test_the_next_response_follows_the_one_before_it(client: Any, served: Served) -> None:
    first = respond(client, f"{QUESTION} first")
    second = respond(client, f"{QUESTION} second", previous_response_id=first.id)
    assert second.previous_response_id == first.id
    assert served.client().get(f"/v1/runs/{run_of(second)}").json()["follows"] == run_of(first)
    conversation = [
        {"role": "user", "content": f"{QUESTION} first"},
        *first.output,
        {"role": "user", "content": QUESTION},
    ]
    third = respond(client, [item if isinstance(item, dict) else item.model_dump() for item in conversation])
    assert third.status == "completed"
    with pytest.raises(openai.NotFoundError, match="there is no"):
        respond(client, QUESTION, previous_response_id="resp_00000000_20260101_000000")
    with served.gate.closed():
        busy = respond(client, f"{QUESTION} busy", background=True)
        with pytest.raises(openai.ConflictError, match="previous_response_id"):
            respond(client, QUESTION, previous_response_id=busy.id)
    finish(served.client(), run_of(busy))


def test_a_question_of_the_run_is_the_output_and_the_next_response_answers_it(tmp_path: Path) -> None:
    with running(tmp_path, **ASKING) as server, client_of(server) as client:
        response = poll(client, respond(client, VAGUE, background=True))
        assert response.status == "completed"
        assert "The question is unclear" in response.output_text
        answered = respond(client, QUESTION, previous_response_id=response.id)
        assert answered.output_text.startswith("# ")
        assert runs_of(server) == [run_of(response)]


def test_a_run_that_fails_is_a_failed_response(tmp_path: Path) -> None:
    broken: Any = {"ai__providers": ["openai"], "plugins__openai__api_key": "x"}
    with (
        running(
            tmp_path, verify__require_support=True, plugins__openai__base_url="http://127.0.0.1:9/v1", **broken
        ) as server,
        client_of(server) as client,
    ):
        response = checked(respond(client, QUESTION))
        assert response.status == "failed"
        assert "the run is failed" in response.error.message
        events = [*respond(client, f"{QUESTION} stream", stream=True)]
        assert (events[-1].type, events[-1].response.status) == ("response.failed", "failed")


@pytest.mark.parametrize(
    ("tool", "message"),
    [
        ({"type": "web_search_preview", "user_location": None}, ""),
        ({"type": "web_search", "search_context_size": "medium"}, ""),
        ({"type": "mcp", "server_label": "fakeweb", "require_approval": "never"}, ""),
        ({"type": "web_search", "filters": {"allowed_domains": ["a.org"]}}, "filters: a request cannot change"),
        ({"type": "web_search", "search_context_size": "high"}, "the only choice is 'medium'"),
        ({"type": "file_search", "vector_store_ids": ["nosuch.pdf"]}, "there is no 'nosuch.pdf'"),
        ({"type": "file_search_2026_01_01", "vector_store_ids": ["nosuch.pdf"]}, "there is no 'nosuch.pdf'"),
        ({"type": "file_search", "vector_store_ids": ["documents"], "max_num_results": 3}, "max_num_results"),
        ({"type": "code_interpreter", "container": {"type": "auto"}}, "does not use code_interpreter"),
        ({"type": "mcp", "server_label": "x", "server_url": "http://127.0.0.1:1"}, "choose from: fakeweb"),
        ({"type": "mcp", "server_label": "fakeweb", "server_url": "http://127.0.0.1:1"}, "server_url"),
        ({"type": "function", "name": "f", "parameters": {}}, "a run calls no tools of a client"),
    ],
)
def test_a_tool_is_what_the_run_does_or_refused_with_the_choices(
    client: Any, served: Served, tool: dict[str, Any], message: str
) -> None:
    before = runs_of(served)
    chat = {"model": "leadline-research", "messages": [{"role": "user", "content": QUESTION}]}
    if not message:
        response = respond(client, f"{QUESTION} with {tool}", tools=[tool], background=True)
        assert response.model_dump(exclude_unset=True)["tools"] == [tool]
        client.responses.cancel(response.id)
        return
    with pytest.raises(openai.UnprocessableEntityError, match=message) as refused:
        respond(client, QUESTION, tools=[tool])
    assert refused.value.type == "invalid_request_error"
    with pytest.raises(openai.UnprocessableEntityError, match=message):
        client.chat.completions.create(**chat, tools=[tool])
    assert runs_of(served) == before


def test_file_search_searches_documents_and_the_web_only_beside_web_search(tmp_path: Path) -> None:
    files: Any = {"type": "file_search", "vector_store_ids": ["depth.txt"]}
    with running(tmp_path) as server, client_of(server) as client:
        http = server.client()
        text = b"The harbour of Kalmar was measured at each sounding: it was seven fathoms deep."
        added = http.post("/v1/knowledge", params={"name": "depth.txt"}, content=text)
        assert added.status_code == 200, added.text
        alone = respond(client, f"{QUESTION} alone", tools=[files])
        both = respond(client, f"{QUESTION} both", tools=[files, {"type": "web_search"}])
        for response, web in ((alone, False), (both, True)):
            calls = [json.loads(frame["data"])["data"] for frame in events(http, run_of(response))]
            asked = {call["provider"] for call in calls if call.get("kind") == "search"}
            assert asked == ({"knowledge", "fakeweb"} if web else {"knowledge"})
            assert "depth.txt" in response.output_text


@pytest.mark.parametrize(
    ("figures", "shown"),
    [
        ("links", "[Depth by year](http://here/v1/runs/ID/files/figures/figure-1.png)"),
        ("data", "![Depth by year](data:image/png;base64,"),
    ],
)
def test_figures_are_links_to_their_files_or_data(figures: str, shown: str) -> None:
    picture = Figure(id="depth", caption="Depth", alt="Depth by year", media={"image/png": PNG})
    section = Section(id="s", title="Depth", text="It fell.\n\n![](figure:depth)")
    report = Report(title="Depth", language="en", sections=(section,), sources=(), evidence=(), figures=(picture,))
    files = Links(self="", events="", files="/v1/runs/ID/files/")
    view: Any = SimpleNamespace(id="ID", status="complete", files=("figures/figure-1.png",), links=files)

    async def stored(run_id: str, principal: str | None) -> Report:
        return report

    service: Any = SimpleNamespace(client=leadline.Client(), report=stored)
    text = "".join(asyncio.run(answer(Exchange(service, Turn("ID"), None, "http://here/runs/ID", figures), view)))
    assert text.count(f"\n\n{shown}") == 1
    assert "figures/figure-1.png)" not in text.replace(shown, "")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"text": {"format": {"type": "json_object"}}}, "text.format"),
        ({"store": False}, "every run is stored"),
        ({"conversation": "conv_1"}, "previous_response_id continues"),
        ({"max_output_tokens": 20}, "no report fits into 20 tokens"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"extra_body": {"leadline": {"reasoning": "think"}}}, "choose from: fields, off"),
    ],
)
def test_options_that_no_run_supports_are_refused(client: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(openai.UnprocessableEntityError, match=message):
        respond(client, QUESTION, **options)
    with pytest.raises(openai.UnprocessableEntityError, match="item_reference"):
        respond(client, [{"type": "item_reference", "id": "x"}])


def test_bodies_of_other_shapes_are_faults_of_the_client(served: Served) -> None:
    http, body = served.client(), {"model": "leadline-research", "input": QUESTION}
    for wrong in ({"text": {"format": "text"}}, {"text": {"format": ["text"]}}, {"input": [{"type": "reasoning"}]}):
        assert http.post("/v1/responses", json={**body, **wrong}).status_code == 422
    assert http.post("/v1/responses", json={**body, "text": {"format": None}, "background": True}).status_code == 200


def test_a_limit_of_tool_calls_lowers_the_searches_of_the_run(client: Any, served: Served) -> None:
    few = respond(client, f"{QUESTION} few", max_tool_calls=1)
    many = respond(client, f"{QUESTION} many", max_tool_calls=1_000)
    searches = [
        [item for item in response.output if item.type == "web_search_call" and item.action.type == "search"]
        for response in (few, many)
    ]
    assert len(searches[0]) == 1
    assert len(searches[1]) >= 1


def test_another_user_has_no_response(team: Served) -> None:
    with client_of(team, "alice") as alice, client_of(team, "bob") as bob:
        response = respond(alice, QUESTION, background=True)
        for call in (bob.responses.retrieve, bob.responses.cancel):
            with pytest.raises(openai.NotFoundError):
                call(response.id)
        with pytest.raises(openai.NotFoundError):
            respond(bob, QUESTION, previous_response_id=response.id)
        alice.responses.cancel(response.id)
