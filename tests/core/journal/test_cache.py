"""The cache across runs: found again in time, kept apart by account, thrown away when damaged, safe for many."""

from __future__ import annotations

import asyncio
import json
import logging
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from leadline.door.kinds import Kind, Maker
from leadline.door.secrets import Secrets
from leadline.errors import CallFailed, Unsupported
from leadline.journal.cache import Answers, account_of
from leadline.journal.cache_file import mark_of
from leadline.records import SearchPage, SearchRequest
from leadline.runs.budget import Limits
from leadline.settings.durations import Duration, seconds
from leadline.testing.fakes import FakeSearch, OpenDoor, open_door

SEARCH = Kind("search", SearchPage, ttl=3600)
MIB = 2**20


def answers(folder: Path, size: int = MIB, **options: Any) -> Answers:
    return Answers(folder / "answers.sqlite", size, **options)


async def ask(opened: OpenDoor, engine: FakeSearch, query: str = "bay", **options: Any) -> SearchPage:
    kind, maker = options.pop("kind", SEARCH), options.pop("maker", Maker("fake"))
    return await opened.door.call(kind, SearchRequest(query=query), engine.search, maker=maker, **options)


# --- the file --------------------------------------------------------------------------------------------------------


async def test_an_answer_is_found_again_until_it_is_too_old(tmp_path: Path) -> None:
    now = 1000.0
    kept = answers(tmp_path, clock=lambda: now)
    assert await kept.get("k", "", 60) is None
    kept.put_soon("k", "", b"answer")
    assert await kept.get("k", "", 60) == b"answer"
    assert await kept.get("k", "", 0) is None
    now = 1059.9
    assert await kept.get("k", "", 60) == b"answer"
    now = 1060.0
    assert await kept.get("k", "", 60) is None
    assert await kept.get("k", "", 600) == b"answer"
    now = 900.0
    assert await kept.get("k", "", 600) is None, "a clock set back makes nothing fresh"
    await kept.close()


async def test_accounts_and_scopes_are_kept_apart(tmp_path: Path) -> None:
    mine, redacted = answers(tmp_path), answers(tmp_path, scope="redact")
    mine.put_soon("k", account_of(["key-one"]), b"mine")
    assert await mine.get("k", account_of(["key-one"]), 60) == b"mine"
    assert await mine.get("k", account_of(["key-two"]), 60) is None
    assert await redacted.get("k", account_of(["key-one"]), 60) is None
    await mine.close()
    await redacted.close()


async def test_no_key_and_no_question_is_in_the_file_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    key, query = "tvly-0123456789abcdef", "a question nobody should read"
    kept = answers(tmp_path)
    async with open_door(tmp_path / "run", answers=kept) as opened:
        await ask(opened, FakeSearch(), query, maker=Maker("fake", account=account_of([key])))
        await kept.close()
    files = [path.read_bytes() for path in tmp_path.glob("answers*")]
    assert files
    assert not any(key.encode() in data or query.encode() in data for data in files)
    assert (tmp_path / "answers.sqlite").stat().st_mode & 0o077 == 0


async def test_what_was_not_used_the_longest_goes_first(tmp_path: Path) -> None:
    import random

    now = 0.0
    kept = answers(tmp_path, size=5_000, clock=lambda: now)
    body = random.Random(7).randbytes(1_500)
    for name in ("a", "b", "c"):
        now += 1
        kept.put_soon(name, "", body)
        assert await kept.get(name, "", 60) == body
    now += 1
    assert await kept.get("a", "", 60) == body
    now += 1
    kept.put_soon("d", "", body)
    assert [await kept.get(name, "", 60) is not None for name in "abcd"] == [True, False, True, True]
    kept.put_soon("too large", "", random.Random(8).randbytes(6_000))
    assert await kept.get("too large", "", 60) is None
    await kept.close()


def _garbage(path: Path) -> None:
    path.write_bytes(b"no database at all " * 500)


def _torn(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5_000])


