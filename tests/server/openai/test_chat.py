"""The endpoint for clients of OpenAI's API, with the real client."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.server.conftest import PATIENCE, QUESTION, Served, finish, order, running

from leadline_server import streams
from leadline_server.limits import Limits

openai = pytest.importorskip("openai", reason="needs the client of OpenAI's API: pip install openai")
ASKING: dict[str, Any] = {"clarify.mode": "ask", "plugins.clarify.rules": "literal"}
VAGUE = "what is it"
CHAT = "/v1/chat/completions"
# A report, perhaps with a reason above it.
REPORT = re.compile(r"(\*Partial.*\n\n)?# ")


def client_of(server: Served, user: str = "", **options: Any) -> Any:
    key = server.tokens[user] if user else "none"
    return openai.OpenAI(base_url=f"{server.url}/v1", api_key=key, max_retries=0, timeout=PATIENCE, **options)


@pytest.fixture
def client(served: Served) -> Iterator[Any]:
    with client_of(served) as client:
        yield client


def said(*texts: str) -> list[dict[str, str]]:
    """Return a conversation: question, answer, question, …"""
    return [{"role": ("user", "assistant")[place % 2], "content": text} for place, text in enumerate(texts)]


def ask(client: Any, *texts: str, **options: Any) -> Any:
    return client.chat.completions.create(model="leadline-research", messages=said(*texts), **options)


def runs_of(server: Served, user: str = "") -> list[str]:
    return [run["id"] for run in server.client(user).get("/v1/runs", params={"limit": 500}).json()["runs"]]


def test_a_reply_that_is_awaited_takes_a_place_like_a_stream(tmp_path: Path) -> None:
    body = {"model": "leadline-research", "messages": said(QUESTION)}
    with running(tmp_path, limits=Limits(streams=1)) as server:
        http, waiting = (
            server.client(),
            threading.Thread(target=server.client().post, args=[CHAT], kwargs={"json": body}),
        )
        with server.gate.closed():
            waiting.start()
            until = time.monotonic() + PATIENCE
            while "leadline_streams_open 1.0" not in http.get("/metrics").text or not runs_of(server):
                assert time.monotonic() < until
                time.sleep(0.02)
            assert http.post(CHAT, json=body).status_code == 429
        waiting.join()
        assert http.post(CHAT, json=body).status_code == 200


def test_every_pipeline_is_a_model(client: Any) -> None:
    models = {model.id: model for model in client.models.list()}
    assert models["leadline-research"].owned_by == "leadline"
    assert client.models.retrieve("leadline-research") == models["leadline-research"]


def test_a_whole_answer_is_the_report_with_links_to_its_passages(client: Any, served: Served) -> None:
    reply = ask(client, QUESTION)
    text, run = reply.choices[0].message.content, reply.leadline["run_id"]
    assert reply.id == f"chatcmpl-{run}"
    assert text.startswith("# ")
    assert f"[[1]]({served.url}/runs/{run}/evidence/" in text
    assert reply.choices[0].finish_reason == "stop"
    assert reply.usage.total_tokens == 0  # no model was called
    assert "- search" in reply.choices[0].message.reasoning_content


def test_a_stream_tells_the_run_at_once_then_progress_then_the_report_in_sections(client: Any, served: Served) -> None:
    chunks = [*ask(client, QUESTION, stream=True, stream_options={"include_usage": True})]
    first, *middle, last, usage = chunks
    run = first.leadline["run_id"]
    assert (first.id, first.leadline["url"]) == (f"chatcmpl-{run}", f"{served.url}/runs/{run}")
    deltas = [chunk.choices[0].delta for chunk in middle]
    kinds = ["content" if delta.content else "reasoning" for delta in deltas]
    assert kinds == sorted(kinds, reverse=True)  # all reasoning, then all content
    assert all(delta.reasoning == delta.reasoning_content for delta in deltas if not delta.content)
    pieces = [delta.content for delta in deltas if delta.content]
    assert len(pieces) > 2
    assert pieces[1].startswith("## ")
    assert last.choices[0].finish_reason == "stop"
    assert (usage.choices, usage.usage.total_tokens) == ([], 0)
    assert served.client().get(f"/v1/runs/{run}").json()["status"] == "complete"


def test_progress_can_be_told_in_the_text_or_not_at_all(client: Any) -> None:
    thinking = ask(client, f"{QUESTION} (think)", stream=True, extra_body={"leadline": {"reasoning": "think"}})
    text = "".join(one.choices[0].delta.content or "" for one in thinking)
    assert text.startswith("<think>\n[Run ")
    assert re.search(r"\n</think>\n\n(\*Partial.*\n\n)?# ", text)
    silent = ask(client, f"{QUESTION} (off)", extra_body={"leadline": {"reasoning": "off"}})
    assert REPORT.match(silent.choices[0].message.content)


def test_leadlines_own_fields_choose_settings_formats_and_tags(client: Any, served: Served) -> None:
    extra = {"leadline": {"set": {"report.length": 300}, "formats": ["markdown", "bibtex"], "tags": {"team": "a"}}}
    run = ask(client, QUESTION, extra_body=extra).leadline["run_id"]
    view = served.client().get(f"/v1/runs/{run}").json()
    assert view["tags"]["team"] == "a"
    assert {"report.md", "references.bib"} <= {*view["files"]}
    with pytest.raises(openai.PermissionDeniedError, match="runs.folder"):
        ask(client, QUESTION, extra_body={"leadline": {"set": {"runs.folder": "/"}}})
    with pytest.raises(openai.UnprocessableEntityError, match="leadline.wrong"):
        ask(client, QUESTION, extra_body={"leadline": {"wrong": 1}})


@pytest.mark.parametrize("unset", [None, -1])
def test_null_is_not_given_minus_one_is_no_limit_and_a_final_slash_no_other_address(
    served: Served, unset: int | None
) -> None:
    optional = ("stream", "stream_options", "n", "response_format", "tool_choice", "leadline", "temperature", "stop")
    part = {"type": "text", "text": QUESTION}
    body = {
        **dict.fromkeys(optional),
        "model": "leadline-search",
        "messages": [{"role": "user", "content": [part, {"type": "text", "text": None}], "name": None}],
        "max_tokens": unset,
        "max_completion_tokens": unset,
    }
    answer = served.client().post("/v1/chat/completions/", json=body, timeout=PATIENCE)
    assert answer.status_code == 200, answer.text
    assert answer.json()["choices"][0]["message"]["content"].startswith("# ")
    assert served.client().get("/v1/models/").status_code == 200


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 2}, "n: a request starts one run"),
        ({"response_format": {"type": "json_object"}}, "response_format"),
        ({"tool_choice": "required", "tools": [{"type": "function", "function": {"name": "f"}}]}, "tool_choice"),
        ({"max_tokens": 20}, "no report fits into 20 tokens"),
    ],
)
def test_options_that_no_run_supports_are_refused_before_one_starts(
    client: Any, served: Served, options: dict[str, Any], message: str
) -> None:
    before = runs_of(served)
    with pytest.raises(openai.UnprocessableEntityError, match=message) as refused:
        ask(client, QUESTION, **options)
    assert (refused.value.type, refused.value.code) == ("invalid_request_error", "unsupported")
    assert runs_of(served) == before


def test_errors_have_the_form_of_openai(team: Served) -> None:
    wrong = openai.OpenAI(base_url=f"{team.url}/v1", api_key="wrong", max_retries=0)
    with wrong, pytest.raises(openai.AuthenticationError) as refused:
        wrong.models.list()
    assert (refused.value.type, refused.value.code) == ("authentication_error", "unknown_token")
    with client_of(team, "alice") as alice:
        with pytest.raises(openai.NotFoundError, match="leadline-research") as unknown:
            alice.chat.completions.create(model="leadline-resaerch", messages=said(QUESTION))
        assert unknown.value.code == "model_not_found"
        with pytest.raises(openai.UnprocessableEntityError, match="question of the user"):
            alice.chat.completions.create(model="leadline-research", messages=[{"role": "system", "content": "x"}])
        picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
        message = {"role": "user", "content": [{"type": "text", "text": "What is it?"}, picture]}
        with pytest.raises(openai.UnprocessableEntityError, match="image_url"):
            alice.chat.completions.create(model="leadline-research", messages=[message])


def test_a_run_that_fails_is_an_error_also_in_a_stream(tmp_path: Path) -> None:
    with (
        running(
            tmp_path,
            verify__require_support=True,
            ai__providers=["openai"],
            plugins__openai__api_key="x",
            plugins__openai__base_url="http://127.0.0.1:9/v1",
        ) as server,
        client_of(server) as client,
    ):
        with pytest.raises(openai.InternalServerError) as failed:
            ask(client, QUESTION)
        assert failed.value.code == "run_failed"
        with pytest.raises(openai.APIError, match="the run is failed"):
            list(ask(client, f"{QUESTION} again", stream=True))


# --- one question, one run --------------------------------------------------------------------------------------------


def test_a_client_that_leaves_does_not_end_the_run_and_comes_back_to_it(client: Any, served: Served) -> None:
    with served.gate.closed():
        stream = ask(client, f"{QUESTION} left", stream=True)
        run = next(iter(stream)).leadline["run_id"]
        stream.close()
        again = ask(client, f"{QUESTION} left", stream=True)
        assert next(iter(again)).leadline["run_id"] == run
    text = "".join(chunk.choices[0].delta.content or "" for chunk in again)
    assert REPORT.match(text)
    assert finish(served.client(), run)["status"] in ("complete", "partial")


def test_a_client_may_ask_that_the_run_ends_with_it(client: Any, served: Served) -> None:
    extra = {"leadline": {"on_disconnect": "cancel"}}
    with served.gate.closed():
        stream = ask(client, f"{QUESTION} cancelled", stream=True, extra_body=extra)
        run = next(iter(stream)).leadline["run_id"]
        stream.close()
        assert finish(served.client(), run)["status"] == "cancelled"


def test_the_same_request_twice_at_once_is_one_run(client: Any, served: Served) -> None:
    found: list[str] = []
    with served.gate.closed():
        threads = [
            threading.Thread(target=lambda: found.append(ask(client, f"{QUESTION} twice").leadline["run_id"]))
            for _ in range(3)
        ]
        for thread in threads:
            thread.start()
        while len([run for run in served.client().get("/v1/runs").json()["runs"] if "twice" in run["question"]]) < 1:
            time.sleep(0.02)
    for thread in threads:
        thread.join(PATIENCE)
    assert len(found) == 3
    assert len({*found}) == 1


def test_a_client_that_gave_up_waiting_gets_the_same_run_when_it_tries_again(served: Served) -> None:
    with served.gate.closed(), client_of(served) as client, pytest.raises(openai.APITimeoutError):
        ask(client, f"{QUESTION} patience", timeout=0.5)
    with client_of(served) as client:
        ask(client, f"{QUESTION} patience")
    asked = [run for run in served.client().get("/v1/runs").json()["runs"] if "patience" in run["question"]]
    assert len(asked) == 1


def test_the_same_question_after_its_answer_is_a_new_run(client: Any) -> None:
    first, second = (ask(client, f"{QUESTION} anew").leadline["run_id"] for _ in range(2))
    assert first != second


def test_a_restart_of_the_server_loses_neither_the_run_nor_its_client(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        server.gate.is_open.clear()
        with client_of(server) as client:
            stream = ask(client, QUESTION, stream=True)
            run = next(iter(stream)).leadline["run_id"]
            threading.Timer(0.2, server.end).start()
            with pytest.raises(openai.APIError, match="shutting down"):
                list(stream)
    with running(tmp_path) as server, client_of(server) as client:
        assert ask(client, QUESTION).leadline["run_id"] == run


# --- questions of a run ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [False, True])
def test_a_question_of_the_run_is_the_answer_and_the_next_message_answers_it(tmp_path: Path, stream: bool) -> None:
    with running(tmp_path, **ASKING) as server, client_of(server) as client:
        reply = ask(client, VAGUE, stream=stream)
        if stream:
            chunks = [*reply]
            run, text = chunks[0].leadline["run_id"], "".join(one.choices[0].delta.content or "" for one in chunks)
        else:
            run, text = reply.leadline["run_id"], reply.choices[0].message.content
        assert "The question is unclear" in text
        assert server.client().get(f"/v1/runs/{run}").json()["status"] == "waiting"
        reply = ask(client, VAGUE, text, QUESTION)
        assert reply.leadline["run_id"] == run
        assert reply.choices[0].message.content.startswith("# ")
        assert "- plan" in reply.choices[0].message.reasoning
        assert runs_of(server) == [run]


def test_a_chat_shows_the_plan_with_a_link_and_follows_it_or_names_the_line_at_fault(served: Served) -> None:
    with client_of(served) as client:
        told, asked = {"extra_body": {"leadline": {"set": {"plan.approve": "ask"}}}}, f"{QUESTION} plan"
        first = ask(client, asked, **told)
        text, run = first.choices[0].message.content, first.leadline["run_id"]
        assert f"\n    Section: {asked}\n" in text
        assert f"]({served.url}/runs/{run})" in text
        again = ask(client, asked, text, "looks good", **told)
        fault = again.choices[0].message.content
        assert "Answer 1 cannot be used: line 1, 'looks good', must begin with" in fault
        assert f"\n    Section: {asked}\n" in fault
        done = ask(client, asked, text, "looks good", fault, "go on", **told)
        assert (done.leadline["run_id"], "\n# " in f"\n{done.choices[0].message.content}") == (run, True)


def test_a_retry_of_an_answer_joins_the_run_of_the_same_user(tmp_path: Path) -> None:
    with running(tmp_path, "ann", "ben", **ASKING) as server:
        with client_of(server, "ann") as ann, client_of(server, "ben") as ben:
            question, other = ask(ann, VAGUE), ask(ben, VAGUE)
            server.gate.is_open.clear()
            conversation = VAGUE, question.choices[0].message.content, QUESTION
            with pytest.raises(openai.APITimeoutError):
                ask(ann, *conversation, timeout=0.5)
            server.gate.is_open.set()
            assert ask(ben, *conversation).leadline == other.leadline, "the same words of another user"
            assert ask(ann, *conversation).leadline == question.leadline
        assert [len(runs_of(server, user)) for user in server.tokens] == [1, 1]


# --- conversations ---------------------------------------------------------------------------------------------------


def test_the_next_question_follows_the_run_before_it(client: Any, served: Served) -> None:
    asked = f"{QUESTION} follow"
    first = ask(client, asked)
    answer, run = first.choices[0].message.content, first.leadline["run_id"]
    second = ask(client, asked, answer, QUESTION).leadline["run_id"]
    third = ask(client, asked, answer, QUESTION, "…", QUESTION).leadline["run_id"]
    views = [served.client().get(f"/v1/runs/{one}").json() for one in (second, third)]
    assert [view["follows"] for view in views] == [run, second]
    assert len({view["conversation"] for view in views}) == 1


def test_a_conversation_that_began_elsewhere_is_given_to_the_run(client: Any, served: Served) -> None:
    run = ask(client, "How long is a cable?", "A hundred fathoms.", QUESTION).leadline["run_id"]
    told = json.loads((served.folder / "runs" / run / "conversation.json").read_text(encoding="utf-8"))
    assert [(turn["question"], turn["answer"]) for turn in told["turns"]] == [
        ("How long is a cable?", "A hundred fathoms.")
    ]


# --- a quiet run -----------------------------------------------------------------------------------------------------


def test_a_quiet_stream_tells_what_the_run_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "HEARTBEAT", 0.05)
    with running(tmp_path) as server, server.gate.closed(), client_of(server) as client:
        seen = 0
        for chunk in ask(client, QUESTION, stream=True):
            seen += "search …" in (getattr(chunk.choices[0].delta, "reasoning_content", None) or "")
            if seen == 3:
                break
        assert seen == 3
        server.client().post(f"/v1/runs/{runs_of(server)[0]}/cancel")


def test_the_stream_is_as_the_protocol_says(served: Served) -> None:
    body = {"model": "leadline-research", "messages": said(f"{QUESTION} raw"), "stream": True}
    with served.client().stream("POST", "/v1/chat/completions", json=body) as reply:
        assert reply.headers["content-type"].startswith("text/event-stream")
        run = reply.headers["x-leadline-run"]
        lines = [line for line in reply.iter_lines() if line]
    assert lines[-1] == "data: [DONE]"
    chunks = [json.loads(line.removeprefix("data: ")) for line in lines[:-1]]
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
    assert {chunk["id"] for chunk in chunks} == {f"chatcmpl-{run}"}


def test_a_run_of_the_api_is_none_of_a_chat(served: Served, client: Any) -> None:
    run = order(served.client(), f"{QUESTION} api")
    finish(served.client(), run)
    assert ask(client, f"{QUESTION} api").leadline["run_id"] != run
