"""The cache across runs: found again in time, kept apart by account, thrown away when damaged, safe for many."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError
from tests.call_paths import FakeSearch, OpenCallPath, open_call_path

from leadline._runtime.calls.budget import Limits
from leadline._runtime.calls.job import Kind, ProviderIdentity
from leadline._runtime.calls.store import ReplyCache, account_of
from leadline._settings.secrets import Secrets
from leadline.disk_cache import checksum
from leadline.errors import CallFailed, Unsupported
from leadline.records import SearchPage, SearchRequest
from leadline.settings import Duration, seconds

SEARCH = Kind("search", SearchPage, ttl=3600)
MIB = 2**20


def answers(folder: Path, size: int = MIB, **options: Any) -> ReplyCache:
    return ReplyCache(folder / "answers.sqlite", size, **options)


async def ask(opened: OpenCallPath, engine: FakeSearch, query: str = "bay", **options: Any) -> SearchPage:
    kind, provider = options.pop("kind", SEARCH), options.pop("provider", ProviderIdentity("fake"))
    return await opened.calls.call(kind, SearchRequest(query=query), engine.search, provider=provider, **options)


# --- the file --------------------------------------------------------------------------------------------------------


async def test_a_reply_is_found_until_it_is_too_old(tmp_path: Path) -> None:
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


async def test_accounts_and_scopes_have_separate_replies(tmp_path: Path) -> None:
    mine, redacted = answers(tmp_path), answers(tmp_path, scope="redact")
    mine.put_soon("k", account_of(["key-one"]), b"mine")
    assert await mine.get("k", account_of(["key-one"]), 60) == b"mine"
    assert await mine.get("k", account_of(["key-two"]), 60) is None
    assert await redacted.get("k", account_of(["key-one"]), 60) is None
    await mine.close()
    await redacted.close()


async def test_the_file_holds_no_keys_and_no_questions_and_is_private(tmp_path: Path) -> None:
    key, query = "tvly-0123456789abcdef", "a question nobody should read"
    kept = answers(tmp_path)
    async with open_call_path(tmp_path / "run", answers=kept) as opened:
        await ask(opened, FakeSearch(), query, provider=ProviderIdentity("fake", account=account_of([key])))
        await kept.close()
    files = [path.read_bytes() for path in tmp_path.glob("answers*")]
    assert files
    assert not any(key.encode() in data or query.encode() in data for data in files)
    assert (tmp_path / "answers.sqlite").stat().st_mode & 0o077 == 0


async def test_a_file_that_cannot_be_opened_is_not_used(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "answers.sqlite").mkdir()
    kept = answers(tmp_path)
    kept.put_soon("k", "", b"answer")
    assert await kept.get("k", "", 60) is None
    assert len(caplog.records) == 1
    assert "continuing without it" in caplog.text
    await kept.close()


WRITER = """
import asyncio, sys
from pathlib import Path
from leadline._runtime.calls.store import ReplyCache

async def main(name):
    kept = ReplyCache(Path(sys.argv[1]), 2**24)
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


async def test_a_hit_is_copied_into_the_journal_of_the_run(tmp_path: Path) -> None:
    kept, engine = answers(tmp_path), FakeSearch()
    async with open_call_path(tmp_path / "one", answers=kept) as opened:
        first = await ask(opened, engine)
    async with open_call_path(tmp_path / "two", answers=kept) as opened:
        assert await ask(opened, engine) == first
        assert await ask(opened, engine) == first
    assert [call["from"] for call in opened.seen.of("call.finished")] == ["cache", "journal"]
    assert [(row.cached, row.attempts) for row in opened.calls.rows()] == [(True, 0)]
    assert engine.asked == ["bay"]
    await kept.close()
    (tmp_path / "answers.sqlite").unlink()
    async with open_call_path(tmp_path / "two", offline=True) as opened:
        assert await ask(opened, engine) == first


async def test_another_version_of_a_plugin_is_asked_anew_and_a_resumed_run_keeps_its_reply(tmp_path: Path) -> None:
    kept, engine = answers(tmp_path), FakeSearch()
    new, old = (ProviderIdentity("fake", revision=version) for version in ("2.0", "1.0"))
    for name, provider in (("one", old), ("two", new), ("three", new), ("one", new)):
        async with open_call_path(tmp_path / name, answers=kept) as opened:
            await ask(opened, engine, provider=provider)
        assert len(engine.asked) == (1 if provider is old else 2)
    await kept.close()


