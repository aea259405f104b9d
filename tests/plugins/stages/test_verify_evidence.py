"""The pipeline `audited`: evidence is looked up before anything is written, and the audit decides."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import leadline
from leadline.findings import Findings
from leadline.plugin import map_stage, stage
from leadline.records import Evidence
from leadline.research_findings import EVIDENCE, REPORT
from leadline.testing.fakes import fake_web
from leadline.testing.plugins import plugin

ASKED = "Fathoms of the harbour measured at sounding 3"


def client(folder: Path, *more: Any, **values: Any) -> leadline.Client:
    settings = {
        "pipeline": "audited",
        "ai.providers": ["embedded"],
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


async def test_an_accepted_report_ends_complete_with_a_file_of_every_stage(tmp_path: Path) -> None:
    async with client(tmp_path) as runs:
        result = await runs.research(ASKED)
    assert (result.status, result.exit_code) == ("complete", 0), result.reason
    names = {path.name for path in result.folder.iterdir()}
    files = "clarify.json plan.json search_results.json evidence.json paragraphs.jsonl verify.json verification.md"
    assert names >= set(files.split())
    kept = json.loads((result.folder / "evidence.json").read_text())
    assert kept["verified"] == kept["passages"] > 0
    assert not kept["dropped"]
    assert result.metadata.audit["decides"] is True
    checks = json.loads((result.folder / "verify.json").read_text())
    assert (checks["passed"], checks["claims"]) == (None, {})
    assert "**Passages found, not judged**" in (result.folder / "verification.md").read_text()


async def test_a_passage_that_its_source_does_not_contain_reaches_no_writer(tmp_path: Path) -> None:
    stages: dict[str, Any] = {"pipelines.mine.extends": "audited", "pipelines.mine.after": {"extract": ["invents"]}}
    async with client(tmp_path, INVENTS, pipeline="mine", **stages) as runs:
        result = await runs.research(ASKED)
    kept = json.loads((result.folder / "evidence.json").read_text())
    assert kept["dropped"]
    assert all(row["quote"].startswith("Reportedly ") for row in kept["dropped"])
    assert (result.status, result.exit_code) == ("no_evidence", 5)  # every page is one passage
    assert any("are not in the stored text of their source" in notice for notice in result.metadata.notices)


async def test_a_rejected_report_fails_with_exit_code_3_and_stays_readable(tmp_path: Path) -> None:
    class Rewords:
        async def run(self, findings: Any, run: Any, /) -> None:
            report = findings[REPORT]
            (first, *_) = report.sections
            text = f"The survey was paid for by 77 brewers [@{report.evidence[0].id}]."
            findings[REPORT] = report.model_copy(
                update={"sections": (first.model_copy(update={"text": text, "quotes": False}),)}
            )

    rewords = plugin("rewords", stage("Rewords", needs=(REPORT,), gives=(REPORT,))(lambda: Rewords()))
    stages: dict[str, Any] = {"pipelines.mine.extends": "audited", "pipelines.mine.after": {"write": ["rewords"]}}
    async with client(tmp_path, rewords, pipeline="mine", **stages) as runs:
        result = await runs.research(ASKED)
    assert (result.status, result.exit_code) == ("failed", 3)
    assert result.reason == "rejected by the audit: 1 of 1 claims are not supported by what they cite"
    assert result.report is not None
    assert "77 brewers" in (result.folder / "report.md").read_text()
    assert "**Rejected**" in (result.folder / "verification.md").read_text()
    kept = json.loads((result.folder / "metadata.json").read_text())
    assert (kept["status"], kept["exit_code"]) == ("failed", 3)


async def test_the_gate_is_literal_and_ends_with_exit_code_2(tmp_path: Path) -> None:
    async with client(tmp_path) as runs:
        result = await runs.research("Depth of a port")
    assert (result.status, result.exit_code) == ("waiting", 2)
    assert json.loads((result.folder / "metadata.json").read_text())["exit_code"] == 2
