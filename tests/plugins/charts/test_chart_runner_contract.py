"""The built-in chart runners under the contract of their kind; `python` over a sandbox that has drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from leadline._hosting.catalog import PluginCatalog
from leadline.hookspecs import Offer
from leadline.records import Blob, Chart, Code, Execution
from leadline.testing.context import FakeCall, FakeRun
from leadline.testing.contracts import ChartRunnerContract

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(20)


class TestMatplotlib(ChartRunnerContract):
    @pytest.fixture
    def offer(self) -> Offer[Any]:
        return PluginCatalog.discover().offer("chart_runners", "matplotlib")


class SandboxRun(FakeRun):
    """A run whose sandbox has drawn, unless the code is none."""

    async def execute(self, code: Code) -> Execution:
        text = next(file.data for file in code.files if file.name == "chart.py").decode()
        if text != "draw()":
            return Execution(stderr="SyntaxError", exit_code=1)
        return Execution(files=(Blob(name="chart.png", media_type="image/png", data=PNG),))


class TestPython(ChartRunnerContract):
    @pytest.fixture
    def offer(self) -> Offer[Any]:
        return PluginCatalog.discover().offer("chart_runners", "python")

    @pytest.fixture
    def requests(self) -> Sequence[Chart]:
        rows = ({"label": "Leith", "value": 3.5},)
        return [Chart(id=name, title="Depths", chart_type="bar", language="python", code="draw()", rows=rows)
                for name in ("a", "b")]  # fmt: skip

    @pytest.fixture
    def new_call(self) -> Callable[[], FakeCall]:
        def make() -> FakeCall:
            call = FakeCall()
            call.run = SandboxRun()
            return call

        return make
