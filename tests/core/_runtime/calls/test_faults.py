"""Runs whose plugins do what no plugin should: each fault is told in its plugin's name, and costs nothing else."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import sqlite3
import zlib
from collections.abc import Awaitable, Callable, Sequence
from decimal import Decimal
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, cast

import pytest
from pydantic import SecretStr

import leadline
from leadline._hosting.faults import is_cancellation
from leadline._runtime.calls.retry import RunHealth
from leadline.contracts import Call, Context
from leadline.errors import CallFailed, ConfigError, Denied
from leadline.hookspecs import KINDS
from leadline.plugin import PluginSettings, ai_provider, fetcher, observer
from leadline.records import (
    Blob,
    ChatReply,
    Failure,
    Files,
    Hit,
    Message,
    ModelTraits,
    Report,
    SearchPage,
    Section,
    Synthesis,
    Usage,
)
from leadline.research_findings import REPORT
from leadline.tasks import TaskRequest
from leadline.testing.fakes import fake_web
from leadline.testing.plugins import plugin

QUESTION = "How deep was the harbour measured at each sounding, in fathoms?"
KEY = "sk-of-the-plugin-0123456789"


class Odd(BaseException):
    """No `Exception`."""


class Mute(Exception):
    """An error without a text."""

    def __str__(self) -> str:
        raise RuntimeError("even its text fails")


OWN: Sequence[BaseException] = (
    ValueError("broken"),
    SystemExit(0),
    SystemExit("bye"),
    Odd("odd"),
    Mute(),
    asyncio.CancelledError(),
    GeneratorExit(),
)
"""What a plugin may raise though nobody asked for an end."""
SOME = (OWN[0], OWN[3], OWN[5])
"""An `Exception`, another error and a cancellation, for kinds whose faults the code of stages contains."""
Does = Callable[..., Any]


class Acts:
    """Does the same whatever it is asked, in every verb a plugin may have."""

    deltas = False
    live = True

    def __init__(self, does: Does) -> None:
        self._does = does

    def accepts(self, asked: str, /) -> bool:
        return True

    def traits(self, model: str, /) -> ModelTraits:
        return ModelTraits()

    async def run(self, *asked: Any) -> Any:
        answer = self._does(*asked)
        return await answer if isinstance(answer, Awaitable) else answer

    map = chat = search = fetch = parse = format = synthesize = observe = around = embed = run


def acting(kind: str, does: Does, **options: Any) -> EntryPoint:
    """Return a plugin of this kind that does it."""
    return plugin("acts", KINDS[kind]("Acts", **options)(lambda: Acts(does)))


def raising(error: BaseException) -> Does:
    def does(*asked: Any) -> Any:
        raise error

    return does


def client(folder: Path, *plugins: EntryPoint, **settings: Any) -> leadline.Client:
    values = {"search.engines": ["fakeweb"], "read.fetchers": ["fakeweb"], "ai.providers": ["embedded"]}
    values |= {"retry.base": 0} | {name.replace("__", "."): value for name, value in settings.items()}
    return leadline.Client(plugins=[fake_web(), *plugins], folder=folder / "runs", cache=folder / "cache", set=values)


def staged(folder: Path, does: Does, *plugins: EntryPoint, **settings: Any) -> leadline.Client:
    """Return a client whose pipeline has a stage behind `write` that does it."""
    stage = acting("stages", does, needs=(REPORT,), gives=(REPORT,))
    mine = {"extends": "research", "after": {"write": ["acts"]}}
    return client(folder, stage, *plugins, pipeline="mine", pipelines={"mine": mine}, **settings)


async def ended(runs: leadline.Client) -> leadline.Result:
    """Return how a run ends that must end by itself."""
    async with runs, asyncio.timeout(20):
        return await runs.research(QUESTION)


def events(result: leadline.Result, kind: str) -> list[dict[str, Any]]:
    lines = (result.folder / "events.jsonl").read_text().splitlines()
    return [event["data"] for event in map(json.loads, lines) if event["kind"] == kind]


async def test_a_coroutine_that_is_closed_ends_without_a_fault() -> None:
    async def work() -> None:
        await asyncio.sleep(60)

    async def around() -> None:
        try:
            await work()
        except BaseException as error:
            seen.append(is_cancellation(error))
            raise

    seen: list[bool] = []
    dropped = around()

    def begin_and_close() -> None:
        loop = asyncio.new_event_loop()
        task = loop.create_task(dropped)
        loop.run_until_complete(asyncio.sleep(0))
        task._log_destroy_pending = False  # type: ignore[attr-defined]
        dropped.close()
        loop.close()

    await asyncio.to_thread(begin_and_close)
    assert seen == [True]


# --- what no plugin may end ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", OWN, ids=repr)
async def test_whatever_a_stage_raises_is_its_fault_and_names_it(error: BaseException, tmp_path: Path) -> None:
    result = await ended(staged(tmp_path, raising(error)))
    assert (result.status, result.exit_code) == ("failed", 1)
    assert f"stage 'acts' raised {type(error).__name__}" in result.reason
    assert re.search(r" at test_faults\.py:\d+, in \w+; this is a bug in the plugin$", result.reason)
    (failure,) = result.metadata.errors
    assert (failure.category, failure.step, failure.retries, failure.times) == ("INTERNAL", "acts", 0, 1)


@pytest.mark.parametrize("error", SOME, ids=repr)
async def test_whatever_something_done_side_by_side_raises_is_a_fault(error: BaseException, tmp_path: Path) -> None:
    async def does(findings: Any, run: Any) -> None:
        async def one(item: int) -> None:
            await asyncio.sleep(0)
            raise error

        await run.each([1, 2], one)

    result = await ended(staged(tmp_path, does))
    assert (result.status, result.exit_code) == ("failed", 1)
    assert type(error).__name__ in result.reason


@pytest.mark.parametrize("error", SOME, ids=repr)
async def test_whatever_a_model_raises_the_next_is_asked(error: BaseException, tmp_path: Path) -> None:
    result = await ended(client(tmp_path, acting("ai_providers", raising(error)), ai__providers=["acts", "embedded"]))
    assert result.metadata.calls["perform/embedded"] > 0
    assert any(f"acts: {type(error).__name__}" in notice for notice in result.metadata.notices)
    assert any("a fault of plugin 'acts'" in notice for notice in result.metadata.notices)


@pytest.mark.parametrize("error", SOME, ids=repr)
@pytest.mark.parametrize("kind", ["search_providers", "search_strategies", "synthesizers"])
async def test_whatever_others_raise_is_told_in_their_name(kind: str, error: BaseException, tmp_path: Path) -> None:
    chosen: dict[str, Any] = {
        "search_providers": {"search__engines": ["acts"]},
        "search_strategies": {"search__strategy": "acts"},
        "synthesizers": {"research__synthesizer": "acts"},
    }
    result = await ended(client(tmp_path, acting(kind, raising(error)), **chosen[kind]))
    assert result.status in ("failed", "no_evidence")
    assert any(f"acts: {type(error).__name__}" in told["message"] for told in events(result, "error"))


@pytest.mark.parametrize("error", SOME, ids=repr)
async def test_a_plugin_that_cannot_be_made_is_named(error: BaseException, tmp_path: Path) -> None:
    def make(settings: PluginSettings, context: Context) -> Any:
        raise error

    unmade = plugin("acts", observer("Cannot be made")(make))
    with pytest.raises(ConfigError, match=f"plugin 'acts' could not be created: {type(error).__name__}"):
        await ended(client(tmp_path, unmade, observers=["jsonl", "acts"]))


async def test_a_run_that_is_cancelled_while_a_plugin_works_is_cancelled(tmp_path: Path) -> None:
    began = asyncio.Event()

    async def does(*asked: Any) -> Any:
        began.set()
        await asyncio.sleep(60)

    async with client(tmp_path, acting("search_strategies", does), search__strategy="acts") as runs:
        handle = await runs.start(QUESTION)
        await asyncio.wait_for(began.wait(), 20)
        await handle.cancel()
        result = await handle.result()
    assert (result.status, result.exit_code) == ("cancelled", 130)


# --- secrets -------------------------------------------------------------------------------------------------------


class Keyed(PluginSettings):
    key: SecretStr = SecretStr(KEY)


def files_with(folder: Path, text: str) -> list[str]:
    """Return the files below a folder in which a text stands, those of a journal unpacked."""
    return [str(path) for path in folder.rglob("*") if path.is_file() and text.encode() in contents(path)]


def contents(path: Path) -> bytes:
    """Return all there is in a file; of a database all that its rows hold."""
    if path.suffix != ".sqlite":
        return path.read_bytes()
    with contextlib.closing(sqlite3.connect(path)) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        cells = [cell for table in tables for row in database.execute(f"SELECT * FROM {table}") for cell in row]
    return b"\n".join(map(unpacked, cells))


def unpacked(cell: Any) -> bytes:
    """Return a cell of a database as bytes, decompressed where it is compressed."""
    if not isinstance(cell, bytes):
        return str(cell).encode()
    with contextlib.suppress(zlib.error):
        return zlib.decompress(cell)
    return cell


def keyed(kind: str, make: Callable[[str], Any]) -> EntryPoint:
    """Return a plugin that has a key, made by it."""
    options: dict[str, Any] = {"needs": (REPORT,), "gives": (REPORT,)} if kind == "stages" else {}
    made = KINDS[kind]("Has a key", settings=Keyed, **options)(lambda settings: make(settings.key.get_secret_value()))
    return plugin("acts", made)


def _raises(key: str) -> Any:
    raise ValueError(f"cannot make with {key}")


async def test_a_key_in_what_a_constructor_raises_is_masked(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot make with \[secret\]"):
        await ended(client(tmp_path, keyed("observers", _raises), observers=["jsonl", "acts"]))
    result = await ended(client(tmp_path, keyed("ai_providers", _raises), ai__providers=["acts"]))
    assert "cannot make with [secret]" in json.dumps(result.metadata.model_dump(mode="json"))
    assert files_with(tmp_path, KEY) == []


async def test_a_key_in_what_is_told_during_a_call_is_masked_and_a_replay_tells_it_too(tmp_path: Path) -> None:
    def make(key: str) -> Acts:
        async def tells(request: TaskRequest, call: Call) -> TaskRequest:
            await call.run.emit("notice", {"message": f"beware of {key}"})
            return request

        async def does(findings: Any, run: Any) -> None:
            await run.call("tell", TaskRequest(name="tell"), tells, TaskRequest)

        return Acts(does)

    mine = {"extends": "research", "after": {"write": ["acts"]}}
    async with client(tmp_path, keyed("stages", make), pipeline="mine", pipelines={"mine": mine}) as runs:
        result = await runs.research(QUESTION)
        replayed = await runs.replay(result.folder)
    for one in (result, replayed):
        assert "beware of [secret]" in one.metadata.notices
    assert files_with(tmp_path, KEY) == []


async def test_a_key_in_what_a_stage_raises_or_tells_is_masked(tmp_path: Path) -> None:
    def make(key: str) -> Acts:
        async def does(findings: Any, run: Any) -> None:
            await run.emit("notice", {"message": f"beware of {key}"})
            raise ValueError(f"broke with {key}")

        return Acts(does)

    mine = {"extends": "research", "after": {"write": ["acts"]}}
    result = await ended(client(tmp_path, keyed("stages", make), pipeline="mine", pipelines={"mine": mine}))
    assert "broke with [secret]" in result.reason
    assert "beware of [secret]" in result.metadata.notices
    assert files_with(tmp_path, KEY) == []


async def test_an_engine_that_gives_its_key_away_has_failed(tmp_path: Path) -> None:
    def make(key: str) -> Acts:
        hit = Hit(
            url=f"https://pilot.example/?k={key}", title="t", text=f"The quay has 33 fathoms, and the key is {key}."
        )
        return Acts(lambda *asked: SearchPage(hits=(hit,)))

    chosen = {"search__engines": ["fakeweb", "acts"]}
    result = await ended(client(tmp_path, keyed("search_providers", make), **chosen))
    assert result.status == "complete"
    assert any(one["message"].startswith("search by acts: the reply holds a") for one in events(result, "error"))
    assert files_with(tmp_path, KEY) == []


async def test_a_model_that_says_its_key_has_given_a_bad_reply_and_the_next_is_asked(tmp_path: Path) -> None:
    def make(key: str) -> Acts:
        return Acts(lambda *asked: ChatReply(message=Message(role="assistant", text=f"my key is {key}")))

    chosen = {"ai__providers": ["acts", "embedded"]}
    result = await ended(client(tmp_path, keyed("ai_providers", make), **chosen))
    assert result.status == "partial"
    assert any("acts: the reply holds a configured secret" in notice for notice in result.metadata.notices)
    assert not any(one["category"] == "RESOURCE_LIMIT" for one in events(result, "error"))
    assert files_with(tmp_path, KEY) == []


# --- files --------------------------------------------------------------------------------------------


def giving(*files: tuple[str, bytes]) -> Does:
    blobs = tuple(Blob(name=name, media_type="text/plain", data=data) for name, data in files)
    return lambda *asked: Files(files=blobs)


@pytest.mark.parametrize(
    ("does", "told"),
    [
        (giving(("journal.sqlite", b"evil")), "'journal.sqlite' is that of the run's own journal.sqlite"),
        (giving(("metadata.json", b"evil")), "'metadata.json' is that of the run's own metadata.json"),
        (giving(("../evil.txt", b"evil")), "'../evil.txt' is outside of the run's folder"),
        (giving(), "it returned no file"),
        (lambda *asked: None, "NoneType"),
        (lambda *asked: "text", "str"),
    ],
)
async def test_a_format_that_goes_wrong_is_told_and_the_others_are_written(
    does: Does, told: str, tmp_path: Path
) -> None:
    formats = acting("report_formatters", does)
    result = await ended(client(tmp_path, formats, report__formats=["acts", "markdown"]))
    assert (result.status, result.exit_code) == ("partial", 4)
    assert result.reason.startswith("not written: acts (")
    assert told in result.reason
    assert [told in one.message and one.step == "export" for one in result.metadata.errors] == [True]
    assert "fathoms" in (result.folder / "report.md").read_text()
    assert [told in one["message"] and "plugin 'acts'" in one["message"] for one in events(result, "error")] == [True]
    async with client(tmp_path, formats) as runs:
        assert (await runs.replay(result.folder)).reason == result.reason
    async with client(tmp_path, formats, report__formats=["markdown"]) as runs:
        assert (await (await runs.resume(result.folder)).result()).status == "complete"
    alone = await ended(client(tmp_path, formats, report__formats=["acts"]))
    assert alone.status == "failed"
    assert told in alone.reason
    assert len(alone.metadata.errors) == 1


@pytest.mark.parametrize("formats", [["markdown", "acts"], ["acts", "markdown"]])
async def test_the_first_named_of_two_formats_has_their_file_name(formats: list[str], tmp_path: Path) -> None:
    clashing = acting("report_formatters", giving(("report.md", b"another"), ("notes.txt", b"notes")))
    result = await ended(client(tmp_path, clashing, report__formats=formats))
    assert result.status == "complete"
    first, later = formats
    assert ((result.folder / "report.md").read_bytes() == b"another") == (first == "acts")
    assert (result.folder / "notes.txt").read_bytes() == b"notes"
    assert [text for text in result.metadata.notices if "not written" in text] == [
        f"format {later}: report.md was not written, {first} writes a file of that name"
    ]


async def test_a_stage_writes_over_no_file_of_the_run(tmp_path: Path) -> None:
    async def does(findings: Any, run: Any) -> None:
        await run.save(Blob(name="journal.sqlite", media_type="text/plain", data=b"evil"))

    result = await ended(staged(tmp_path, does))
    assert (result.status, result.exit_code) == ("failed", 1)
    assert "stage 'acts'" in result.reason
    assert "'journal.sqlite' is that of the run's own" in result.reason


# --- what is nothing ----------------------------------------------------------------------------------


def with_sections(make: Callable[[Report], tuple[Section, ...]]) -> Does:
    """Return a stage that changes the sections of the report."""

    def does(findings: Any, run: Any) -> None:
        report: Report = findings[REPORT]
        findings[REPORT] = report.model_copy(update={"sections": make(report)})

    return does


@pytest.mark.parametrize("text", [None, "", " \n"])
async def test_a_report_without_a_text_is_no_report(text: str | None, tmp_path: Path) -> None:
    no_text = with_sections(lambda report: tuple(one.model_copy(update={"text": text}) for one in report.sections))
    for does in (no_text, with_sections(lambda report: ())):
        result = await ended(staged(tmp_path, does))
        assert (result.status, result.exit_code, result.report) == ("failed", 1, None)
        assert "the report is empty: no section has a text" in result.reason


async def test_a_synthesizer_that_writes_nothing_has_found_no_answer(tmp_path: Path) -> None:
    silent = acting("synthesizers", lambda request, call: Synthesis())
    result = await ended(client(tmp_path, silent, research__synthesizer="acts"))
    assert (result.status, result.exit_code, result.report) == ("no_evidence", 5, None)
    assert result.reason == f"no source found answers: {QUESTION}"


async def test_a_section_without_a_text_makes_a_run_partial(tmp_path: Path) -> None:
    extra = with_sections(lambda report: (*report.sections, Section(id="x", title="Extra")))
    result = await ended(staged(tmp_path, extra))
    assert (result.status, result.exit_code) == ("partial", 4)
    assert result.reason == "nothing was written under 'Extra'"


# --- what a call is told ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (lambda call: call.spend(Usage(input_tokens=-500, output_tokens=5)), "spend() takes no negative figures"),
        (lambda call: call.spend(Usage(input_tokens=5, reasoning_tokens=-5)), "spend() takes no negative figures"),
        (lambda call: call.spend(Usage(cost=Decimal("-1"))), "spend() takes no negative figures"),
        (lambda call: call.spend({"input_tokens": 5}), "spend() takes a Usage, not dict"),
        (lambda call: call.emit("text", 5), "emit() takes the pieces of a reply as text, not int"),
    ],
)
async def test_a_usage_that_is_none_is_refused_in_words(told: Does, words: str, tmp_path: Path) -> None:
    def does(request: Any, call: Call) -> ChatReply:
        told(call)
        return ChatReply(message=Message(role="assistant", text="{}"))

    result = await ended(client(tmp_path, acting("ai_providers", does), ai__providers=["acts", "embedded"]))
    assert result.status == "partial"
    assert any(words in notice and "plugin 'acts'" in notice for notice in result.metadata.notices)
    assert result.metadata.usage["tokens"] == 0
    assert result.metadata.usage["cost"] is None


# --- the chain of models ------------------------------------------------------------------------------


class Model:
    """A model that has what the test gives it."""

    def __init__(self, **has: Any) -> None:
        self.asked = 0
        for name, value in has.items():
            setattr(self, name, value)

    def traits(self, model: str, /) -> Any:
        return ModelTraits()

    async def chat(self, request: Any, call: Call, /) -> ChatReply:
        self.asked += 1
        raise Denied("HTTP 401: no such key")


def modelled(name: str, made: Any) -> EntryPoint:
    def make(settings: PluginSettings, context: Context) -> Any:
        if isinstance(made, BaseException):
            raise made
        return made

    return plugin(name, ai_provider("A model")(make))


@pytest.mark.parametrize(
    ("made", "told"),
    [
        *((error, f"could not be created: {type(error).__name__}") for error in OWN),
        (Model(traits=lambda model: None), "the reply is NoneType, not ModelTraits"),
        *((Model(traits=raising(error)), f"traits by acts: {type(error).__name__}") for error in OWN),
        (Model(chat=None), "has no method `chat`"),
    ],
)
async def test_a_fault_around_a_chat_is_a_failure_of_the_model(made: Any, told: str, tmp_path: Path) -> None:
    result = await ended(client(tmp_path, modelled("acts", made), ai__providers=["acts", "embedded"]))
    assert result.status == "partial"
    notices = [notice for notice in result.metadata.notices if "plugin 'acts'" in notice]
    assert any(told in notice for notice in notices)
    if "chat" not in told:  # what fails in a chat may go well in the next
        assert ["left out of this run" in notice for notice in notices].count(True) == 1


async def test_a_key_that_is_refused_is_not_sent_again_though_nobody_else_is_left(tmp_path: Path) -> None:
    first, other = Model(), Model()
    models = [modelled("first", first), modelled("other", other)]
    result = await ended(client(tmp_path, *models, ai__providers=["first", "other"]))
    assert (result.status, result.exit_code) == ("failed", 1)
    assert (first.asked, other.asked) == (1, 1)
    assert [notice for notice in result.metadata.notices if "left out of this run" in notice] == [
        "first is left out of this run: HTTP 401: no such key; other does its tasks",
        "other is left out of this run: HTTP 401: no such key",
    ]
    assert "chat by first: HTTP 401" in result.reason
    assert "chat by other: HTTP 401" in result.reason


async def test_an_unreachable_provider_is_used_again_if_no_other_is_left() -> None:
    notices: list[str] = []

    async def notice(message: str) -> None:
        notices.append(message)

    silent, other = chain = ["silent", "other"]
    health = RunHealth(notice, lambda: frozenset(chain))

    async def fails(name: str, category: Any, kind: str) -> None:
        failure = Failure(kind="chat", provider=name, category=category, type=kind, message=kind)
        await health.record_failure(name, CallFailed(failure), chain)

    await fails(silent, "NETWORK", "Unavailable")
    assert health.usable(chain) == chain
    await fails(silent, "NETWORK", "Unavailable")
    assert health.usable(chain) == [other]
    for _ in range(3):
        await fails(other, "NETWORK", "Unavailable")
    assert health.usable(chain) == [other]  # nobody else is left: silence may pass
    await fails(other, "BUSINESS", "Denied")
    assert health.usable(chain) == [silent]
    await fails(silent, "BUSINESS", "Denied")
    assert health.usable([other]) == []
    assert notices == ["silent is left out of this run: Unavailable", "other is left out of this run: Denied"]


# --- replies of another kind --------------------------------------------------------------------------


_UNCHECKED = SearchPage.model_construct(hits=cast("Any", [{"url": "x:1"}]))


@pytest.mark.parametrize(
    ("kind", "reply", "told"),
    [
        ("search_providers", None, "the reply is NoneType, not SearchPage"),
        ("search_providers", Hit(url="x:1"), "the reply is Hit, not SearchPage"),
        ("search_providers", _UNCHECKED, "the hits of the reply contain dict, not Hit"),
        ("search_strategies", None, "the reply is NoneType, not SearchPage"),
        ("search_strategies", [Hit(url="x:1")], "the reply is list, not SearchPage"),
    ],
)
async def test_a_reply_that_is_no_page_of_results_is_named(kind: str, reply: Any, told: str, tmp_path: Path) -> None:
    chosen: dict[str, Any] = {
        "search_providers": {"search__engines": ["acts"]},
        "search_strategies": {"search__strategy": "acts"},
    }
    result = await ended(client(tmp_path, acting(kind, lambda *asked: reply), **chosen[kind]))
    assert result.status in ("failed", "no_evidence")
    messages = [event["message"] for event in events(result, "error")]
    assert any(told in message and "a fault of plugin 'acts'" in message for message in messages)


@pytest.mark.parametrize("error", SOME, ids=repr)
async def test_a_fetcher_that_raises_where_it_accepts_is_named(error: BaseException, tmp_path: Path) -> None:
    class Fetches(Acts):
        accepts = staticmethod(raising(error))

    offer = fetcher("Cannot accept")(lambda: Fetches(raising(error)))
    result = await ended(client(tmp_path, plugin("acts", offer), read__fetchers=["acts"]))
    assert any(f"accepts by acts: {type(error).__name__}" in one["message"] for one in events(result, "error"))
    assert any("a fault of plugin 'acts'" in one["message"] for one in events(result, "error"))


async def test_a_notice_is_told_once_and_says_once_who_it_was(tmp_path: Path) -> None:
    model = acting("ai_providers", raising(ValueError("broken")))
    result = await ended(client(tmp_path, model, ai__providers=["acts", "embedded"]))
    told = [one["message"] for one in events(result, "notice")]
    assert len(told) == len(set(told))
    assert told
    assert not [text for text in told if text.count("by acts") > 1]
    assert any("by acts: ValueError: broken; this is a fault of plugin 'acts' at test_faults.py:" in it for it in told)


# --- what does not end --------------------------------------------------------------------------------


async def test_a_model_that_swallows_its_cancellation_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leadline._runtime.calls.attempt.GRACE", 0.05)
    let_go, asked = asyncio.Event(), 0

    async def does(*_: Any) -> ChatReply:
        nonlocal asked
        asked += 1
        while not let_go.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await let_go.wait()
        return ChatReply(message=Message(role="assistant", text="{}"))

    settings = {"ai__providers": ["acts", "embedded"], "limits": {"acts": {"timeout": 0.05, "at_once": 1}}}
    result = await ended(client(tmp_path, acting("ai_providers", does), **settings))
    let_go.set()
    await asyncio.sleep(0)
    assert result.status == "partial"
    assert asked == 1  # what goes on holds no permit, and is not asked again
    notices = result.metadata.notices
    left_out = "acts is left out of this run: no reply within 0.05 s, and it goes on though it was cancelled"
    assert f"{left_out} (limits.acts.timeout); embedded does its tasks" in notices