@pytest.mark.parametrize(
    "options",
    [
        {"kind": Kind("search", SearchPage)},
        {"kind": Kind("search", SearchPage, ttl=3600, keep=False)},
        {"kind": Kind("search", SearchPage, ttl=3600, shareable=lambda page: False)},
    ],
    ids=["switched off", "had for nothing", "half an answer"],
)
async def test_replies_that_are_not_cached(options: dict[str, Any], tmp_path: Path) -> None:
    kept, engine = answers(tmp_path), FakeSearch()
    for name in ("one", "two"):
        async with open_call_path(tmp_path / name, answers=kept) as opened:
            await ask(opened, engine, **options)
    assert engine.asked == ["bay", "bay"]
    await kept.close()


async def test_failures_and_replies_with_secrets_are_not_cached(tmp_path: Path) -> None:
    kept = answers(tmp_path)
    failing = FakeSearch(errors={"bay": [Unsupported("HTTP 404")]})
    async with open_call_path(tmp_path / "one", answers=kept) as opened:
        with pytest.raises(CallFailed):
            await ask(opened, failing)

    async def leaks(request: SearchRequest, call: Any) -> SearchPage:
        return SearchPage(cursor="a-secret-of-twenty-characters")

    secrets = Secrets(["a-secret-of-twenty-characters"])
    async with open_call_path(tmp_path / "one", answers=kept, secrets=secrets) as opened:
        with pytest.raises(CallFailed):
            await opened.calls.call(SEARCH, SearchRequest(query="leak"), leaks, provider=ProviderIdentity("fake"))
    async with open_call_path(tmp_path / "two", answers=kept) as opened:
        await ask(opened, failing)
        await ask(opened, failing, "leak")
    assert failing.asked == ["bay", "bay", "leak"]
    await kept.close()


async def test_a_reply_of_another_version_is_requested_again(tmp_path: Path) -> None:
    kept, engine = answers(tmp_path), FakeSearch()
    async with open_call_path(tmp_path / "one", answers=kept) as opened:
        await ask(opened, engine)
    await kept.close()
    with sqlite3.connect(tmp_path / "answers.sqlite") as db:
        import zlib

        body = json.dumps({"hits": "of another version"}).encode()
        (key,) = db.execute("select key from answers").fetchone()
        db.execute("update answers set mark = ?, body = ?", (checksum(key, body), zlib.compress(body)))
    db.close()
    kept = answers(tmp_path)
    async with open_call_path(tmp_path / "two", answers=kept) as opened:
        assert (await ask(opened, engine)).hits
    assert engine.asked == ["bay", "bay"]
    await kept.close()


async def test_a_cached_reply_costs_nothing_of_the_budget(tmp_path: Path) -> None:
    from leadline._runtime.journal.rows import Need

    kept, engine = answers(tmp_path), FakeSearch()
    kind = Kind("search", SearchPage, ttl=3600, need=lambda _: Need(model_calls=1))
    for name in ("one", "two"):
        async with open_call_path(tmp_path / name, answers=kept, limits=Limits(model_calls=1)) as opened:
            await ask(opened, engine, kind=kind)
    assert opened.budget.spent()["model_calls"] == 0
    await kept.close()


async def test_parallel_identical_calls_are_one_call(tmp_path: Path) -> None:
    kept, engine = answers(tmp_path), FakeSearch(pause=0.01)
    for name in ("one", "two"):
        async with open_call_path(tmp_path / name, answers=kept) as opened:
            await asyncio.gather(*(ask(opened, engine) for _ in range(20)))
    assert engine.asked == ["bay"]
    await kept.close()


# --- lengths of time -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "length"),
    [("1h", 3600), ("30m", 1800), ("300s", 300), ("300", 300), ("0", 0), ("1.5 h", 5400), ("2D", 172_800)],
)
def test_durations(text: str, length: float) -> None:
    assert seconds(text) == length
    assert TypeAdapter(Duration).validate_python(text) == text


@pytest.mark.parametrize("value", ["", "h", "-1h", "1 hour", "1h30m", "1e3", True, None, []])
def test_invalid_durations_are_refused(value: object) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(Duration).validate_python(value)


def test_numbers_are_durations_in_seconds() -> None:
    assert [TypeAdapter(Duration).validate_python(value) for value in (300, 0, 1.5)] == ["300", "0", "1.5"]


def test_accounts_differ_without_revealing_their_keys() -> None:
    assert account_of(["one"]) == account_of(["one"]) != account_of(["two"])
    assert "one" not in account_of(["one"])
    assert account_of([]) == ""
