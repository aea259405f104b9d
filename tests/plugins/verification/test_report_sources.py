"""Checks of a report outside a run, which have the limits of a run."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import leadline
from leadline.contracts import Call
from leadline.errors import Unavailable
from leadline.records import Blob, FetchRequest
from leadline.testing import fakes
from leadline.testing.fakes import SITE, fake_web

SETTINGS = {"read.fetchers": ["fakeweb"], "research.max_queries": 2, "research.pages_per_query": 2, "retry.base": 0}


def client(folder: Path, **more: Any) -> leadline.Client:
    settings = SETTINGS | {name.replace("__", "."): value for name, value in more.items()}
    return leadline.Client(plugins=[fake_web()], folder=folder / "r", cache=folder / "c", set=settings)


def report(count: int, address: str = SITE) -> str:
    text = "".join(f"The harbour measured {place} fathoms [{place}].\n\n" for place in range(1, count + 1))
    return f"# T\n\n{text}## Sources\n\n" + "".join(f"{n}. Page {address}{n}\n" for n in range(1, count + 1))


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    urls: list[str] = []
    fetch = fakes.FakePages.fetch

    async def recorded(self: Any, request: FetchRequest, call: Call, /) -> Blob:
        urls.append(request.url)
        if request.url.endswith("/down"):
            raise Unavailable("no answer")
        if request.url.endswith("/slow"):
            await asyncio.sleep(600)
        return await fetch(self, request, call)

    monkeypatch.setattr(fakes.FakePages, "fetch", recorded)
    monkeypatch.setattr(fakes.FakePages, "accepts", lambda self, url: True)
    return urls


async def test_a_check_reads_as_many_pages_as_a_run(tmp_path: Path, fetched: list[str]) -> None:
    async with client(tmp_path) as runs:
        found: Any = await runs.verify(report(6), fetch=True)
    assert sorted(fetched) == [f"{SITE}{number}" for number in range(1, 5)]
    limit = "a run reads 4 pages: research.max_queries times research.pages_per_query"
    assert found["unread"] == {"5": limit, "6": limit}
    assert found["unchecked"] == 2


async def test_a_check_holds_as_many_characters_in_memory_as_a_run_may(
    tmp_path: Path, fetched: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leadline_plugins.verification.report_sources._MOST", 1_000)
    monkeypatch.setattr("leadline_plugins.verification.report_sources.AT_ONCE", 1)
    async with client(tmp_path) as runs:
        found: Any = await runs.verify(report(3), fetch=True)
    assert fetched == [f"{SITE}1"]
    assert found["unread"]["2"] == found["unread"]["3"] == "the other sources have more than 1,000 characters"


async def test_a_check_ends_with_the_seconds_of_a_run(tmp_path: Path, fetched: list[str]) -> None:
    async with client(tmp_path, budget__seconds=0.5) as runs:
        found: Any = await asyncio.wait_for(
            runs.verify(report(1, f"{SITE}slow").replace("slow1", "slow"), fetch=True), 30
        )
    assert fetched == [f"{SITE}slow"]
    assert "budget.seconds" in found["unread"]["1"]


async def test_a_check_reads_the_web_only_and_says_what_it_could_not_read(tmp_path: Path, fetched: list[str]) -> None:
    text = "It is deep [1], wide [2], far [3] and cold [4].\n\n[1]: file:///etc/passwd\n[2]: local://docs/a.txt\n"
    text += f"[3]: {SITE}down\n[4]: {SITE}up\n"
    async with client(tmp_path, retry__attempts=1) as runs:
        found: Any = await runs.verify(text, fetch=True)
    assert sorted(set(fetched)) == [f"{SITE}down", f"{SITE}up"]
    assert found["unread"]["1"] == found["unread"]["2"] == "the report has no web address for it"
    assert "no answer" in found["unread"]["3"]
    assert found["unread"].keys() == {"1", "2", "3"}