def _other_layout(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as db:
        db.execute("create table answers (something text)")
    db.close()


def _flipped(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("update answers set body = ?", (b"\x00\x01",))
    db.close()


def _wrong_body(path: Path) -> None:
    import zlib

    with sqlite3.connect(path) as db:
        db.execute("update answers set body = ?", (zlib.compress(b"another"),))
    db.close()


@pytest.mark.parametrize("damage", [_garbage, _torn, _other_layout, _flipped, _wrong_body])
async def test_a_damaged_file_is_thrown_away_with_one_warning(
    damage: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    kept = answers(tmp_path)
    for number in range(40):
        kept.put_soon(f"k{number}", "", bytes([number]) * 3_000)
    await kept.close()
    damage(tmp_path / "answers.sqlite")
    kept = answers(tmp_path)
    with caplog.at_level(logging.WARNING, "leadline.journal.cache"):
        found = [await kept.get(f"k{number}", "", 60) for number in range(40)]
        assert found == [None] * 40
        kept.put_soon("new", "", b"answer")
        assert await kept.get("new", "", 60) == b"answer"
    assert len(caplog.records) == 1
    assert "thrown away" in caplog.text
    await kept.close()


async def test_a_file_that_cannot_be_opened_is_done_without(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "answers.sqlite").mkdir()
    kept = answers(tmp_path)
    kept.put_soon("k", "", b"answer")
    assert await kept.get("k", "", 60) is None
    assert len(caplog.records) == 1
    assert "done without" in caplog.text
    await kept.close()


WRITER = """
import asyncio, sys
from pathlib import Path
from leadline.journal.cache import Answers

async def main(name):
    kept = Answers(Path(sys.argv[1]), 2**24)
    for number in range(100):
        kept.put_soon(f"{name}.{number}", "", f"{name} {number} ".encode() * 200)
        if number % 10 == 0:
            assert await kept.get(f"{name}.{number}", "", 60), number
    await kept.close()

asyncio.run(main(sys.argv[2]))
"""


async def test_processes_share_the_file(tmp_path: Path) -> None:
    path = str(tmp_path / "answers.sqlite")
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, path, name], stderr=subprocess.PIPE) for name in "abcd"]
    said = [writer.communicate(timeout=60)[1].decode() for writer in writers]
    assert said == [""] * 4
    kept = answers(tmp_path)
    for name in "abcd":
        for number in range(100):
            assert await kept.get(f"{name}.{number}", "", 60) == f"{name} {number} ".encode() * 200
    await kept.close()


# --- through the door ------------------------------------------------------------------------------------------------


async def test_another_run_is_answered_from_the_cache_and_keeps_the_answer_itself(tmp_path: Path) -> None:
    kept, engine = answers(tmp_path), FakeSearch()
    async with open_door(tmp_path / "one", answers=kept) as opened:
        first = await ask(opened, engine)
    async with open_door(tmp_path / "two", answers=kept) as opened:
        assert await ask(opened, engine) == first
        assert await ask(opened, engine) == first
    assert [call["from"] for call in opened.seen.of("call.finished")] == ["cache", "journal"]
    figures = opened.door.counts()["search"]["fake"]
    assert (figures["calls"], figures["from_cache"], figures["attempts"]) == (1, 1, 0)
    assert engine.asked == ["bay"]
    await kept.close()
    (tmp_path / "answers.sqlite").unlink()
    async with open_door(tmp_path / "two", offline=True) as opened:
        assert await ask(opened, engine) == first


@pytest.mark.parametrize(
    "options",
    [
        {"kind": Kind("search", SearchPage)},
        {"kind": Kind("search", SearchPage, ttl=3600, keep=False)},
        {"kind": Kind("search", SearchPage, ttl=3600, whole=lambda page: False)},
    ],
    ids=["switched off", "had for nothing", "half an answer"],
)
async def test_what_serves_no_other_run(options: dict[str, Any], tmp_path: Path) -> None:
    kept, engine = answers(tmp_path), FakeSearch()
    for name in ("one", "two"):
        async with open_door(tmp_path / name, answers=kept) as opened:
            await ask(opened, engine, **options)
    assert engine.asked == ["bay", "bay"]
    await kept.close()


