"""The pipeline `audited`: evidence is looked up before anything is written, and the audit decides."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import leadline
from leadline.findings import Findings
from leadline.plugin import map_stage
from leadline.records import Evidence
from leadline.research_findings import EVIDENCE
from leadline.testing.fakes import fake_web
from leadline.testing.plugins import plugin

ASKED = "Fathoms of the harbour measured at sounding 3"


def client(folder: Path, *more: Any, **values: Any) -> leadline.Client:
    settings = {
        "pipeline": "audited",
        "ai.providers": ["embedded"],
        "verify.require_support": False,  # else it needs a model
        "search.engines": ["fakeweb"],
        "read.fetchers": ["fakeweb"],
        "report.formats": ["markdown", "json"],
        "plugins.illustrate.max": 0,
    } | {name.replace("__", "."): value for name, value in values.items()}
    return leadline.Client(plugins=[fake_web(), *more], folder=folder / "runs", cache=folder / "cache", set=settings)


class Invents:
    """Adds a word to the first passage of every source, as a stage of a team might."""

    async def map(self, item: Evidence, findings: Findings, run: Any, /) -> Sequence[Evidence]:
        return (item.model_copy(update={"quote": f"Reportedly {item.quote}"}) if item.span[0] == 0 else item,)


INVENTS = plugin("invents", map_stage("Invents", over=EVIDENCE, gives=EVIDENCE)(lambda: Invents()))


async def test_a_passage_that_its_source_does_not_contain_reaches_no_writer(tmp_path: Path) -> None:
    stages: dict[str, Any] = {"pipelines.mine.extends": "audited", "pipelines.mine.after": {"extract": ["invents"]}}
    async with client(tmp_path, INVENTS, pipeline="mine", **stages) as runs:
        result = await runs.research(ASKED)
    kept = json.loads((result.folder / "evidence.json").read_text())
    assert kept["dropped"]
    assert all(row["quote"].startswith("Reportedly ") for row in kept["dropped"])
    assert (result.status, result.exit_code) == ("no_evidence", 5)  # every page is one passage
    assert any("are not in the stored text of their source" in notice for notice in result.metadata.notices)
