"""The contracts of charts and of code that is run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from leadline.door.secrets import Secrets
from leadline.records import Chart, Code, Execution, Figure
from leadline.testing.context import FakeCall
from leadline.testing.contracts.base import PluginContract
from leadline.testing.contracts.conduct import must
from leadline.testing.contracts.pages import check_accepts

_BEGINS = {"image/png": b"\x89PNG\r\n\x1a\n", "image/jpeg": b"\xff\xd8\xff", "image/svg+xml": b"<"}
_ROWS = ({"label": "Leith", "value": 3.5}, {"label": "Wick & <Oban>", "value": 12.0}, {"label": "港", "value": 7.0})


class ChartRunnerContract(PluginContract[Chart, Figure]):
    """What every chart runner does. Fixture: `offer`; `requests`, where it does not draw bars from `data`."""

    kind = "chart_runners"
    record = Figure
    verb = "draw"

    @pytest.fixture
    def requests(self) -> Sequence[Chart]:
        """Return charts of bars."""
        told: dict[str, Any] = {"chart_type": "bar", "y_label": "Depth", "unit": "fathoms", "source": "The pilot"}
        return [Chart(id=f"c{n}", title=f"Depths {n}", rows=_ROWS[:n], evidence_ids=("e1",), **told) for n in (1, 2, 3)]

    def check(self, request: Chart, reply: Figure, call: FakeCall) -> None:
        """Check that it is the figure that was asked for, and a picture with words for those who cannot see it."""
        must(reply.id == request.id, f"gives figure {reply.id!r} where {request.id!r} was asked for")
        pictures = {kind: data for kind, data in reply.media.items() if kind in _BEGINS}
        must(
            bool(pictures), f"gives no picture: its media are {sorted(reply.media)}, one of {sorted(_BEGINS)} is needed"
        )
        for kind, data in pictures.items():
            must(data.lstrip().startswith(_BEGINS[kind]), f"gives what is no {kind}: {data[:20]!r}")
        must(bool(reply.alt.strip()), "gives no `alt`: what the picture shows, in words")

    async def test_it_says_what_it_accepts(self, plugin: Any, requests: Sequence[Chart]) -> None:
        check_accepts(plugin, [chart.language for chart in requests])

    async def test_a_chart_that_cannot_be_drawn_is_a_failure_and_no_fault(
        self, plugin: Any, requests: Sequence[Chart], new_call: Callable[[], FakeCall], secrets: Secrets
    ) -> None:
        odd: Sequence[dict[str, Any]] = (
            {"rows": (), "code": ""},
            {"rows": ({"label": None, "value": "many"},), "code": ")"},
            {"chart_type": "no-such-form", "code": "1 / 0"},
        )
        for changes in odd:
            await self.failure_or_reply(plugin, requests[0].model_copy(update=changes), new_call(), secrets)


class SandboxContract(PluginContract[Code, Execution]):
    """What every sandbox does. Fixture: `offer`; `requests` and `failing`, where it does not run Python."""

    kind = "sandboxes"
    record = Execution
    verb = "execute"
    steady = False  # its seconds differ

    @pytest.fixture
    def requests(self) -> Sequence[Code]:
        """Return code that ends well."""
        return [Code(language="python", text=f"print({n} * 7)") for n in range(3)]

    @pytest.fixture
    def failing(self) -> Sequence[Code]:
        """Return code that fails: that is an execution too, whose `exit_code` is not 0."""
        return [Code(language="python", text=text) for text in ("1 / 0", "def f(:", "raise SystemExit(3)")]

    def check(self, request: Code, reply: Execution, call: FakeCall) -> None:
        """Check the time it took."""
        must(reply.seconds >= 0, f"says that it took {reply.seconds} s")

    async def test_code_that_ends_well_ends_with_0(
        self, plugin: Any, requests: Sequence[Code], new_call: Callable[[], FakeCall], secrets: Secrets
    ) -> None:
        for code in requests:
            reply = await self.reply(plugin, code, new_call(), secrets)
            must(reply.exit_code == 0, f"ends with {reply.exit_code}: {code.text!r}: {reply.stderr[-200:]}")

    async def test_code_that_fails_is_an_execution(
        self, plugin: Any, failing: Sequence[Code], new_call: Callable[[], FakeCall], secrets: Secrets
    ) -> None:
        for code in failing:
            reply = await self.reply(plugin, code, new_call(), secrets)
            must(reply.exit_code != 0, f"says that all went well: {code.text!r}")

    async def test_another_language_is_unsupported(
        self, plugin: Any, requests: Sequence[Code], new_call: Callable[[], FakeCall], secrets: Secrets
    ) -> None:
        code = requests[0].model_copy(update={"language": "no-such-language"})
        found = await self.failure_or_reply(plugin, code, new_call(), secrets)
        must(not isinstance(found, Execution) or found.exit_code != 0, "runs a language that there is not")
