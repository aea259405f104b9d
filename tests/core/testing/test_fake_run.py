"""The fake run works as a run: questions, tasks, calls, facts, files; other replies are those of the test."""

from __future__ import annotations

import subprocess
import sys
from datetime import datetime
from typing import Any

import httpx
import pytest

from leadline.contracts import Call
from leadline.errors import BadReply, NeedsClarification, PluginError, Unavailable, UsageError
from leadline.records import Answer, Blob, FetchRequest, Hit, Json, Record, SearchPage, SearchRequest
from leadline.tasks import TaskKind
from leadline.testing.context import FakeRun
from leadline.testing.servers import ScriptedAnswer, json_answer, scripted_server


async def test_questions_are_answered_in_order_and_recorded() -> None:
    run = FakeRun(answers=[{"which": "north"}, Answer(action="decline")])
    assert await run.ask("Which harbour?", {"type": "object"}) == Answer(action="accept", content={"which": "north"})
    assert (await run.ask("Really?", {}, {"yes": True})).action == "decline"
    assert run.questions == [("Which harbour?", {"type": "object"}), ("Really?", {})]


async def test_without_an_answer_the_default_is_accepted_as_in_a_run() -> None:
    run = FakeRun()
    assert await run.ask("Which harbour?", {}, {"which": "any"}) == Answer(action="accept", content={"which": "any"})
    with pytest.raises(NeedsClarification, match="Which harbour"):
        await run.ask("Which harbour?", {})


async def test_answers_and_defaults_that_miss_the_schema_are_refused_as_in_a_run() -> None:
    schema: Json = {"type": "object", "properties": {"tide": {"type": "string", "enum": ["low", "high"]}}}
    with pytest.raises(UsageError, match="'Which tide\\?' does not fit the question: tide: choose from low, high"):
        await FakeRun(answers=[{"tide": "ebb"}]).ask("Which tide?", schema)
    with pytest.raises(UsageError, match="tide: it must be of the type string"):
        await FakeRun().ask("Which tide?", schema, {"tide": 3})


class Subject(Record):
    name: str


class Points(Record):
    texts: tuple[str, ...]


POINTS = TaskKind("points", Subject, Points, check=lambda _, reply: "" if reply.texts else "no points")


async def test_tasks_and_verbs_reply_from_the_script() -> None:
    page = SearchPage(hits=(Hit(url="https://example.org/"),))
    replies: dict[str, Any] = {
        "points": [{"texts": ["deep"]}, Unavailable("closed")],
        "search": lambda request: page.model_copy(update={"suggestion": request.query}),
    }
    run = FakeRun(replies=replies)
    assert await run.by_chat("points")
    assert await run.perform(POINTS.of(Subject(name="harbour"))) == Points(texts=("deep",))
    with pytest.raises(Unavailable, match="closed"):
        await run.perform(POINTS.of(Subject(name="bay")))
    assert (await run.search(SearchRequest(query="depth"))).suggestion == "depth"
    assert [key for key, _ in run.asked] == ["points", "points", "search"]
    assert await run.rerank("depth", ["a"]) is None


async def test_a_reply_that_the_test_lacks_or_that_fails_its_check_is_named() -> None:
    with pytest.raises(PluginError, match=r"pass FakeRun\(replies=\{'fetch': …\}\); it has: points"):
        await FakeRun(replies={"points": Points(texts=())}).fetch(FetchRequest(url="https://example.org/"))
    with pytest.raises(BadReply, match="no points"):
        await FakeRun(replies={"points": Points(texts=())}).perform(POINTS.of(Subject(name="bay")))
    with pytest.raises(TypeError, match="Subject, not Points"):
        await FakeRun(replies={"points": Subject(name="bay")}).perform(POINTS.of(Subject(name="bay")))


async def test_calls_facts_and_files_are_kept_as_in_a_run() -> None:
    run, asked, chances = FakeRun(), [], iter(range(9))

    async def publish(request: Subject, call: Call) -> Points:
        asked.append(request.name)
        assert call.run.question == run.question
        return Points(texts=(request.name,))

    names = ["bay", "harbour", "bay"]
    replies = await run.each(names, lambda name: run.call("publish", Subject(name=name), publish, Points))
    assert [reply.texts[0] for reply in replies] == names
    assert sorted(asked) == ["bay", "harbour"]
    assert [await run.fact("chance", lambda: next(chances)) for _ in range(2)] == [0, 0]
    path = await run.save(Blob(name="chart.txt", media_type="text/plain", data=b"deep"))
    assert (path.read_bytes(), path.parent) == (b"deep", run.folder)
    with pytest.raises(ValueError, match="outside of the run's folder"):
        await run.save(Blob(name="../chart.txt", media_type="text/plain", data=b""))
    with pytest.raises(TypeError, match="cannot be part of a request"):
        await run.call("publish", Times(at=run.now()), publish, Points)


class Times(Record):
    at: datetime


async def test_the_scripted_server_answers_by_path_and_request_a_client_that_blocks_the_loop() -> None:
    routes: dict[str, Any] = {
        "/token": [{"token": "one"}, {"token": "two"}],
        "/search": lambda request: {"token": request.headers["authorization"], "query": request.query["q"]},
        "/slow": ScriptedAnswer(wait=60),
        "/closed": json_answer({"error": "closed"}, 503),
    }
    async with scripted_server(routes) as server:
        assert [httpx.post(f"{server.url}/token").json()["token"] for _ in range(3)] == ["one", "two", "two"]
        found = httpx.get(f"{server.url}/search", params={"q": "depth"}, headers={"authorization": "one"}).json()
        assert found == {"token": "one", "query": "depth"}
        assert httpx.get(f"{server.url}/closed").status_code == 503
        assert "there are /token, /search" in httpx.get(f"{server.url}/none").json()["error"]
        with pytest.raises(httpx.ReadTimeout):
            httpx.get(f"{server.url}/slow", timeout=0.05)
    assert [asked.route for asked in server.asked] == ["/token"] * 3 + ["/search", "/closed", "/none", "/slow"]


def test_pytest_finds_the_fixtures_and_imports_nothing_before_they_are_used(
    fake_run: type[FakeRun], fake_call: Any, fake_context: Any
) -> None:
    assert fake_call(run=fake_run()).run.question
    assert fake_context(name="mine").name == "mine"
    code = (
        "import leadline.testing.pytest_plugin, sys; print([m for m in sys.modules if 'pydantic' in m or 'httpx' in m])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
