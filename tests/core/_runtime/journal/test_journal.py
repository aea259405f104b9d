"""The journal: rows, notes, sessions, the ledger, forgetting."""

import asyncio
import os
import sqlite3
import subprocess
import sys
import threading
import zlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from leadline._runtime.journal import journal as journal_module
from leadline._runtime.journal import storage as storage_module
from leadline._runtime.journal.journal import Journal
from leadline._runtime.journal.lock import FolderLock, is_locked
from leadline._runtime.journal.rows import Need, Row
from leadline._runtime.journal.storage import Storage
from leadline.errors import JournalBusy, JournalError
from leadline.records import Usage
from leadline.stores import Mode, close_store, use_store

# A test of files and locks; all others are the contract of `leadline.stores.JournalStore`.
in_a_file = pytest.mark.parametrize("store", ["file"], indirect=True)
ROW = Row(key="k", kind="search", provider="fake", outcome="reply")


@pytest.fixture(autouse=True, params=["file", pytest.param("postgres", marks=pytest.mark.slow)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[None]:
    """Keep journals in files of their folders, or in Postgres."""
    if request.param == "file":
        yield
        return
    from leadline_server.fleet.files import files_at
    from leadline_server.fleet.runs import PostgresRuns

    runs = PostgresRuns(request.getfixturevalue("postgres").database(uuid4().hex), tmp_path, files_at(""))
    use_store(tmp_path, runs)
    yield
    close_store(runs)


@asynccontextmanager
async def journal(folder: Path, mode: Mode = "write", status: str = "complete") -> AsyncIterator[Journal]:
    opened = await Journal.open(folder / "journal.sqlite", mode=mode)
    try:
        yield opened
    finally:
        await opened.close(status)


async def keep(opened: Journal, key: str, outcome: Any = "reply", body: bytes = b"{}", **more: Any) -> Row:
    row = ROW.model_copy(update={"key": key, "outcome": outcome, **more})
    return await opened.keep(row, body, f'{{"q":"{key}"}}'.encode())


async def test_rows_and_requests_are_stored(tmp_path: Path) -> None:
    async with journal(tmp_path) as opened:
        kept = await keep(opened, "a", body=b'{"x": 1}', usage=Usage(input_tokens=3), seconds=0.5)
    async with journal(tmp_path) as opened:
        assert await opened.get("a") == (kept, b'{"x": 1}')
        assert await opened.request(kept) == {"q": "a"}
        assert await opened.get("b") is None
        assert opened.keys() == {"a"}
        assert opened.damaged == []


async def test_metadata_is_stored(tmp_path: Path) -> None:
    async with journal(tmp_path) as opened:
        await opened.set_meta("settings", {"a": ["鉛", 1, None]})
    async with journal(tmp_path, "read") as opened:
        assert await opened.get_meta("settings") == {"a": ["鉛", 1, None]}
        assert await opened.get_meta("other") is None


async def test_sessions_are_listed_with_their_ends(tmp_path: Path) -> None:
    for status in ("failed", "", "complete"):
        async with journal(tmp_path, status=status):
            pass
    async with journal(tmp_path, "read") as opened:
        sessions = opened.sessions()
    assert [(one.id, one.status, one.ended is not None) for one in sessions] == [
        (1, "failed", True),
        (2, "", False),
        (3, "complete", True),
    ]


async def test_read_mode_changes_nothing(tmp_path: Path) -> None:
    async with journal(tmp_path) as opened:
        await keep(opened, "a")
    before = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in tmp_path.iterdir()}
    async with journal(tmp_path, "read") as opened:
        assert await opened.get("a")
        assert opened.readonly
    assert {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in tmp_path.iterdir()} == before


async def test_a_running_run_can_be_read(tmp_path: Path) -> None:
    async with journal(tmp_path) as writing:
        await keep(writing, "a")
        async with journal(tmp_path, "read") as reading:
            assert reading.keys() == {"a"}
        await keep(writing, "b")
        async with journal(tmp_path, "read") as reading:
            assert reading.keys() == {"a", "b"}


async def test_a_missing_journal_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match=r"no journal at .*; `leadline runs list` shows the runs"):
        await Journal.open(tmp_path / "journal.sqlite", mode="read")


