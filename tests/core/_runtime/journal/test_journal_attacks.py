"""Attacks on the journal: damage is asked again or named, never delivered; what cannot be kept stops the run."""

import asyncio
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.call_paths import FakeSearch, open_call_path
from tests.hot_journal import journal_that_deletes

from leadline._runtime.calls.call_path import CallPath
from leadline._runtime.calls.job import Kind, ProviderIdentity
from leadline._runtime.journal.journal import Journal
from leadline._runtime.journal.lock import is_locked
from leadline._runtime.journal.rows import Need, Row, put_entry
from leadline._runtime.journal.storage import FileRecords
from leadline.contracts import Call
from leadline.errors import JournalError
from leadline.records import SearchPage, SearchRequest
from leadline.stores import Mode

SEARCH = Kind("search", SearchPage, need=lambda _: Need(queries=1))
FAKE = ProviderIdentity("fake", priced=True)
QUERIES = [f"{number} " + "what is a lead line " * 20 for number in range(12)]


async def research(folder: Path, engine: FakeSearch) -> tuple[list[SearchPage], int]:
    """Ask all queries; returns the pages, and how many damages were noticed."""
    async with open_call_path(folder) as opened:
        pages = [
            await opened.calls.call(SEARCH, SearchRequest(query=query), engine.search, provider=FAKE)
            for query in QUERIES
        ]
        return pages, len(opened.journal.damaged)


# --- damage --------------------------------------------------------------------------------------------------------


async def flips(folder: Path, count: int, seed: int) -> dict[str, int]:
    """Flip one bit at a time in a finished journal and go over it again; returns how each ended."""
    chance = random.Random(seed)
    true, _ = await research(folder, FakeSearch())
    good = (folder / "journal.sqlite").read_bytes()
    ends = {"wrong": 0, "untouched": 0, "asked again": 0, "named": 0}
    for number in range(count):
        data, place = bytearray(good), chance.randrange(len(good))
        data[place] ^= 1 << chance.randrange(8)
        copy = folder / str(number)
        copy.mkdir()
        (copy / "journal.sqlite").write_bytes(data)
        engine = FakeSearch()
        try:
            pages, damaged = await research(copy, engine)
        except JournalError:
            ends["named"] += 1
            continue
        finally:
            shutil.rmtree(copy)
        how = "wrong" if pages != true else "asked again" if damaged or engine.asked else "untouched"
        ends[how] += 1
    return ends


async def test_a_flipped_bit_never_changes_an_answer(tmp_path: Path) -> None:
    ends = await flips(tmp_path, 100, seed=1)
    assert ends["wrong"] == 0
    assert ends["asked again"] + ends["named"] > 20, ends


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_600_flipped_bits_never_change_an_answer(tmp_path: Path) -> None:
    assert (await flips(tmp_path, 600, seed=2))["wrong"] == 0


async def test_a_damaged_reply_is_requested_again_with_a_notice(tmp_path: Path) -> None:
    await research(tmp_path, FakeSearch())
    damage(
        tmp_path,
        "update blobs set data = zeroblob(20) where digest = (select json_extract(value, '$.body') from "
        "entries where space = 'call' limit 1)",
    )
    engine = FakeSearch()
    async with open_call_path(tmp_path) as opened:
        for query in QUERIES:
            await opened.calls.call(SEARCH, SearchRequest(query=query), engine.search, provider=FAKE)
    assert len(engine.asked) == 1
    assert "the journal's reply to search by fake is damaged: the call is made again" in str(opened.seen.of("notice"))
    engine = FakeSearch()
    await research(tmp_path, engine)
    assert engine.asked == []


async def test_offline_a_damaged_row_is_an_error(tmp_path: Path) -> None:
    await research(tmp_path, FakeSearch())
    damage(tmp_path, "update entries set value = replace(value, 'fake', 'fact') where space = 'call'")
    async with open_call_path(tmp_path, offline=True) as opened:
        with pytest.raises(JournalError, match=r"holds no such call: search by fake \(12 of its entries are damaged\)"):
            await opened.calls.call(SEARCH, SearchRequest(query=QUERIES[0]), FakeSearch().search, provider=FAKE)


