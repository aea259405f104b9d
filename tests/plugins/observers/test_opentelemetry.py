"""`opentelemetry` sends the spans of runs to a real receiver on loopback, and no run waits for one."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

import leadline
from leadline.contracts import Call
from leadline.errors import ConfigError, RateLimited
from leadline.plugin import middleware
from leadline.records import Event, FetchRequest, SearchRequest
from leadline.testing.fakes import fake_web
from leadline.testing.plugins import plugin
from leadline_plugins.observers.opentelemetry import conventions
from leadline_plugins.observers.opentelemetry.spans import LIMIT, RunSpans, Span

QUESTION = "How deep was the harbour measured at each sounding, in fathoms?"
WEB = {"search.engines": ["fakeweb"], "read.fetchers": ["fakeweb"], "retry.base": 0, "observers": ["opentelemetry"]}
TRACE = "0af7651916cd43dd8448eb211c80319c"


class Around:
    """A middleware that does something before every call."""

    live = True

    def __init__(self, do: Any) -> None:
        self._do = do

    async def around(self, request: Any, call: Call, proceed: Any, /) -> Any:
        await self._do(request, call)
        return await proceed(request)


def client(folder: Path, url: str, *plugins: Any, **settings: Any) -> leadline.Client:
    values = WEB | {"plugins.opentelemetry.endpoint": url} | settings
    return leadline.Client(plugins=[fake_web(), *plugins], folder=folder / "runs", cache=folder / "cache", set=values)


def around(do: Any, name: str = "around") -> Any:
    return plugin(name, middleware("For a test")(lambda: Around(do)))


def attributes(span: Any) -> dict[str, Any]:
    found = {}
    for pair in span.attributes:
        kind = pair.value.WhichOneof("value")
        value = getattr(pair.value, kind)
        found[pair.key] = [one.string_value for one in value.values] if kind == "array_value" else value
    return found


def by_name(spans: list[Any], name: str) -> list[Any]:
    return [span for span in spans if span.name == name]


# --- whole runs ------------------------------------------------------------------------------------------------------


async def test_a_run_is_one_trace_of_session_stages_and_calls(tmp_path: Path, receiver: Any) -> None:
    async with client(tmp_path, receiver.url) as runs:
        handle = await runs.start(QUESTION)
        events = [event async for event in handle.events()]
        result = await handle.result()
    spans = receiver.spans()
    ids = {span.span_id.hex(): span for span in spans}
    assert result.status == "complete"
    assert len(ids) == len(spans)
    assert {span.trace_id.hex() for span in spans} == {result.metadata.trace_id}
    assert receiver.services() == {"leadline"}

    (root,) = [span for span in spans if not span.parent_span_id]
    assert (root.name, root.span_id.hex()) == ("invoke_workflow research", events[0].span_id)
    found = attributes(root)
    assert found[conventions.OPERATION] == "invoke_workflow"
    assert found[conventions.WORKFLOW] == "research"
    assert found[conventions.STATUS] == "complete"
    assert "leadline.claims.supported" not in found, "a run without a model claims nothing"
    assert all(span.parent_span_id.hex() in ids for span in spans if span is not root)
    assert all(root.start_time_unix_nano <= span.start_time_unix_nano <= span.end_time_unix_nano for span in spans)
    assert max(span.end_time_unix_nano for span in spans) == root.end_time_unix_nano
    assert {span.status.code for span in spans} == {0}

    made = {event.span_id for event in events if event.kind == "call.started"}
    stages = {event.span_id for event in events if event.kind == "progress"}
    assert set(ids) == made | stages | {root.span_id.hex()}
    retrieval = by_name(spans, "retrieval fakeweb")[0]
    assert attributes(retrieval)[conventions.DATA_SOURCE] == "fakeweb"
    composite = ids[retrieval.parent_span_id.hex()]
    assert attributes(composite)[conventions.CALL_KIND] == "query"
    assert ids[composite.parent_span_id.hex()].name == "search"


async def test_no_text_is_sent_unless_the_settings_ask_for_it(tmp_path: Path, receiver: Any) -> None:
    async def fail(request: Any, call: Call) -> None:
        if isinstance(request, FetchRequest):
            raise ValueError("a private message")

    async with client(tmp_path, receiver.url, around(fail), middleware=["around"]) as runs:
        await runs.research(QUESTION)
    sent = receiver.text()
    assert receiver.spans()
    assert b"harbour" not in sent.lower()
    assert b"fathoms" not in sent
    assert b"private" not in sent
    async with client(tmp_path, receiver.url, **{"plugins.opentelemetry.content": True}) as runs:
        await runs.research(QUESTION)
    assert QUESTION.encode() in receiver.text()


async def test_failed_calls_have_a_status_and_each_repetition_is_an_event(tmp_path: Path, receiver: Any) -> None:
    refused = 0

    async def refuse(request: Any, call: Call) -> None:
        nonlocal refused
        if isinstance(request, SearchRequest):
            refused += 1
            raise RateLimited("HTTP 429")

    async with client(tmp_path, receiver.url, around(refuse), middleware=["around"]) as runs:
        result = await runs.research(QUESTION)
    assert result.status in ("no_evidence", "failed")
    search = by_name(receiver.spans(), "retrieval fakeweb")[0]
    assert search.status.code == 2
    assert attributes(search)[conventions.ERROR_TYPE] == "RateLimited"
    assert attributes(search)[conventions.ATTEMPTS] == 3
    assert [event.name for event in search.events] == [conventions.RETRIED] * 2
    assert refused == 3 * len(by_name(receiver.spans(), "retrieval fakeweb"))


async def test_a_cancelled_run_ends_every_span_and_its_next_session_is_linked(tmp_path: Path, receiver: Any) -> None:
    reached, stuck = asyncio.Event(), True

    async def wait(request: Any, call: Call) -> None:
        if stuck and isinstance(request, FetchRequest):
            reached.set()
            await asyncio.sleep(3600)

    async with client(tmp_path, receiver.url, around(wait), middleware=["around"]) as runs:
        handle = await runs.start(QUESTION)
        await reached.wait()
        await handle.cancel()
        first = receiver.spans()
        stuck = False
        resumed = await (await runs.resume(handle.id)).result()
    spans = receiver.spans()
    assert resumed.status == "complete"
    assert len({span.trace_id for span in spans}) == 1
    assert len({span.span_id for span in spans}) == len(spans)
    one, other = [span for span in spans if not span.parent_span_id]
    assert [attributes(root)[conventions.STATUS] for root in (one, other)] == ["cancelled", "complete"]
    assert one.status.code == 2
    assert [link.span_id for link in other.links] == [one.span_id]
    ids = {span.span_id for span in first}
    assert all(span.parent_span_id in ids for span in first if span is not one and span.parent_span_id)
    assert {attributes(span)[conventions.ERROR_TYPE] for span in by_name(first, "fetch fakeweb")} == {"interrupted"}
    # The next session answers the search from the journal: no span, an event of its stage.
    second = [span for span in spans if span.span_id not in ids]
    answered = [event for span in by_name(second, "search") for event in span.events]
    assert {event.name for event in answered} == {conventions.ANSWERED}
    assert {pair.value.string_value for event in answered for pair in event.attributes} >= {"query", "journal"}


SESSION = """
import asyncio, sys
import leadline
from leadline.records import FetchRequest
from leadline.plugin import middleware
from leadline.testing.fakes import fake_web
from leadline.testing.plugins import plugin

