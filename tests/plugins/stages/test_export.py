"""The files of a report: none named is said in words, before the run where that can be told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import leadline
from leadline.errors import ConfigError
from leadline.plugin import PluginSettings, stage
from leadline.research_findings import REPORT
from leadline.testing.fakes import fake_web
from leadline.testing.plugins import plugin
from leadline_plugins.stages.export import ExportStage

WEB = {"search.engines": ["fakeweb"], "read.fetchers": ["fakeweb"], "report.formats": []}


def client(folder: Path, *plugins: Any, **settings: Any) -> leadline.Client:
    return leadline.Client(
        plugins=[fake_web(), *plugins], folder=folder / "runs", cache=folder / "cache", set=WEB | settings
    )


@pytest.mark.parametrize("name", ["export", "ship"])
async def test_a_pipeline_that_exports_into_no_format_is_refused_before_it_begins(name: str, tmp_path: Path) -> None:
    settings: dict[str, Any] = {}
    if name != "export":
        pipelines = {"mine": {"extends": "research", "replace": {"export": [name]}}}
        settings = {"pipeline": "mine", "pipelines": pipelines, f"plugins.{name}.use": "export"}
    async with client(tmp_path, **settings) as runs:
        with pytest.raises(ConfigError, match="report.formats: the value is empty, and a run needs one: .*markdown"):
            await runs.start("How deep is the harbour?")
    assert not (tmp_path / "runs").exists()


async def test_a_stage_that_was_built_on_it_says_so_too(tmp_path: Path) -> None:
    def make(settings: PluginSettings, context: Any) -> ExportStage:
        return ExportStage()

    ships = plugin("ships", stage("Ships", needs=(REPORT,))(make))
    pipelines = {"mine": {"extends": "research", "replace": {"export": ["ships"]}}}
    async with client(tmp_path, ships, pipeline="mine", pipelines=pipelines) as runs:
        result = await runs.research("How deep was the harbour measured at each sounding, in fathoms?")
    assert result.status == "failed"
    assert "report.formats: the value is empty" in result.reason
    assert "fault" not in result.reason
