"""Sessions over whole pipelines and fake pages: every end of a run, resuming, replaying, events."""

from __future__ import annotations

import asyncio
import errno
import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.stating import SETTINGS, stating

import leadline
from leadline import hookspecs
from leadline._runtime.journal.lock import is_locked
from leadline._runtime.runs.earlier_sessions import PreviousOutput
from leadline._runtime.runs.folder import LOCK, write_metadata
from leadline._runtime.runs.run_state import RunState
from leadline.contracts import Call
from leadline.errors import CallFailed, Denied, JournalBusy, Refused, Unavailable, UsageError
from leadline.plugin import observer, search_provider, stage
from leadline.records import Event, Notice, SearchPage, SearchRequest
from leadline.research_findings import QUESTION, REPORT
from leadline.runs import Metadata
from leadline.testing.fakes import fake_web
from leadline.testing.plugins import plugin
from leadline_plugins.ai.embedded import Embedded
from leadline_plugins.verification.judges.exact import ExactJudge

QUESTION_TEXT = "How deep was the harbour measured at each sounding, in fathoms?"
# Without the stage `review`, which ends the loop where there is no model, `query` is asked in a second round.
_LOOP = {"loop": ["query", "search", "fetch", "extract"], "at_most": 3}
_STAGES = ["clarify", "plan", _LOOP, "synthesize", "write", "verify", "export"]
ROUNDS: dict[str, Any] = {"pipeline": "mine", "pipelines": {"mine": {"stages": _STAGES}}}
WEB = {"search.engines": ["fakeweb"], "read.fetchers": ["fakeweb"], "retry.base": 0}


class Around:
    """A middleware made of a function."""

    live = True

    def __init__(self, do: Callable[[Any, Call], Awaitable[None]]) -> None:
        self._do = do

    async def around(self, request: Any, call: Call, proceed: Callable[[Any], Awaitable[Any]], /) -> Any:
        await self._do(request, call)
        return await proceed(request)


def around(do: Callable[[Any, Call], Awaitable[None]]) -> Any:
    return plugin("around", hookspecs.middleware("For a test")(lambda: Around(do)))


def around_local(monkeypatch: pytest.MonkeyPatch, owner: type[Any], method: str, around: Any) -> None:
    """Wrap a method of a plugin that contacts nobody, whose calls middleware does not see."""
    original = getattr(owner, method)

    async def wrapped(self: Any, request: Any, call: Call, /) -> Any:
        return await around(request, call, lambda request: original(self, request, call))

    monkeypatch.setattr(owner, method, wrapped)


def client(folder: Path, *plugins: Any, **settings: Any) -> leadline.Client:
    values = WEB | {name.replace("__", "."): value for name, value in settings.items()}
    return leadline.Client(plugins=[fake_web(), *plugins], folder=folder / "runs", cache=folder / "cache", set=values)


def metadata(result: leadline.Result) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((result.folder / "metadata.json").read_text())
    return data


async def test_a_full_disk_at_the_end_fails_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(folder: Path, data: Metadata) -> None:
        if data.ended:
            raise OSError(errno.ENOSPC, "No space left on device")
        write_metadata(folder, data)

    monkeypatch.setattr("leadline._runtime.runs.run_state.write_metadata", full)
    async with client(tmp_path) as runs:
        result = await runs.research(QUESTION_TEXT)
        assert (result.status, result.exit_code) == ("failed", 1)
        assert "No space left on device" in result.reason
        *_, last = (result.folder / "events.jsonl").read_text().splitlines()
        assert json.loads(last)["kind"] == "run.finished"
        monkeypatch.undo()
        again = await (await runs.resume(result.folder)).result()
    assert again.status == "complete"


async def test_notices_of_the_settings_are_in_the_metadata_but_not_in_the_report(tmp_path: Path) -> None:
    async with client(tmp_path, prompts={"plan": "Plan {{ question }}."}, report__formats=["markdown"]) as runs:
        result = await runs.research(QUESTION_TEXT)
    assert [notice.partition(":")[0] for notice in result.metadata.notices] == ["prompts.plan"]
    assert "{{ question }}" not in (result.folder / "report.md").read_text()