async def test_damaged_metadata_is_an_error(tmp_path: Path) -> None:
    journal = await Journal.open(tmp_path / "journal.sqlite")
    await journal.set_meta("settings", {"a": 1})
    await journal.close()
    damage(tmp_path, "update entries set value = '{\"a\": 2}' where space = 'meta'")
    journal = await Journal.open(tmp_path / "journal.sqlite", mode="read")
    with pytest.raises(JournalError, match=r"the entry `settings` of the journal .* is damaged"):
        await journal.get_meta("settings")
    await journal.close()


def damage(folder: Path, statement: str) -> None:
    db = sqlite3.connect(folder / "journal.sqlite")
    with db:
        assert db.execute(statement).rowcount > 0
    db.close()


@pytest.mark.parametrize("content", [b"not a database at all" * 100, b"SQLite format 3\0" + bytes(5000)])
async def test_a_file_that_is_not_a_journal_is_an_error_and_unchanged(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "journal.sqlite"
    path.write_bytes(content)
    modes: tuple[Mode, ...] = ("write", "read")
    for mode in modes:
        with pytest.raises(
            JournalError, match=r"the journal .*journal\.sqlite is damaged .*`leadline research QUESTION`"
        ):
            await Journal.open(path, mode=mode)
    assert path.read_bytes() == content


async def test_a_truncated_file_is_an_error(tmp_path: Path) -> None:
    await research(tmp_path, FakeSearch())
    path = tmp_path / "journal.sqlite"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(JournalError, match="is damaged"):
        await research(tmp_path, FakeSearch())


# --- a disk that takes no more -------------------------------------------------------------------------------------


@contextmanager
def small_disk(place: Path, options: str) -> Iterator[Path]:
    place.mkdir()
    if os.geteuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", place]).returncode:
        pytest.skip("a file system of its own needs root")
    try:
        yield place
    finally:
        subprocess.run(["umount", place], check=True)


async def test_a_full_disk_stops_the_run_before_the_next_paid_call(
    tmp_path: Path,
) -> None:
    with small_disk(tmp_path / "disk", "size=9m") as disk:
        engine, filler = FakeSearch(), disk / "filler"
        async with open_call_path(disk / "run", status="") as opened:

            async def ask(query: str) -> SearchPage:
                return await opened.calls.call(SEARCH, SearchRequest(query=query), engine.search, provider=FAKE)

            async def ask_many() -> None:
                for number in range(500):
                    await ask(f"{number} {random.random()} " * 100)

            await ask("first")
            fill(filler)
            with pytest.raises(JournalError, match=r"the disk of .*run is full; completed work is kept: make room"):
                await ask_many()
            paid = len(engine.asked)
            for query in ("after", "more"):
                with pytest.raises(JournalError, match="is full"):
                    await ask(query)
            assert len(engine.asked) == paid, "paid for what could not be kept"
        filler.unlink()
        again = FakeSearch()
        async with open_call_path(disk / "run") as opened:
            await opened.calls.call(SEARCH, SearchRequest(query="first"), again.search, provider=FAKE)
            assert len(opened.journal.keys()) >= paid - 1  # at most one was paid for in vain
        assert again.asked == []


def fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)):
                pass
        except OSError:
            return


async def test_a_full_disk_is_reported_at_the_start(tmp_path: Path) -> None:
    with (
        small_disk(tmp_path / "disk", "size=2m") as disk,
        pytest.raises(JournalError, match=r"is full: 2\.0 MB free, 8 MB needed to start; make room, or choose"),
    ):
        await Journal.open(disk / "journal.sqlite")


