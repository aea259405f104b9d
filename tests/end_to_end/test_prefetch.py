"""A run whose searches began while the plan was being written is the run that waited for the whole plan."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from leadline.testing.runs import assert_same_calls
from leadline_plugins.stages.prefetch import SearchPrefetch

SLOW = {"first_token": 0.01, "tokens_per_second": 1000, "search": 0.02, "page": 0.02}


def events_of(result: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (result.folder / "events.jsonl").read_text().splitlines()]


def begun_early(result: Any) -> int:
    """Return how many searches were begun while the plan was still being asked for."""
    events = events_of(result)
    planned = next(
        event["seq"] for event in events if event["kind"] == "call.finished" and event["data"]["task"] == "plan"
    )
    started = (event for event in events if event["kind"] == "call.started" and event["data"]["kind"] == "query")
    return sum(event["seq"] < planned for event in started)


def ignore(ahead: Any, attempt: int, piece: str) -> None:
    """Receive a piece of a reply, and start no search."""


@pytest.mark.slow
async def test_searching_ahead_changes_nothing_but_when(
    tools: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tools.emulator(**SLOW) as world:
        async with tools.client(world, tmp_path / "ahead") as runs:
            ahead = await runs.research(tools.question())
        monkeypatch.setattr(SearchPrefetch, "receive", ignore)
        async with tools.client(world, tmp_path / "deaf") as runs:
            deaf = await runs.research(tools.question())
    assert ahead.status == deaf.status == "complete"
    assert begun_early(ahead) > begun_early(deaf) == 1, "the plan sees the hits of the question"
    await assert_same_calls(ahead.folder / "journal.sqlite", deaf.folder / "journal.sqlite")
    apart = {"metadata": {"created"}}
    assert ahead.report.model_dump(exclude=apart) == deaf.report.model_dump(exclude=apart)
    assert ahead.metadata.calls == deaf.metadata.calls