async def test_a_successful_run_is_complete_and_writes_its_files(tmp_path: Path) -> None:
    async with client(tmp_path) as runs:
        result = await runs.research(QUESTION_TEXT, tags={"ticket": "7"})
    assert (result.status, result.exit_code, result.reason) == ("complete", 0, "")
    assert result.report is not None
    expected = {"report.md", "report.json", "metadata.json", "search_results.json", "plan.json", "plan.md"}
    expected |= {"clarify.json", "paragraphs.jsonl", "verify.json", "verification.md"}
    assert expected <= {path.name for path in result.files}
    assert all(path.is_file() for path in result.files)
    data = metadata(result)
    assert data["status"] == "complete"
    assert data["tags"] == {"ticket": "7"}
    assert data["calls"]["search/fakeweb"] == data["calls"]["query/batch"] >= 1
    assert data["retention"] > 0
    assert data["verification"]["passed"] is None, "nothing was claimed"
    assert data["targets"]["queries"]["met"] is True
    assert "retention" not in data["targets"], "no model wrote: all is quotes"
    done = {step["name"]: (step["status"], step["times"]) for step in data["steps"]}
    assert done["query"][0] == done["export"][0] == "finished"
    assert done["illustrate"] == ("idle", 0), "there is no picture"


async def test_every_citation_of_the_report_is_verbatim_in_the_stored_source(tmp_path: Path) -> None:
    async with client(tmp_path) as runs:
        report = (await runs.research(QUESTION_TEXT)).report
    assert report is not None
    texts = {source.id: source.document.text for source in report.sources}
    assert report.evidence
    assert all(texts[item.source_id][slice(*item.span)] == item.quote for item in report.evidence)


async def test_a_stopped_run_writes_up_its_findings_as_partial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    handle: leadline.Run | None = None

    async def stop_at_the_second_round(task: Any, call: Call, proceed: Any) -> Any:
        if call.task == "query" and handle and task.inputs.past:
            handle.stop("stopped by the test")
        return await proceed(task)

    around_local(monkeypatch, Embedded, "perform", stop_at_the_second_round)
    async with client(tmp_path, **ROUNDS) as runs:
        handle = await runs.start(QUESTION_TEXT)
        result = await handle.result()
    assert (result.status, result.exit_code) == ("partial", 130)
    assert "stopped by the test" in result.reason
    assert result.report is not None
    assert result.report.sections
    assert (result.folder / "report.md").is_file()


async def test_a_run_that_exceeds_its_time_while_writing_has_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spent: list[str] = []

    async def spend(request: Any, call: Call, proceed: Any) -> Any:
        spent.append(call.task)
        await asyncio.sleep(2.1)
        return await proceed(request)

    around_local(monkeypatch, ExactJudge, "judge", spend)
    async with client(tmp_path, stating(), budget__seconds=2, **SETTINGS) as runs:
        result = await runs.research(QUESTION_TEXT)
    assert spent
    assert result.report is not None
    assert "export" not in result.reason
    assert (result.folder / "report.md").is_file()


class Stops:
    """Has the run stopped at the second call for a task, once the first is through, and holds the others from then."""

    live = True

    def __init__(self, task: str) -> None:
        self.task = task
        self.begun, self.through, self.stopped = False, asyncio.Event(), False
        self.handle: Any = None

    async def around(self, request: Any, call: Call, proceed: Any, /) -> Any:
        if call.task != self.task or self.stopped:
            return await proceed(request)
        if not self.begun:
            self.begun = True
            reply = await proceed(request)
            self.through.set()
            return reply
        await self.through.wait()
        await asyncio.sleep(0.05)  # until that reply has landed
        self.stopped = True
        self.handle.stop()
        if self.task == "query":  # a stop does not interrupt an algorithm
            raise Refused("the run was stopped")
        return await asyncio.Future()


