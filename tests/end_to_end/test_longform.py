"""A whole long report over the emulator: its parts, its plan, and that nothing is said twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from leadline_plugins.verification.repetition import repetitions

TOPICS = "costs, history, noise, ships, power, ports, rules, taxes, ferries, grids"
ASKED = f"How do European ports pay for shore power: {TOPICS}?"


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_a_whole_long_report_says_nothing_twice(tools: Any, tmp_path: Path) -> None:
    values = {
        "pipeline": "longform",
        "report.formats": ["markdown", "html", "json"],
        "plugins.chart.mode": "off",
        "plugins.illustrate.max": 0,
    }
    with tools.emulator() as world:
        async with tools.client(world, tmp_path, values) as runs:
            result = await runs.research(ASKED)
    assert result.status == "complete", result.reason
    assert result.report
    assert len([one for one in result.report.sections if one.part]) >= 8
    assert not [one for one in repetitions(result.report.sections) if one.whole]
    kept = json.loads((result.folder / "repetition.json").read_text())
    assert kept["removed"]
    text = (result.folder / "report.md").read_text()
    places = [text.index(f"\n## {title}\n") for title in ("Executive summary", "Introduction", "Main findings")]
    assert places == sorted(places)
    assert "\n### Costs\n" in text
    assert "\n### Analysis\n" in text
    plan = json.loads((result.folder / "plan.json").read_text())
    assert {query["category"] for query in plan["queries"]} > {""} or all(
        query["category"] for query in plan["queries"]
    )