async def test_a_file_that_cannot_grow_is_an_error(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    engine = FakeSearch()

    async def ask_many(calls: CallPath) -> None:
        for number in range(500):
            request = SearchRequest(query=f"{number} {random.random()} " * 100)
            await calls.call(SEARCH, request, engine.search, provider=FAKE)

    try:
        async with open_call_path(tmp_path, status="") as opened:
            resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
            with pytest.raises(JournalError, match=r"cannot read or write the journal|is full"):
                await ask_many(opened.calls)
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    kept = len(engine.asked) - 1
    async with open_call_path(tmp_path) as opened:
        assert len(opened.journal.keys()) == kept


async def test_a_read_only_folder_can_be_read_but_not_written(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "size=20m") as disk:
        true, _ = await research(disk, FakeSearch())
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        with pytest.raises(JournalError, match=r"cannot write to .*disk .*make it writable, or choose another folder"):
            await Journal.open(disk / "journal.sqlite")
        engine = FakeSearch()
        async with open_call_path(disk, offline=True) as opened:
            call = opened.calls.call(SEARCH, SearchRequest(query=QUERIES[0]), engine.search, provider=FAKE)
            assert await call == true[0]
        assert engine.asked == []


async def test_a_killed_run_in_a_read_only_folder_can_be_read(tmp_path: Path) -> None:
    """Its replies stand in the WAL beside the file."""
    with small_disk(tmp_path / "disk", "size=20m") as disk:
        code = (
            "import asyncio, os, sys; from pathlib import Path\n"
            "from tests.call_paths import FakeSearch, open_call_path\n"
            "from leadline._runtime.calls.job import Kind, ProviderIdentity; from leadline.records import *\n"
            "async def main():\n"
            "    async with open_call_path(Path(sys.argv[1])) as opened:\n"
            "        kind = Kind('search', SearchPage)\n"
            "        fake = ProviderIdentity('fake')\n"
            "        await opened.calls.call(kind, SearchRequest(query='a'), FakeSearch().search, provider=fake)\n"
            "        os.kill(os.getpid(), 9)\n"
            "asyncio.run(main())\n"
        )
        path = os.pathsep.join(part for part in sys.path if part)
        killed = subprocess.run([sys.executable, "-c", code, disk], env={"PYTHONPATH": path})
        assert killed.returncode == -signal.SIGKILL
        assert (disk / "journal.sqlite-wal").stat().st_size > 0
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        engine = FakeSearch()
        async with open_call_path(disk, offline=True) as opened:
            kind = Kind("search", SearchPage)
            await opened.calls.call(kind, SearchRequest(query="a"), engine.search, provider=ProviderIdentity("fake"))
        assert engine.asked == []


async def test_an_error_of_the_disk_reaches_every_waiting_caller(tmp_path: Path) -> None:
    async with open_call_path(tmp_path, status="") as opened:

        async def break_it(request: SearchRequest, call: Call) -> SearchPage:
            opened.journal._storage.broken = JournalError("the disk is gone")
            return SearchPage()

        calls = [
            opened.calls.call(SEARCH, SearchRequest(query=query), break_it, provider=FAKE) for query in ("a", "b", "a")
        ]
        ends = await asyncio.gather(*calls, return_exceptions=True)
    assert [str(end) for end in ends] == ["the disk is gone"] * 3


# --- files of somebody else ------------------------------------------------------------------------------------------

_ENDLESS = """
alter table entries rename to old;
create view entries as with recursive r(n) as (select 1 union all select n + 1 from r)
    select 'meta' as space, 'x' as name, 'y' as value, 'z' as mark from r where n < 0;
"""
_TRIGGER = "create trigger t after insert on entries begin delete from entries; end;"


@pytest.mark.parametrize("mode", ["read", "write"])
@pytest.mark.parametrize("sql", [_ENDLESS, _TRIGGER, "create table other (x)", "create index i on entries (value)"])
async def test_a_journal_with_other_tables_is_not_used(tmp_path: Path, sql: str, mode: Mode) -> None:
    await (await Journal.open(tmp_path / "journal.sqlite")).close()
    with sqlite3.connect(tmp_path / "journal.sqlite") as db:
        db.executescript(sql)
    db.close()
    with pytest.raises(JournalError, match="no journal of Leadline"):
        await Journal.open(tmp_path / "journal.sqlite", mode=mode)


async def test_an_entry_that_unpacks_to_gigabytes_is_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leadline._runtime.journal.rows._LARGEST", 1_000_000)
    journal = await Journal.open(tmp_path / "journal.sqlite")
    try:
        for size in (999_000, 1_000_001):
            row = Row(key=f"k{size}", kind="search", provider="p", outcome="reply")
            kept = await journal.keep(row, bytes(size), b"{}")
            assert (await journal.body(kept) is not None) == (size < 1_000_000)
    finally:
        await journal.close()


async def test_entries_that_nobody_could_write_are_damaged(tmp_path: Path) -> None:
    await (await Journal.open(tmp_path / "journal.sqlite")).close()
    with sqlite3.connect(tmp_path / "journal.sqlite") as db:
        for space, value in (("call", "{}"), ("session", "[" * 9_999), ("lease", "[1]"), ("begun", "9" * 9_999)):
            put_entry(FileRecords(db), space, "x", value)
        put_entry(FileRecords(db), "meta", "order", "[" * 100_000)
    db.close()
    journal = await Journal.open(tmp_path / "journal.sqlite", mode="read")
    try:
        assert sorted(journal.damaged) == ["begun x", "call x", "lease x", "session x"]
        with pytest.raises(JournalError, match="`order`"):
            await journal.get_meta("order")
    finally:
        await journal.close()


async def test_a_journal_is_a_file_of_a_limited_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "journal.sqlite").symlink_to("/dev/zero")
    with pytest.raises(JournalError, match="symbolic links"):
        await Journal.open(tmp_path / "journal.sqlite", mode="read")
    (tmp_path / "journal.sqlite").unlink()
    journal = await Journal.open(tmp_path / "journal.sqlite")
    await journal.set_meta("order", "x" * 10_000)
    await journal.close()
    monkeypatch.setattr("leadline._runtime.journal.storage._MOST_ENTRIES", 9_000)
    with pytest.raises(JournalError, match="entries"):
        await Journal.open(tmp_path / "journal.sqlite", mode="read")
    monkeypatch.setattr("leadline._runtime.journal.storage._LARGEST", 9_000)
    with pytest.raises(JournalError, match="more than"):
        await Journal.open(tmp_path / "journal.sqlite", mode="read")


@pytest.mark.parametrize("name", ["events.jsonl", "journal.sqlite.lock", "journal.sqlite-wal", "report.md", "pipe"])
async def test_a_run_does_not_write_through_links_of_its_folder(tmp_path: Path, name: str) -> None:
    folder, other = tmp_path / "run", tmp_path / "other"
    await (await Journal.open(folder / "journal.sqlite")).close()
    (folder / name).unlink(missing_ok=True)
    other.write_text("of the user")
    if name == "pipe":
        os.mkfifo(folder / name)
    else:
        (folder / name).symlink_to(other)
    with pytest.raises(JournalError, match="link"):
        await Journal.open(folder / "journal.sqlite")
    assert not is_locked(folder / name)
    assert other.read_text() == "of the user"


async def test_a_journal_cannot_make_sqlite_delete_another_file(tmp_path: Path) -> None:
    folder, other = tmp_path / "run", tmp_path / "other"
    await (await Journal.open(folder / "journal.sqlite")).close()
    other.write_text("of the user")
    (folder / "journal.sqlite-journal").write_bytes(journal_that_deletes(other))
    with pytest.raises(JournalError, match="names another file"):
        await Journal.open(folder / "journal.sqlite")
    assert other.exists()