@pytest.mark.parametrize("task", ["fetch", "query"])
async def test_the_replay_of_a_stopped_run_has_the_same_findings(
    task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An algorithm that was refused then is refused again, though now there is time."""
    stops = Stops(task)
    middleware = plugin("stops", hookspecs.middleware("For a test")(lambda: stops))
    if task == "query":
        around_local(monkeypatch, Embedded, "perform", stops.around)
    async with client(tmp_path, middleware, middleware=["stops"], **ROUNDS) as runs:
        stops.handle = await runs.start(QUESTION_TEXT)
        result = await stops.handle.result()
        assert stops.stopped
        assert (result.status, result.exit_code) == ("partial", 130)
        again = await runs.replay(result.folder)
        resumed = await (await runs.resume(result.folder)).result()
    assert result.report is not None
    assert again.report == result.report
    assert (again.status, resumed.status) == ("partial", "complete")


async def test_the_replay_of_a_run_stopped_between_rounds_has_no_second_round(tmp_path: Path) -> None:
    """Nothing is refused then: that the loop ended there stands in the journal by itself."""

    class Stopping:
        def __init__(self) -> None:
            self.handle: Any = None

        async def observe(self, event: Any, /) -> None:
            done = event.kind == "progress" and (event.data["step"], event.data["status"]) == ("extract", "finished")
            if done and self.handle:
                self.handle.stop("stopped by the test")

    stopping = Stopping()
    observer = plugin("stopping", hookspecs.observer("For a test")(lambda: stopping))
    async with client(tmp_path, observer, observers=["stopping"], **ROUNDS) as runs:
        stopping.handle = await runs.start(QUESTION_TEXT)
        result = await stopping.handle.result()
        stopping.handle = None
        again = await runs.replay(result.folder)
        resumed = await (await runs.resume(result.folder)).result()
    assert [step.times for step in result.metadata.steps if step.name == "query"] == [1]
    assert (result.status, result.reason) == (again.status, again.reason) == ("partial", "stopped by the test")
    assert again.report == result.report
    assert resumed.status == "complete"
    assert resumed.metadata.iterations == 2


async def test_a_cancelled_run_stops_everything_and_resumes_where_it_was(tmp_path: Path) -> None:
    searched: list[str] = []
    reached = asyncio.Event()

    async def hang_once(request: Any, call: Call) -> None:
        if isinstance(request, SearchRequest):
            searched.append(request.query)
        elif call.task == "fetch" and not reached.is_set():
            reached.set()
            await asyncio.sleep(3600)

    async with client(tmp_path, around(hang_once), middleware=["around"]) as runs:
        handle = await runs.start(QUESTION_TEXT)
        await reached.wait()
        await handle.cancel()
        result = await handle.result()
        assert (result.status, result.exit_code, result.report) == ("cancelled", 130, None)
        assert metadata(result)["status"] == "cancelled"
        first = list(searched)
        resumed = await (await runs.resume(handle.id)).result()
    assert resumed.status == "complete"
    assert metadata(resumed)["sessions"] == 2
    assert not set(first) & set(searched[len(first) :])
    assert len(asyncio.all_tasks()) == 1


async def test_a_run_repeats_itself_after_a_temporary_failure(tmp_path: Path) -> None:
    class Flaky:
        def __init__(self) -> None:
            self.times = 0

        async def run(self, findings: Any, run: Any, /) -> None:
            self.times += 1

            async def do(request: SearchRequest, call: Call) -> SearchPage:
                if self.times == 1:
                    raise Unavailable("HTTP 503")
                return SearchPage()

            await run.call("publish", SearchRequest(query="x"), do, SearchPage)

    flaky = plugin("flaky", stage("Fails once", needs=(QUESTION,))(lambda: Flaky()))
    pipelines = {"mine": {"extends": "research", "before": {"plan": ["flaky"]}}}
    settings: Mapping[str, Any] = {"pipeline": "mine", "pipelines": pipelines, "retry__attempts": 1}
    async with client(tmp_path, flaky, **settings) as runs:
        result = await runs.research(QUESTION_TEXT)
    assert result.status == "complete"
    assert [(error["category"], error["step"]) for error in metadata(result)["errors"]] == [("NETWORK", "flaky")]


async def test_a_failure_of_this_session_is_not_repeated_like_an_earlier_one(tmp_path: Path) -> None:
    """Asked twice, it comes from the journal the second time: the run must end, and not be taken up for ever."""
    asked: list[str] = []

    class Twice:
        async def run(self, findings: Any, run: Any, /) -> None:
            async def do(request: SearchRequest, call: Call) -> SearchPage:
                asked.append(request.query)
                if len(asked) > 5:
                    raise KeyboardInterrupt
                raise Denied("no")

            for lenient in (True, False):
                try:
                    await run.call("publish", SearchRequest(query="x"), do, SearchPage)
                except CallFailed:
                    if not lenient:
                        raise

    twice = plugin("twice", stage("Asks twice", needs=(QUESTION,))(lambda: Twice()))
    pipelines = {"mine": {"extends": "research", "before": {"plan": ["twice"]}}}
    async with client(tmp_path, twice, pipeline="mine", pipelines=pipelines) as runs:
        result = await runs.research(QUESTION_TEXT)
    assert (result.status, asked) == ("failed", ["x"])


async def test_a_report_with_remarks_is_complete_and_a_rejected_one_partial_or_failed(tmp_path: Path) -> None:
    class Uncited:
        async def run(self, findings: Any, run: Any, /) -> None:
            report = findings[REPORT]
            bare = report.sections[0].model_copy(update={"text": "The harbour is deep.", "quotes": False})
            findings[REPORT] = report.model_copy(update={"sections": (bare,)})

    uncited = plugin("uncited", stage("Takes the citations", needs=(REPORT,), gives=(REPORT,))(lambda: Uncited()))
    pipelines = {"mine": {"extends": "research", "after": {"write": ["uncited"]}}}
    bare = "1 paragraph that makes a statement ends without a citation"
    why = f"rejected by the audit: the report has no claim with a citation; {bare}"
    # Without a model, the default writer could only quote.
    forbidden: dict[str, Any] = {"verify__require_support": True, "research__synthesizer": "brief"}
    for more, ended in (
        ({}, ("complete", "", 0)),
        (forbidden, ("partial", why, 4)),
        (forbidden | {"audit__decides": True}, ("failed", why, 3)),
    ):
        async with client(tmp_path, uncited, pipeline="mine", pipelines=pipelines, **more) as runs:
            result = await runs.research(QUESTION_TEXT)
        assert (result.status, result.reason, result.exit_code) == ended
        assert result.report is not None
        assert metadata(result)["audit"]["accepted"] is (not more)
        decision = "Rejected" if more else "Passed with 1 remark"
        assert f"**{decision}**\n" in (result.folder / "verification.md").read_text()


@pytest.mark.parametrize("question", ["", " \n\t", "x" * 1_000_000])
async def test_an_empty_or_too_long_question_creates_no_run(question: str, tmp_path: Path) -> None:
    async with client(tmp_path) as runs:
        with pytest.raises(UsageError, match="the question (is empty|has 1,000,000 characters, but at most 20,000)"):
            await runs.start(question)
    assert not (tmp_path / "runs").exists()


async def test_the_events_of_a_run_are_complete_and_in_order(tmp_path: Path) -> None:
    async with client(tmp_path, stating(), **SETTINGS) as runs:
        handle = await runs.start(QUESTION_TEXT)
        events = [event async for event in handle.events()]
    numbered = [event for event in events if event.kind != "call.delta"]
    assert [event.seq for event in numbered] == list(range(len(numbered)))
    assert (events[0].kind, events[-1].kind) == ("run.started", "run.finished")
    assert (events[-1].data["status"], events[-1].data["reason"]) == ("complete", "")
    assert events[-1].data["claims"]
    started = {event.data["step"] for event in events if event.kind == "progress" and event.data["status"] == "started"}
    assert started >= {"clarify", "plan", "query", "search", "fetch", "extract", "write", "export"}


def test_a_stopped_run_that_another_process_has_by_now_ends_as_busy() -> None:
    state = RunState()
    state.stopped = True
    state.end("failed", "another process continues the run", JournalBusy.exit_code)
    assert (state.status, state.exit_code) == ("failed", 75)


async def test_a_run_whose_end_fails_is_released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with client(tmp_path) as runs:
        result = await runs.research(QUESTION_TEXT)
        monkeypatch.setattr(PreviousOutput, "settle", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            await (await runs.resume(result.folder)).result()
        assert not is_locked(result.folder / LOCK)


class Breaks:
    """An observer that fails at one kind of event."""

    def __init__(self, at: str) -> None:
        self.at = at

    async def observe(self, event: Event, /) -> None:
        if event.kind == self.at:
            raise RuntimeError(f"no {self.at}")


@pytest.mark.parametrize("at", ["run.started", "run.finished"])
async def test_an_error_of_an_observer_reaches_everybody_even_one_at_the_end(at: str, tmp_path: Path) -> None:
    broken = plugin("raising", observer("For a test")(lambda: Breaks(at)))
    values = WEB | {"observers": ["raising", "jsonl"], "ai.providers": ["embedded"]}
    async with leadline.Client(plugins=[fake_web(), broken], folder=tmp_path, set=values) as client:
        result = await client.research(QUESTION_TEXT)
    said = f"observer raising: RuntimeError: no {at}"
    stored = Metadata.model_validate_json((result.folder / "metadata.json").read_text())
    assert [error.message for error in result.metadata.errors] == [error.message for error in stored.errors] == [said]


async def test_a_run_whose_engine_fails_while_the_others_find_nothing_fails(tmp_path: Path) -> None:
    class Down:
        async def search(self, request: SearchRequest, call: Call, /) -> SearchPage:
            raise Denied("no connection")

    down = plugin("down", search_provider("For a test")(lambda: Down()))
    engines = ["fakeweb", "down"]
    async with client(tmp_path, down, search__engines=engines, plugins__fakeweb={"hits": 0}) as runs:
        result = await runs.research(QUESTION_TEXT)
    assert (result.status, result.report) == ("failed", None)
    assert "no connection" in result.reason


async def test_a_run_that_is_stopped_before_it_found_anything_is_cancelled(tmp_path: Path) -> None:
    async def stop(request: Any, call: Call) -> None:
        if isinstance(request, SearchRequest):
            handle.stop("stopped by the test")

    async with client(tmp_path, around(stop), middleware=["around"], plugins__fakeweb={"hits": 0}) as runs:
        handle = await runs.start(QUESTION_TEXT)
        result = await handle.result()
    assert (result.status, result.exit_code, result.report) == ("cancelled", 130, None)
    assert any(part.code == "stopped" for part in Notice.read(result.reason).parts)
