"""Runs of pipelines that never search: complete without sources, and exported in every format."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import leadline
from leadline.commands.outcome import summary
from leadline.contracts import StageRun
from leadline.findings import Findings
from leadline.plugin import stage
from leadline.records import Report, Section
from leadline.research_findings import QUESTION, REPORT, SOURCES
from leadline.testing.fakes import fake_web
from leadline.testing.plugins import plugin


class Does:
    """A stage made of a function."""

    def __init__(self, do: Callable[[Findings, StageRun], Awaitable[None]]) -> None:
        self._do = do

    async def run(self, findings: Findings, run: StageRun, /) -> None:
        """Call the function."""
        await self._do(findings, run)


def greeting(text: str, **offer: Any) -> Any:
    """Return the plugin of a stage that answers with a text."""

    async def do(findings: Findings, run: StageRun) -> None:
        sections = (Section(id="answer", title="Answer", text=text),)
        findings[REPORT] = Report(
            title=findings[QUESTION].text, language="en", sections=sections, sources=(), evidence=()
        )

    made = stage("Greets", needs=(QUESTION,), gives=(REPORT,), **offer)(lambda: Does(do))
    return plugin("greet", made)


def client(folder: Path, *plugins: Any) -> leadline.Client:
    values = {
        "search.engines": ["fakeweb"],
        "pipelines.greet.stages": ["greet", "export"],
        "report.formats": ["markdown", "html", "json", "latex", "bibtex", "csl"],
    }
    return leadline.Client(
        plugins=[fake_web(), *plugins], folder=folder / "runs", cache=folder / "cache", set=values, pipeline="greet"
    )


async def test_a_report_needs_no_sources_if_no_stage_finds_any(tmp_path: Path) -> None:
    async with client(tmp_path, greeting("Good morning.")) as runs:
        result = await runs.research("Hello?")
        assert (result.status, result.reason, result.exit_code) == ("complete", "", 0)
        again = await runs.replay(result.folder)
    assert again.report == result.report
    written = (result.folder / "report.md").read_text()
    assert written == "# Hello?\n\n## Answer\n\nGood morning.\n"
    page = (result.folder / "report.html").read_text()
    assert "Good morning." in page
    assert "Cited Sources" not in page
    assert json.loads((result.folder / "report.json").read_text())["sources"] == []
    assert {"report.tex", "references.bib"} <= {path.name for path in result.files}
    shown = summary(result.metadata, result.folder)
    assert "complete in" in shown
    assert "Checks" not in shown


async def test_an_empty_answer_fails_the_run(tmp_path: Path) -> None:
    async with client(tmp_path, greeting("  ")) as runs:
        result = await runs.research("Hello?")
    assert (result.status, result.reason) == ("failed", "the report is empty: no section has a text")


@pytest.mark.parametrize("keys", [{"may_give": (SOURCES,)}])
async def test_a_report_without_sources_is_no_evidence_if_a_stage_may_find_some(
    tmp_path: Path, keys: dict[str, Any]
) -> None:
    async with client(tmp_path, greeting("Good morning.", **keys)) as runs:
        result = await runs.research("Hello?")
    assert (result.status, result.reason) == ("no_evidence", "the report has no sources")
    assert not (result.folder / "report.md").exists()
