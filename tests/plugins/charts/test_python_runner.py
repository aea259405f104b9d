"""The runner `python`: what it hands to the sandbox, what it takes back, and that it may call one in a run."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import leadline
from leadline.contracts import Call
from leadline.errors import Unsupported
from leadline.plugin import sandbox, stage
from leadline.records import Blob, Chart, Code, Execution
from leadline.research_findings import FIGURES, QUESTION
from leadline.testing.context import FakeCall
from leadline.testing.fakes import fake_web
from leadline.testing.plugins import plugin
from leadline_plugins.charts.python import Python

HEAD = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
PNG = HEAD + bytes([0, 0, 2, 0, 0, 0, 1, 0])
CHART = Chart(
    id="1",
    title="港",
    chart_type="bar",
    rows=({"label": "a", "value": 1.5},),
    language="python",
    code="plt.bar(['a'], [1.5])",
    evidence_ids=("e1",),
)


def call_with(execution: Execution, asked: list[Code]) -> Any:
    async def execute(code: Code) -> Execution:
        asked.append(code)
        return execution

    call: Any = FakeCall()
    call.run = SimpleNamespace(execute=execute, settings=SimpleNamespace(charts=SimpleNamespace(timeout=7)))
    return call


def picture(name: str, data: bytes = PNG) -> Blob:
    return Blob(name=name, media_type="image/png", data=data)


async def test_the_code_and_the_rows_go_in_and_the_picture_comes_out() -> None:
    asked: list[Code] = []
    figure = await Python().draw(
        CHART, call_with(Execution(files=(picture("other.png", PNG + b"x"), picture("chart.png"))), asked)
    )
    assert (figure.media, figure.caption, figure.evidence_ids) == ({"image/png": PNG}, "港", ("e1",))
    assert figure.alt == "港: a: 1.5"
    files = {file.name: file.data for file in asked[0].files}
    assert (files["chart.py"].decode(), asked[0].seconds) == (CHART.code, 60)
    assert json.loads(files["rows.json"])["rows"] == [{"label": "a", "value": 1.5}]


@pytest.mark.parametrize(
    ("execution", "said"),
    [
        (Execution(exit_code=1, stderr="NameError: nonsense"), "ended with 1: NameError: nonsense"),
        (Execution(exit_code=124, stderr="[sandbox] stopped after 60 seconds"), "stopped after 60 seconds"),
        (Execution(), "saved no picture"),
        (Execution(files=(picture("chart.png", b"<svg onload=alert(1)>"),)), "saved no picture"),
        (Execution(files=(picture("chart.png", HEAD + bytes([0, 0, 0x60, 0] * 2)),)), "more than 40,000,000 pixels"),
        (Execution(files=(picture("chart.png", HEAD[:8] + bytes(20)),)), "the picture is broken"),
    ],
)
async def test_errors_of_the_code_are_reported(execution: Execution, said: str) -> None:
    with pytest.raises(Unsupported, match=said):
        await Python().draw(CHART, call_with(execution, []))


async def test_in_a_run_it_calls_the_sandbox_and_both_are_journalled(tmp_path: Path) -> None:
    ran: list[str] = []

    class Sandbox:
        async def execute(self, code: Code, call: Call, /) -> Execution:
            ran.append(code.language)
            return Execution(files=(picture("chart.png"),))

    class Draws:
        async def run(self, findings: Any, run: Any, /) -> None:
            assert (await run.draws("python"), await run.draws("data")) == (True, False)
            figures = await run.draw(CHART), await run.draw(CHART)
            assert [figure.media for figure in figures] == [{"image/png": PNG}] * 2
            findings[FIGURES] = figures[:1]

    draws = stage("For a test", needs=(QUESTION,), gives=(FIGURES,))(lambda: Draws())
    plugins = [
        fake_web(),
        plugin("draws", draws),
        plugin("pretend", sandbox("For a test")(lambda: Sandbox())),
    ]
    values = {
        "search.engines": ["fakeweb"],
        "read.fetchers": ["fakeweb"],
        "charts.runner": "python",
        "code.sandbox": "pretend",
        "pipeline": "mine",
        "pipelines": {"mine": {"stages": ["clarify", "draws"]}},
    }
    async with leadline.Client(plugins=plugins, folder=tmp_path / "r", cache=tmp_path / "c", set=values) as client:
        result = await client.research("How deep was the harbour measured at each sounding, in fathoms?")
    assert ran == ["python"]
    calls = json.loads((result.folder / "metadata.json").read_text())["calls"]
    assert (calls["draw/python"], calls["execute/pretend"]) == (1, 1)
