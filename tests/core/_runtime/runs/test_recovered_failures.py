"""Recovered failures in the metadata: equal ones are one line with a count."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leadline
from leadline._runtime.journal.journal import Journal
from leadline._runtime.journal.rows import Row
from leadline._runtime.runs.metadata import recovered_failures
from leadline.commands.outcome import summary
from leadline.contracts import Call
from leadline.errors import Unavailable
from leadline.plugin import search_provider
from leadline.records import Failure, SearchPage, SearchRequest
from leadline.runs import Metadata, StepError
from leadline.testing.fakes import fake_web
from leadline.testing.plugins import plugin

QUESTION = "How deep was the harbour measured at each sounding, in fathoms?"


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[Journal]:
    journal = await Journal.open(folder / "journal.sqlite")
    try:
        yield journal
    finally:
        await journal.close("complete")


async def fail(
    journal: Journal,
    key: str,
    message: str,
    *,
    kind: str = "search",
    provider: str = "alpha",
    outcome: Any = "failure",
    attempts: int = 1,
    **more: Any,
) -> None:
    category: Any = "RESOURCE_LIMIT" if outcome == "refusal" else "NETWORK"
    failure = Failure(
        kind=kind, provider=provider, category=category, type="X", message=message, attempts=attempts
    ).model_dump_json()
    row = Row(key=key, kind=kind, provider=provider, outcome=outcome, step=more.pop("step", "search"), **more)
    await journal.keep(row, failure.encode(), b"{}")


async def told(journal: Journal, *known: StepError) -> list[tuple[str, str, int, int]]:
    return [(one.step, one.message, one.retries, one.times) for one in await recovered_failures(journal, known)]


async def test_equal_failures_of_an_engine_are_one_line_with_a_count(tmp_path: Path) -> None:
    async with opened(tmp_path) as journal:
        for number in range(200):
            await fail(journal, f"{number}", "no reply within 30 s", attempts=3 if number else 1)
        assert await told(journal) == [("search", "search by alpha: no reply within 30 s", 2, 200)]


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 9)), max_size=30))
@settings(max_examples=25, deadline=None)
async def test_all_failures_are_counted_in_few_lines(failures: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with opened(Path(folder)) as journal:
            for number, (provider, page) in enumerate(failures):
                await fail(journal, f"{number}", f"HTTP 404 from /{page}", provider=provider)
            lines = await told(journal)
    assert sum(times for *_, times in lines) == len(failures)
    assert len({message for _, message, *_ in lines}) == len(lines) <= 6


async def test_a_failure_is_not_listed_again_for_the_call_around_it(tmp_path: Path) -> None:
    async with opened(tmp_path) as journal:
        await fail(journal, "leaf", "HTTP 503")
        await fail(journal, "query", "search by alpha: HTTP 503", kind="query", provider="batch", causes=("leaf",))
        await fail(journal, "chat", "HTTP 500", kind="chat", provider="openai", attempts=3, step="plan")
        handed_on = "chat by openai: HTTP 500 (after 3 attempts)"
        await fail(journal, "task", handed_on, kind="task", provider="openai", step="plan")
        await fail(journal, "own", "the reply is no Plan", kind="task", provider="openai", step="plan")
        assert await told(journal) == [
            ("search", "search by alpha: HTTP 503", 0, 1),
            ("plan", "chat by openai: HTTP 500", 2, 1),
            ("plan", "task by openai: the reply is no Plan", 0, 1),
        ]


async def test_a_spent_budget_is_one_line_per_step(tmp_path: Path) -> None:
    async with opened(tmp_path) as journal:
        for number in range(9):
            await fail(journal, f"{number}", f"{number} taken", kind="chat", outcome="refusal", step="synthesize")
        assert await told(journal) == [("synthesize", "0 taken", 0, 9)]


async def test_the_failure_that_ended_the_run_is_listed_once(tmp_path: Path) -> None:
    async with opened(tmp_path) as journal:
        await fail(journal, "a", "HTTP 503")
        assert await told(journal, StepError(message="query by batch: search by alpha: HTTP 503")) == []


class Down:
    """Fails as often as it is asked."""

    async def search(self, request: SearchRequest, call: Call, /) -> SearchPage:
        raise Unavailable("HTTP 503")


@pytest.fixture
def down() -> Any:
    return plugin("down", search_provider("For a test")(lambda: Down()))


async def test_a_complete_run_lists_its_recovered_failures(tmp_path: Path, down: Any) -> None:
    values = {"search.engines": ["down", "fakeweb"], "read.fetchers": ["fakeweb"], "retry.base": 0}
    plugins = [fake_web(), down]
    async with leadline.Client(plugins=plugins, folder=tmp_path / "r", cache=tmp_path / "c", set=values) as runs:
        result = await runs.research(QUESTION)
        resumed = await (await runs.resume(result.folder)).result()
    assert result.status == resumed.status == "complete"
    (error,) = {error.message.removesuffix(", the last: HTTP 503") for error in result.metadata.errors}
    assert error.startswith("search by down: ")
    assert {one.category for one in result.metadata.errors} == {"NETWORK"}
    assert sum(one.times for one in result.metadata.errors) == result.metadata.calls["search/down"]
    assert resumed.metadata.errors == result.metadata.errors


def test_the_summary_shows_the_first_errors_that_no_notice_mentions() -> None:
    rests = Failure(kind="search", provider="alpha", category="NETWORK", type="Unavailable", message="alpha rests")
    known = Metadata(
        run_id="r",
        trace_id="t",
        question="How?",
        pipeline="research",
        began=datetime(2026, 1, 1, tzinfo=UTC),
        reason="every search failed (1), the first: HTTP 503",
        notices=("alpha rests",),
        errors=(
            StepError(message="HTTP 503", step="search"),
            StepError(message=rests.text, step="search"),
            *(StepError(message=f"HTTP 40{number}", step="fetch", times=number) for number in range(1, 6)),
        ),
    )
    shown = [line.split(maxsplit=1)[1] for line in summary(known, Path("r")).splitlines() if line.startswith("Error")]
    first = ["fetch: HTTP 401", "fetch: HTTP 402 (×2)", "fetch: HTTP 403 (×3)"]
    assert shown == [*first, "2 more errors in metadata.json"]
