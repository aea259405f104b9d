"""Runs that are ordered, started, watched and controlled from several places, as a server does."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import leadline
from leadline import hookspecs
from leadline._runtime.journal.journal import Journal
from leadline._runtime.runs.folder import JOURNAL, LOCK, read_metadata, write_atomically
from leadline._runtime.runs.interprocess import INBOX, Message, receive
from leadline.contracts import Call
from leadline.errors import JournalBusy, LeadlineError, UsageError
from leadline.progress import format_step
from leadline.runs import Metadata, Order
from leadline.testing.fakes import fake_web
from leadline.testing.plugins import plugin

WEB = {"search.engines": ["fakeweb"], "read.fetchers": ["fakeweb"], "retry.base": 0}
QUESTION = "How deep was the harbour measured at each sounding, in fathoms?"


def client(folder: Path, *plugins: Any, **settings: Any) -> leadline.Client:
    values = WEB | {name.replace("__", "."): value for name, value in settings.items()}
    return leadline.Client(plugins=[fake_web(), *plugins], folder=folder / "runs", cache=folder / "cache", set=values)


class Held:
    """A middleware that holds every search until `go` is set."""

    live = True

    def __init__(self) -> None:
        self.go, self.reached, self.searches = asyncio.Event(), asyncio.Event(), 0

    async def around(self, request: Any, call: Call, proceed: Callable[[Any], Awaitable[Any]], /) -> Any:
        if type(request).__name__ == "SearchRequest":
            self.searches += 1
            self.reached.set()
            await self.go.wait()
        return await proceed(request)


def held(middleware: Held) -> Any:
    return plugin("held", hookspecs.middleware("For a test")(lambda: middleware))


async def test_an_order_is_json_that_any_process_can_run(tmp_path: Path) -> None:
    async with client(tmp_path) as front, client(tmp_path) as back:
        order = front.order(QUESTION, set={"report.formats": ["json"]}, tags={"team": "harbour"})
        assert not (tmp_path / "runs").exists()
        handle = await back.run(Order.model_validate_json(order.model_dump_json()))
        result = await handle.result()
    assert (handle.id, result.status) == (order.run_id, "complete")
    assert result.metadata.tags == {"team": "harbour"}
    assert "report.json" in result.metadata.files
    assert "report.md" not in result.metadata.files


async def test_an_order_with_wrong_settings_or_without_question_is_refused_at_once(tmp_path: Path) -> None:
    async with client(tmp_path) as runs:
        with pytest.raises(UsageError, match="empty"):
            runs.order(" ")
        with pytest.raises(leadline.ConfigError, match="report.lenght"):
            runs.order(QUESTION, set={"report.lenght": 3})


async def test_an_order_that_is_run_again_and_again_is_one_run(tmp_path: Path) -> None:
    middleware = Held()
    async with client(tmp_path, held(middleware), middleware=["held"]) as runs:
        order = runs.order(QUESTION)
        one, other = await asyncio.gather(runs.run(order), runs.run(order))
        assert one is other
        await middleware.reached.wait()
        await one.cancel()
        middleware.go.set()
        result = await (await runs.run(order)).result()
        searches = middleware.searches
        again = await (await runs.run(order)).result()
    assert (result.status, again.status, middleware.searches) == ("complete", "complete", searches)
    assert [path.name for path in (tmp_path / "runs").iterdir()] == [order.run_id]


async def test_a_run_that_is_cancelled_before_it_begins_is_ended(tmp_path: Path) -> None:
    async with client(tmp_path) as runs:
        order = runs.order(QUESTION)
        handle = await runs.run(order)
        await handle.cancel("a mistake")
        found = runs.find(order.run_id)
        assert (found.status, found.metadata and found.metadata.reason) == ("cancelled", "a mistake")
        assert (await (await runs.run(order)).result()).status == "complete"


async def test_an_order_that_was_killed_before_it_was_stored_is_started(tmp_path: Path) -> None:
    async with client(tmp_path) as runs:
        order = runs.order(QUESTION)
        journal = await Journal.open(tmp_path / "runs" / order.run_id / JOURNAL)
        await journal.close()
        assert (await (await runs.run(order)).result()).status == "complete"


@pytest.mark.parametrize("pages", [0, 1])
async def test_an_order_that_was_killed_while_its_journal_was_made_is_started(tmp_path: Path, pages: int) -> None:
    async with client(tmp_path) as runs:
        order = runs.order(QUESTION)
        folder = tmp_path / "runs" / order.run_id
        folder.mkdir(parents=True)
        with closing(sqlite3.connect(folder / JOURNAL)) as db:
            db.executescript("create table t (x); drop table t;" if pages else "")
        (folder / JOURNAL).touch()
        assert (await (await runs.run(order)).result()).status == "complete"


async def test_a_session_that_lost_its_run_takes_no_message_to_the_next(tmp_path: Path) -> None:
    async def take(message: Message) -> None:
        raise AssertionError(message)

    (tmp_path / LOCK).touch()
    owner = ["paused"]
    receiving = asyncio.create_task(receive(tmp_path, take, lambda: owner == ["paused"]))
    await asyncio.sleep(0)  # it is paused between two looks
    owner[0] = "next"
    message = write_atomically(tmp_path / INBOX / "m.json", Message(action="stop").model_dump_json().encode())
    await receiving
    assert message.exists()


async def test_another_client_cannot_run_it_meanwhile_and_nothing_is_lost(tmp_path: Path) -> None:
    middleware = Held()
    async with (
        client(tmp_path, held(middleware), middleware=["held"]) as one,
        client(tmp_path, held(middleware), middleware=["held"]) as other,
    ):
        order = one.order(QUESTION)
        handle = await one.run(order)
        await middleware.reached.wait()
        with pytest.raises(JournalBusy):
            await other.run(order)
        middleware.go.set()
        assert (await handle.result()).status == "complete"


def _state(metadata: Metadata | None) -> Any:
    return metadata and (metadata.status, metadata.steps, metadata.current_step, metadata.calls, metadata.iterations)


def _steps(metadata: Metadata | None) -> dict[str, str]:
    return {step.name: step.status for step in metadata.steps} if metadata else {}


async def test_the_snapshot_is_right_at_every_step(tmp_path: Path) -> None:
    seen: list[tuple[Metadata, str]] = []
    async with client(tmp_path) as runs:
        handle = await runs.start(QUESTION)
        async for event in handle.events():
            if event.kind == "progress" and format_step(event):
                seen.append((handle.snapshot(), str(event.data["step"])))
        result = await handle.result()
        assert handle.snapshot() == result.metadata == read_metadata(result.folder)
    assert {"plan", "search", "write"} <= {step for _, step in seen}
    for snapshot, step in seen:
        assert {item.name: item for item in snapshot.steps}[step].status == "finished"


async def test_the_metadata_on_disk_follows_the_run(tmp_path: Path) -> None:
    middleware = Held()
    async with client(tmp_path, held(middleware), middleware=["held"]) as runs, client(tmp_path) as other:
        handle = await runs.start(QUESTION)
        await middleware.reached.wait()
        async with asyncio.timeout(60):
            while _state(other.find(handle.id).metadata) != _state(handle.snapshot()):
                await asyncio.sleep(0.05)
        assert other.find(handle.id).status == handle.snapshot().status == "running"
        assert {step.name: step.status for step in handle.snapshot().steps}["search"] == "started"
        middleware.go.set()
        await handle.result()


@pytest.mark.parametrize("action", ["stop", "cancel"])
@pytest.mark.parametrize("where", ["here", "elsewhere"])
async def test_a_run_is_stopped_and_cancelled_from_anywhere(action: str, where: str, tmp_path: Path) -> None:
    middleware = Held()
    async with client(tmp_path, held(middleware), middleware=["held"]) as here, client(tmp_path) as elsewhere:
        handle = await here.start(QUESTION)
        await middleware.reached.wait()
        control = getattr(here if where == "here" else elsewhere, action)
        await control(handle.id, "by the test")
        middleware.go.set()
        result = await handle.result()
        assert (result.status, "by the test" in result.reason) == ("cancelled", True)
        with pytest.raises(UsageError, match="not active: it is cancelled"):
            await control(handle.id)
        assert not [*(handle.folder / ".inbox").glob("*")]


async def test_a_question_is_answered_from_another_process_once(tmp_path: Path) -> None:
    settings = {"clarify.mode": "ask", "clarify.rules": "literal"}
    async with client(tmp_path, **settings) as here, client(tmp_path, **settings) as elsewhere:
        handle = await here.start("what is it", interactive=True)
        async for event in handle.events():
            if event.kind == "question":
                break
        info = elsewhere.find(handle.id)
        assert info.status == "waiting"
        assert info.metadata is not None
        (question,) = info.metadata.questions
        with pytest.raises(UsageError, match="no question 'other' is open"):
            await elsewhere.answer(handle.id, "other", {"answer": "the harbour"})
        await elsewhere.answer(handle.id, question.id, {"answer": "the harbour"})
        with pytest.raises(LeadlineError):  # answered, or ended by then
            await elsewhere.answer(handle.id, question.id, {"answer": "the mole"})
        await handle.cancel()


async def test_a_message_to_an_earlier_session_is_dropped(tmp_path: Path) -> None:
    middleware = Held()
    async with client(tmp_path, held(middleware), middleware=["held"]) as runs:
        handle = await runs.start(QUESTION)
        await middleware.reached.wait()
        await handle.cancel()
        inbox = handle.folder / ".inbox"
        inbox.mkdir()
        (inbox / "a.json").write_text('{"action": "cancel"}')
        os.utime(inbox / "a.json", (1, 1))
        middleware.go.clear()
        resumed = await runs.resume(handle.id)
        async with asyncio.timeout(60):
            while [*inbox.iterdir()]:
                await asyncio.sleep(0.05)
        middleware.go.set()
        assert (await resumed.result()).status == "complete"


async def test_cancel_soon_needs_no_await(tmp_path: Path) -> None:
    middleware = Held()
    async with client(tmp_path, held(middleware), middleware=["held"]) as runs:
        handle = await runs.start(QUESTION)
        await middleware.reached.wait()
        handle.cancel_soon("the caller is gone")
        result = await handle.result()
        handle.cancel_soon("too late")
    assert (result.status, result.reason) == ("cancelled", "the caller is gone")


async def test_the_state_after_a_kill_is_that_of_the_last_step(tmp_path: Path) -> None:
    code = f"""