class Stuck:
    live = True
    async def around(self, request, call, proceed, /):
        if isinstance(request, FetchRequest):
            await asyncio.sleep(3600)
        return await proceed(request)

async def main(folder, url):
    stuck = plugin("stuck", middleware("Never fetches")(Stuck))
    values = {"search.engines": ["fakeweb"], "read.fetchers": ["fakeweb"], "observers": ["opentelemetry"],
              "middleware": ["stuck"], "plugins.opentelemetry.endpoint": url}
    async with leadline.Client(plugins=[fake_web(), stuck], folder=folder + "/runs", set=values,
                               cache=folder + "/cache") as runs:
        await runs.research("How deep was the harbour measured at each sounding, in fathoms?")

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
async def test_the_next_session_sends_the_span_of_a_killed_one(tmp_path: Path, receiver: Any) -> None:
    killed = await asyncio.create_subprocess_exec(
        sys.executable, "-c", SESSION, str(tmp_path), receiver.url, env={**os.environ}
    )
    while not by_name(receiver.spans(), "retrieval fakeweb"):
        assert killed.returncode is None
        await asyncio.sleep(0.05)
    killed.kill()
    await killed.wait()

    async def proceed(request: Any, call: Call) -> None:
        return

    async with client(tmp_path, receiver.url, around(proceed, "stuck"), middleware=["stuck"]) as runs:
        (run,) = runs.runs()
        resumed = await (await runs.resume(run.id)).result()
    spans = receiver.spans()
    assert resumed.status == "complete"
    assert {span.trace_id.hex() for span in spans} == {resumed.metadata.trace_id}
    assert len({span.span_id for span in spans}) == len(spans)
    killed_root, root = sorted(
        (span for span in spans if not span.parent_span_id), key=lambda span: int(span.start_time_unix_nano)
    )
    assert attributes(killed_root)[conventions.ERROR_TYPE] == "interrupted"
    assert [link.span_id for link in root.links] == [killed_root.span_id]
    plan = by_name(spans, "plan")[0]
    assert plan.parent_span_id == killed_root.span_id