async def test_a_call_that_never_settled_costs_the_tokens_that_it_reserved(tmp_path: Path) -> None:
    async with journal(tmp_path) as opened:
        first = opened.ledger.reserve(Need(model_calls=1, tokens=100))
        opened.ledger.reserve(Need(model_calls=1, tokens=50))
        opened.ledger.settle(first, Need(model_calls=1, tokens=7))
    async with journal(tmp_path) as opened:
        assert opened.ledger.spent() == Need(tokens=57)
        opened.ledger.reserve(Need(tokens=1))
    async with journal(tmp_path, "read") as opened:
        assert opened.ledger.spent() == Need(tokens=58)


# --- forgetting and drift ------------------------------------------------------------------------------------------


async def test_failures_that_escaped_are_forgotten_by_the_next_session(tmp_path: Path) -> None:
    async with journal(tmp_path) as opened:
        await keep(opened, "reply")
        await keep(opened, "lived-through", "failure")
        await keep(opened, "escaped", "failure")
        await keep(opened, "below", "failure", parent="escaped")
        await keep(opened, "below-reply", parent="escaped")
        await opened.mark_escaped(["escaped", "reply"])
    async with journal(tmp_path, "read") as opened:
        assert {"escaped", "below"} <= opened.keys()
    for _ in range(2):
        async with journal(tmp_path) as opened:
            assert opened.keys() == {"reply", "lived-through", "below-reply"}


async def test_all_failures_and_refusals_can_be_forgotten(tmp_path: Path) -> None:
    async with journal(tmp_path) as opened:
        for outcome in ("reply", "failure", "refusal"):
            await keep(opened, outcome, outcome)
        assert await opened.forget() == 2
        assert opened.keys() == {"reply"}
    async with journal(tmp_path, "read") as opened:
        assert opened.keys() == {"reply"}


async def test_replies_that_a_task_could_not_parse_are_forgotten_with_it(tmp_path: Path) -> None:
    async with journal(tmp_path) as opened:
        for name, outcome in (("failed", "failure"), ("refused", "refusal"), ("done", "reply")):
            await keep(opened, name, outcome, kind="task")
            await keep(opened, f"{name} chat", kind="chat", parent=name)
        await opened.forget()
        assert opened.keys() == {"refused chat", "done", "done chat"}


async def test_results_made_despite_a_forgotten_failure_are_forgotten_in_the_named_stages(tmp_path: Path) -> None:
    async with journal(tmp_path) as opened:
        for step in ("search", "write"):
            await keep(opened, f"{step} whole", step=step)
            await keep(opened, f"{step} part", step=step, parent=f"{step} whole")
            await keep(opened, f"{step} kept", step=step, parent=f"{step} part")
            await keep(opened, f"{step} lost", "refusal", step=step, parent=f"{step} part")
        await opened.forget(repeated_stages=["write"])
        assert opened.keys() == {"search whole", "search part", "search kept", "write kept"}


# --- one process at a time -----------------------------------------------------------------------------------------

HOLD = """
import asyncio, sys
from pathlib import Path
from leadline._runtime.journal.journal import Journal
async def main():
    journal = await Journal.open(Path(sys.argv[1]))
    print("open", flush=True)
    sys.stdin.readline()
    await journal.close()
asyncio.run(main())
"""


@in_a_file
async def test_a_second_process_is_refused_and_the_owner_named(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    env = {"PYTHONPATH": os.pathsep.join(part for part in sys.path if part)}
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env) as other:
        assert other.stdout
        assert other.stdout.readline() == b"open\n"
        owner = rf"another process \(id {other.pid}\) is working on the run in .*"
        busy = owner + r"; nothing was changed\. Come back when .*leadline resume"
        with pytest.raises(JournalBusy, match=busy) as refused:
            await Journal.open(path)
        assert refused.value.exit_code == 75  # EX_TEMPFAIL
        async with journal(tmp_path, "read"):
            pass  # to look is allowed
        other.kill()
    async with journal(tmp_path) as opened:
        assert opened.session == 2


async def test_two_runs_of_one_process_exclude_each_other(tmp_path: Path) -> None:
    async with journal(tmp_path):
        with pytest.raises(JournalBusy):
            await Journal.open(tmp_path / "journal.sqlite")
    async with journal(tmp_path):
        pass