async def test_failures_and_repeated_secrets_are_not_kept(tmp_path: Path) -> None:
    kept = answers(tmp_path)
    failing = FakeSearch(errors={"bay": [Unsupported("HTTP 404")]})
    async with open_door(tmp_path / "one", answers=kept) as opened:
        with pytest.raises(CallFailed):
            await ask(opened, failing)

    async def leaks(request: SearchRequest, call: Any) -> SearchPage:
        return SearchPage(cursor="a-secret-of-twenty-characters")

    secrets = Secrets(["a-secret-of-twenty-characters"])
    async with open_door(tmp_path / "one", answers=kept, secrets=secrets) as opened:
        with pytest.raises(CallFailed):
            await opened.door.call(SEARCH, SearchRequest(query="leak"), leaks, maker=Maker("fake"))
    async with open_door(tmp_path / "two", answers=kept) as opened:
        await ask(opened, failing)
        await ask(opened, failing, "leak")
    assert failing.asked == ["bay", "bay", "leak"]
    await kept.close()


async def test_an_answer_of_another_form_is_asked_again(tmp_path: Path) -> None:
    kept, engine = answers(tmp_path), FakeSearch()
    async with open_door(tmp_path / "one", answers=kept) as opened:
        await ask(opened, engine)
    await kept.close()
    with sqlite3.connect(tmp_path / "answers.sqlite") as db:
        import zlib

        body = json.dumps({"hits": "of another version"}).encode()
        (key,) = db.execute("select key from answers").fetchone()
        db.execute("update answers set mark = ?, body = ?", (mark_of(key, body), zlib.compress(body)))
    db.close()
    kept = answers(tmp_path)
    async with open_door(tmp_path / "two", answers=kept) as opened:
        assert (await ask(opened, engine)).hits
    assert engine.asked == ["bay", "bay"]
    await kept.close()


async def test_a_cached_answer_takes_nothing_of_the_budget(tmp_path: Path) -> None:
    from leadline.runs.budget import Need

    kept, engine = answers(tmp_path), FakeSearch()
    kind = Kind("search", SearchPage, ttl=3600, need=lambda _: Need(model_calls=1))
    for name in ("one", "two"):
        async with open_door(tmp_path / name, answers=kept, limits=Limits(model_calls=1)) as opened:
            await ask(opened, engine, kind=kind)
    assert opened.budget.spent()["model_calls"] == 0
    await kept.close()


async def test_many_at_once_are_one_look_and_one_call(tmp_path: Path) -> None:
    kept, engine = answers(tmp_path), FakeSearch(pause=0.01)
    for name in ("one", "two"):
        async with open_door(tmp_path / name, answers=kept) as opened:
            await asyncio.gather(*(ask(opened, engine) for _ in range(20)))
    assert engine.asked == ["bay"]
    await kept.close()


# --- lengths of time -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "length"),
    [("1h", 3600), ("30m", 1800), ("300s", 300), ("300", 300), ("0", 0), ("1.5 h", 5400), ("2D", 172_800)],
)
def test_lengths_of_time(text: str, length: float) -> None:
    assert seconds(text) == length
    assert TypeAdapter(Duration).validate_python(text) == text


@pytest.mark.parametrize("value", ["", "h", "-1h", "1 hour", "1h30m", "1e3", True, None, []])
def test_what_is_no_length_of_time(value: object) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(Duration).validate_python(value)


def test_numbers_are_seconds() -> None:
    assert [TypeAdapter(Duration).validate_python(value) for value in (300, 0, 1.5)] == ["300", "0", "1.5"]


def test_an_account_is_told_apart_without_its_key() -> None:
    assert account_of(["one"]) == account_of(["one"]) != account_of(["two"])
    assert "one" not in account_of(["one"])
    assert account_of([]) == ""
