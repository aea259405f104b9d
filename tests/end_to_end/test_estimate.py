"""The estimate is held against a run of the emulator: what the stages do and what is told of them stay together."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

PRICES = {"ai.prices": {"emulated": {"input": 1.0, "output": 4.0}}}


@pytest.mark.parametrize("length", [pytest.param(0, marks=pytest.mark.slow), 600])
async def test_a_run_costs_about_what_was_estimated(tools: Any, tmp_path: Path, length: int) -> None:
    with tools.emulator() as world:
        async with tools.client(world, tmp_path, PRICES | {"report.length": length}) as runs:
            told = await runs.estimate(tools.question())
            assert not world.tally()["asked"]
            result = await runs.research(tools.question())
    assert result.status == "complete"
    lines = map(json.loads, (result.folder / "events.jsonl").read_text().splitlines())
    done = [line["data"] for line in lines if line["kind"] == "call.finished"]
    asked = Counter(data["task"] for data in done if data["kind"] == "chat")
    assert abs(told.calls - asked.total()) <= 3
    assert asked["synthesize"] == (1 if length else 6), "a short report in one call; else sections and their summary"
    usage = result.metadata.usage
    assert 0.6 < usage["tokens"] / (told.input_tokens + told.output_tokens) < 1.4
    assert 0.6 < float(usage["cost"]) / float(told.cost) < 1.4


@pytest.mark.parametrize(("preset", "least", "most"), [("lean", 15, 22), ("full", 16, 24)])
async def test_the_estimate_has_the_number_of_calls_of_a_typical_run(
    tools: Any, tmp_path: Path, preset: str, least: int, most: int
) -> None:
    with tools.emulator() as world:
        async with tools.client(world, tmp_path, {"preset": preset}) as runs:
            told = await runs.estimate(tools.question())
    assert least <= told.calls <= most