LOOK = """
import sys
from pathlib import Path
from leadline._runtime.journal.lock import is_locked
print("looking", flush=True)
while True:
    is_locked(Path(sys.argv[1]))
"""


async def test_looking_at_a_run_keeps_nobody_from_working_on_it(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite.lock"
    FolderLock(path).release()
    env = {"PYTHONPATH": os.pathsep.join(part for part in sys.path if part)}
    with subprocess.Popen([sys.executable, "-c", LOOK, str(path)], stdout=subprocess.PIPE, env=env) as other:
        try:
            assert other.stdout
            assert other.stdout.readline() == b"looking\n"
            for _ in range(30):
                await (await Journal.open(tmp_path / "journal.sqlite")).close()
            assert other.poll() is None
        finally:
            other.kill()


@in_a_file
def test_a_lock_is_seen_by_its_own_process_and_outlives_the_look(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite.lock"
    assert not is_locked(path)
    lock = FolderLock(path)
    path.chmod(0o444)
    assert is_locked(path)
    assert is_locked(path)
    path.chmod(0o644)
    with pytest.raises(JournalBusy):
        FolderLock(path)
    lock.release()
    assert not is_locked(path)
    FolderLock(path).release()


@in_a_file
async def test_a_run_that_is_about_to_end_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused, loop = asyncio.Event(), asyncio.get_running_loop()

    def take(path: Path, owns: Any) -> FolderLock:
        try:
            return FolderLock(path, owns)
        except JournalBusy:
            loop.call_soon_threadsafe(refused.set)
            raise

    monkeypatch.setattr(storage_module, "PATIENCE", 60)
    monkeypatch.setattr(storage_module, "FolderLock", take)
    lock = FolderLock(tmp_path / "journal.sqlite.lock")
    opening = asyncio.create_task(Journal.open(tmp_path / "journal.sqlite"))
    await refused.wait()
    lock.release()
    await (await opening).close()


async def test_a_session_whose_run_was_taken_over_begins_no_call_and_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    owner = ["late"]
    late = await Journal.open(path, owns=lambda: owner == ["late"])
    await keep(late, "a")
    with pytest.raises(JournalBusy):  # such as a command
        await Journal.open(path)
    owner[0] = "later"
    later = await Journal.open(path, owns=lambda: owner == ["later"])
    assert (later.session, later.keys(), later.is_current(), late.is_current()) == (2, {"a"}, True, False)
    for write in (late.begin("b"), keep(late, "b"), late.set_meta("question", "?")):
        with pytest.raises(JournalBusy, match="another process continues the run"):
            await write
    await late.close("complete")
    assert is_locked(path.with_name("journal.sqlite.lock"))
    await keep(later, "c")
    await later.close("complete")
    with pytest.raises(JournalBusy, match="belongs to another process"):  # one that was paused before it began
        await Journal.open(path, owns=lambda: owner == ["late"])
    async with journal(tmp_path, mode="read") as read:
        assert ([item.status for item in read.sessions()], read.keys()) == (["", "complete"], {"a", "c"})


async def test_a_file_that_cannot_be_written_fails_no_write_of_the_same_transaction(tmp_path: Path) -> None:
    def write() -> None:
        raise ValueError("a file name outside of the folder")

    async with journal(tmp_path) as opened:
        failed, row = await asyncio.gather(opened.write_file(write), keep(opened, "a"), return_exceptions=True)
        assert (repr(failed), opened.keys()) == ("ValueError('a file name outside of the folder')", {"a"}), row


async def test_a_disk_that_does_not_answer_ends_the_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage_module, "SILENCE", 0.1)
    answers = threading.Event()
    async with journal(tmp_path) as opened:
        opened._storage.write_soon(lambda db: answers.wait(10))
        for _ in range(2):
            with pytest.raises(JournalBusy, match=r"did not answer for 0\.1 s"):
                await opened.begin("a")
        assert not opened.is_current()
        await opened.close("failed")
        answers.set()
    async with journal(tmp_path) as opened:
        assert (opened.session, [item.status for item in opened.sessions()]) == (2, ["", ""])


async def test_a_forked_child_does_not_hold_the_lock(tmp_path: Path) -> None:
    async with journal(tmp_path):
        (reading, writing), (hearing, telling) = os.pipe(), os.pipe()
        child = os.fork()
        if not child:
            os.write(telling, b"x")
            os.read(reading, 1)  # outlives the owner's session
            os._exit(0)
        os.read(hearing, 1)  # on a busy machine a child begins late
    try:
        async with journal(tmp_path) as opened:
            assert opened.session == 2
    finally:
        os.write(writing, b"x")
        os.waitpid(child, 0)
        for end in (reading, writing, hearing, telling):
            os.close(end)


@in_a_file
async def test_a_forked_child_neither_releases_nor_keeps_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    owner = FolderLock(path)
    if not (child := os.fork()):
        os._exit(0)  # its copy is closed on the way
    os.waitpid(child, 0)
    assert is_locked(path), "the child took it from its owner"
    assert owner._fd is not None
    copy = os.dup(owner._fd)  # as a child has it that was forked, and has not had its turn yet
    owner.release()
    assert not is_locked(path)
    os.close(copy)


# --- what other versions wrote -------------------------------------------------------------------------------------


@in_a_file
async def test_a_newer_layout_is_refused(tmp_path: Path) -> None:
    async with journal(tmp_path):
        pass
    with sqlite3.connect(tmp_path / "journal.sqlite") as db:
        db.execute("pragma user_version=99")
    db.close()
    with pytest.raises(JournalError, match=r"written by a newer Leadline \(layout 99\); update leadline"):
        await Journal.open(tmp_path / "journal.sqlite")


@in_a_file
async def test_the_layout_is_as_documented(tmp_path: Path) -> None:
    """Two tables that any SQLite shell reads: entries (JSON with a mark) and blobs (zlib, by digest)."""
    async with journal(tmp_path) as opened:
        row = await keep(opened, "a", body=b'{"text": "lead"}')
    db = sqlite3.connect(tmp_path / "journal.sqlite")
    kind = db.execute(
        "select json_extract(value, '$.kind') from entries where space = 'call' and name = 'a'"
    ).fetchone()
    body = db.execute("select data from blobs where digest = ?", (row.body,)).fetchone()
    db.close()
    assert kind == ("search",)
    assert zlib.decompress(body[0]) == b'{"text": "lead"}'


# --- the thread -------------------------------------------------------------------------------------------


async def test_an_error_after_a_write_reaches_only_its_caller(tmp_path: Path) -> None:
    def broken(_: object) -> None:
        raise ValueError("broken")

    storage = Storage(tmp_path / "journal.sqlite", "write")
    await storage.open()
    writes = (storage.write(lambda db: 1, then=broken), storage.write(lambda db: 2), storage.read(lambda db: 3))
    async with asyncio.timeout(10):
        first, *others = await asyncio.gather(*writes, return_exceptions=True)
    await storage.close()
    assert isinstance(first, ValueError)
    assert others == [2, 3]


async def test_writes_that_wait_together_share_a_transaction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    together: list[int] = []
    write = Storage._write

    def count(self: Storage, jobs: list[Any]) -> None:
        together.append(len(jobs))
        write(self, jobs)

    async with journal(tmp_path) as opened:
        monkeypatch.setattr(Storage, "_write", count)
        free = threading.Event()
        opened._storage._thread.submit(free.wait)
        name = opened.ledger.reserve(Need(tokens=1))
        opened.ledger.settle(name, Need())
        writes = [asyncio.create_task(keep(opened, key)) for key in "abc"]
        await asyncio.sleep(0)
        free.set()
        await asyncio.gather(*writes)
        assert together == [5]


async def test_a_call_does_not_begin_by_a_commit_from_before_a_pause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = ["late"]
    late = await Journal.open(tmp_path / "journal.sqlite", owns=lambda: owner == ["late"])
    beginning = asyncio.create_task(late.begin("a"))
    await asyncio.sleep(0)
    later = []

    async def take_over() -> None:
        owner[0] = "later"
        later.append(await Journal.open(tmp_path / "journal.sqlite", owns=lambda: owner == ["later"]))

    monkeypatch.setattr(journal_module, "_LATE", -1.0)  # as if every commit took long
    await take_over()
    with pytest.raises(JournalBusy):
        await beginning
    await late.close()
    await later[0].close()
