"""The first error of an observer is in the metadata and the summary, even one at the end of the run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import leadline
from leadline.commands.outcome import summary
from leadline.plugin import observer
from leadline.records import Event
from leadline.runs import Metadata
from leadline.testing.plugins import plugin


class Breaks:
    def __init__(self, at: str) -> None:
        self.at = at

    async def observe(self, event: Event, /) -> None:
        if event.kind == self.at:
            raise RuntimeError(f"no {self.at}")


@pytest.mark.parametrize("at", ["run.started", "run.finished"])
async def test_an_error_of_an_observer_reaches_everybody(at: str, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "fathom.md").write_text("A fathom is six feet long.\n")
    offer = observer("x")(lambda: Breaks(at))
    async with leadline.Client(
        docs=tmp_path / "docs",
        folder=tmp_path / "runs",
        set={"observers": ["raising", "jsonl"], "ai.providers": ["embedded"]},
        plugins=[plugin("raising", offer)],
    ) as client:
        result = await client.research("How long is a fathom?")
    said = f"observer raising: RuntimeError: no {at}"
    lines = (result.folder / "events.jsonl").read_text().splitlines()
    logged = [event["data"]["message"] for event in map(json.loads, lines) if event["kind"] == "error"]
    assert logged == ([said] if at == "run.started" else [])  # `run.finished` is the last line
    assert [error.message for error in result.metadata.errors] == [said]
    stored = Metadata.model_validate_json((result.folder / "metadata.json").read_text())
    assert [error.message for error in stored.errors] == [said]
    assert f"Error     {said}\n" in summary(result.metadata, result.folder)