# --- receivers -------------------------------------------------------------------------------------------------------


async def test_a_receiver_that_does_not_answer_does_not_keep_a_run(
    tmp_path: Path, receiver: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("leadline_plugins.observers.opentelemetry.FLUSH", 0.2)
    receiver.proceed.clear()
    async with client(tmp_path, receiver.url) as runs:
        result = await runs.research(QUESTION)
        assert await asyncio.to_thread(receiver.arrived.wait, 60)
    assert result.status == "complete"
    assert "/v1/traces did not take the spans within 0.2 s" in caplog.text


@pytest.mark.parametrize("status", [400, 401])
async def test_spans_that_a_receiver_refuses_are_counted_in_the_log(
    tmp_path: Path, receiver: Any, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    receiver.status = status
    async with client(tmp_path, receiver.url) as runs:
        result = await runs.research(QUESTION)
    assert result.status == "complete"
    (message,) = [record.getMessage() for record in caplog.records if "not delivered" in record.getMessage()]
    assert str(status) in message
    assert "opentelemetry: " in message


async def test_the_headers_of_the_settings_are_sent_and_stay_secret(tmp_path: Path, receiver: Any) -> None:
    settings = {"plugins.opentelemetry.headers": {"authorization": "Bearer s3cret-token"}}
    async with client(tmp_path, receiver.url + "/v1/traces", **settings, observers=["jsonl", "opentelemetry"]) as runs:
        result = await runs.research(QUESTION)
    assert receiver.headers[0]["authorization"] == "Bearer s3cret-token"
    files = [path for path in result.folder.iterdir() if path.is_file()]
    assert not any(b"s3cret-token" in path.read_bytes() for path in files)


@pytest.mark.parametrize("endpoint", ["localhost:4318", "ftp://host/", "http://", "http://me:pass@host:4318"])
async def test_an_address_that_cannot_be_used_is_refused(tmp_path: Path, endpoint: str) -> None:
    with pytest.raises(ConfigError, match=r"plugins\.opentelemetry\.endpoint"):
        async with client(tmp_path, endpoint) as runs:
            await runs.research(QUESTION)


# --- spans of single events ------------------------------------------------------------------------------------------


def events(*told: tuple[str, dict[str, Any], str, str | None]) -> list[Event]:
    from datetime import UTC, datetime, timedelta

    begin = datetime(2026, 1, 31, tzinfo=UTC)
    return [
        Event(seq=n, time=begin + timedelta(seconds=n), run_id="r", kind=kind, data=data, trace_id=TRACE, span_id=span,
              parent_id=parent)
        for n, (kind, data, span, parent) in enumerate(told)
    ]  # fmt: skip


START: tuple[str, dict[str, Any], str, str | None] = ("run.started", {"pipeline": "research"}, "a" * 16, None)
CHAT = {"kind": "chat", "provider": "house", "task": "plan", "key": "k"}


def spans_of(*told: tuple[str, dict[str, Any], str, str | None], content: bool = False) -> list[Span]:
    first, *rest = events(START, *told)
    run = RunSpans(first, content=content)
    return [span for event in (first, *rest) for span in run.observe(event)]


def test_a_chat_has_the_names_of_the_conventions() -> None:
    usage = {"input_tokens": 100, "cached_tokens": 40, "output_tokens": 7, "reasoning_tokens": 3, "cost": "0.002"}
    (chat,) = spans_of(
        ("call.started", {**CHAT, "model": "gpt-5"}, "b" * 16, None),
        ("call.delta", {"kind": "text", "text": "nine fathoms", "key": "k"}, "b" * 16, None),
        (
            "call.finished",
            {**CHAT, "outcome": "reply", "from": "live", "attempts": 1, "model": "gpt-5-1", "finish_reason": "stop",
             "usage": usage},
            "b" * 16,
            None,
        ),
    )  # fmt: skip
    assert (chat.name, chat.parent_id, chat.remote) == ("chat gpt-5", "a" * 16, True)
    assert chat.end - chat.start == 2_000_000_000
    assert chat.attributes == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "house",
        "gen_ai.request.model": "gpt-5",
        "gen_ai.response.model": "gpt-5-1",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.cache_read.input_tokens": 40,
        "gen_ai.usage.output_tokens": 7,
        "gen_ai.usage.reasoning.output_tokens": 3,
        "leadline.call.kind": "chat",
        "leadline.call.provider": "house",
        "leadline.call.task": "plan",
        "leadline.call.attempts": 1,
        "leadline.call.cost_usd": 0.002,
    }


def test_the_text_of_a_chat_is_that_of_its_last_attempt() -> None:
    (chat,) = spans_of(
        ("call.started", CHAT, "b" * 16, None),
        ("call.delta", {"kind": "text", "text": "eight"}, "b" * 16, None),
        ("call.restart", {"attempt": 2}, "b" * 16, None),
        ("call.delta", {"kind": "reasoning", "text": "hm"}, "b" * 16, None),
        ("call.delta", {"kind": "text", "text": "nine "}, "b" * 16, None),
        ("call.delta", {"kind": "text", "text": "fathoms"}, "b" * 16, None),
        ("call.finished", {**CHAT, "outcome": "reply", "from": "live", "usage": {}}, "b" * 16, None),
        content=True,
    )
    said = '[{"role": "assistant", "parts": [{"type": "text", "content": "nine fathoms"}]}]'
    assert chat.attributes[conventions.OUTPUT_MESSAGES] == said


def test_a_call_that_was_not_made_is_an_event_or_a_link() -> None:
    stage = {"step": "plan", "status": "started", "data": {"round": 1}}
    done = {**CHAT, "outcome": "reply", "usage": {}}
    spans = spans_of(
        ("progress", stage, "c" * 16, None),
        ("call.started", CHAT, "b" * 16, "c" * 16),
        ("call.finished", {**done, "from": "live"}, "b" * 16, "c" * 16),
        ("call.finished", {**done, "from": "shared"}, "d" * 16, "c" * 16),
        ("call.finished", {**done, "from": "shared"}, "e" * 16, "c" * 16),
        *(("call.finished", {**done, "from": "cache"}, "f" * 16, "c" * 16) for _ in range(LIMIT + 5)),
        ("progress", {**stage, "status": "finished"}, "c" * 16, None),
    )
    assert [span.name for span in spans] == ["chat house", "plan"]
    plan = spans[1]
    assert plan.links == ["b" * 16]
    assert (len(plan.events), plan.dropped) == (LIMIT, 5)
    assert plan.events[0][2][conventions.ORIGIN] == "cache"


def test_a_stage_that_begins_again_ends_its_first_span() -> None:
    stage = {"step": "plan", "status": "started", "data": {"round": 1}}
    spans = spans_of(
        ("progress", stage, "b" * 16, None),
        ("progress", stage, "c" * 16, None),
        ("progress", {"step": "chart", "status": "failed", "data": {"reason": "nothing to draw"}}, "", None),
        ("run.finished", {"status": "failed", "reason": "closed"}, "a" * 16, None),
    )
    assert [(span.name, span.span_id, span.error) for span in spans] == [
        ("plan", "b" * 16, "failed"),
        ("plan", "c" * 16, "interrupted"),
        ("invoke_workflow research", "a" * 16, "failed"),
    ]


def test_the_names_are_those_of_the_package_that_the_table_names() -> None:
    package = pytest.importorskip("opentelemetry.semconv._incubating.attributes.gen_ai_attributes")
    known = {value for name, value in vars(package).items() if name.startswith("GEN_AI_")}
    operations = {one.value for one in package.GenAiOperationNameValues}
    table = {name: value for name, value in vars(conventions).items() if name.isupper() and isinstance(value, str)}
    names = {value for value in table.values() if value.startswith("gen_ai.")}
    assert len(names) >= 12
    assert names <= known
    assert {table[name] for name in ("INVOKE_WORKFLOW", "CHAT", "RETRIEVAL", "EMBEDDINGS")} <= operations
    own = {value for value in table.values() if "." in value and not value.startswith(("gen_ai.", "https:"))}
    assert all(value.startswith("leadline.") for value in own - {"error.type"})