import asyncio, leadline
from leadline.plugin import middleware
from leadline.testing.fakes import fake_web
from leadline.testing.plugins import plugin

class Forever:
    live = True
    async def around(self, request, call, proceed, /):
        if type(request).__name__ == "SearchRequest":
            print("searching", flush=True)
            await asyncio.Event().wait()
        return await proceed(request)

async def main():
    held = plugin("held", middleware("For a test")(Forever))
    settings = {WEB!r} | {{"middleware": ["held"]}}
    async with leadline.Client(plugins=[fake_web(), held], folder="runs", cache="cache", set=settings) as runs:
        await (await runs.start({QUESTION!r})).result()

asyncio.run(main())
"""
    with subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline() == b"searching\n"
        async with asyncio.timeout(60), client(tmp_path) as runs:
            while True:
                info = runs.find(runs.runs()[0].id)
                if _steps(info.metadata).get("search") == "started":
                    break
                await asyncio.sleep(0.05)
        assert info.status == "running"
        process.send_signal(signal.SIGKILL)
    async with client(tmp_path) as runs:
        info = runs.find(runs.runs()[0].id)
        assert info.status == "interrupted"
        assert (_steps(info.metadata)["plan"], _steps(info.metadata)["search"]) == ("finished", "started")


async def test_an_order_keeps_its_pipeline_and_settings_where_the_client_has_others(tmp_path: Path) -> None:
    short = {"pipelines.short.stages": ["clarify", "query", "search", "fetch", "extract", "answer", "export"]}
    values = {"ai.providers": ["embedded"], "search.engines": ["fakeweb"], "read.fetchers": ["fakeweb"], **short}
    options: Any = {"folder": tmp_path / "runs", "cache": tmp_path / "cache", "plugins": [fake_web()]}
    async with leadline.Client(pipeline="research", set=values | {"report.length": 9}, **options) as runs:
        order = runs.order(QUESTION, set={"pipeline": "short", "report.length": 80, "report.formats": ["json"]})
        result = await (await runs.run(order)).result()
        assert (result.status, result.metadata.pipeline) == ("complete", "short")
        assert [path.name for path in result.files if path.name.startswith("report.")] == ["report.json"]
        again = await (await runs.run(order)).result()
        assert again.metadata.pipeline == "short"
        assert (await (await runs.resume(result.folder)).result()).metadata.pipeline == "short"
