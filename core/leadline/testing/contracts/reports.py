"""Contracts of synthesizers, report formatters, chart runners and sandboxes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from leadline._runtime.runs.folder import EVENTS, JOURNAL, LOCK
from leadline.citations import cited as cited_ids
from leadline.records import (
    Book,
    Chart,
    Code,
    Execution,
    Figure,
    Files,
    Report,
    Section,
    Synthesis,
    SynthesisRequest,
)
from leadline.runs import METADATA
from leadline.testing.context import FakeCall
from leadline.testing.contracts.base import PluginContract, Subject
from leadline.testing.contracts.checks import must
from leadline.testing.contracts.search import check_accepts
from leadline.testing.fakes import quoting

Running = Subject[Code, Execution]
_TAKEN = {JOURNAL, LOCK, EVENTS, METADATA}
_QUOTES = (
    "The harbour of Port Ellery is nine fathoms deep at the mole.",
    "A cable further out the lead brought up sand from twelve fathoms.",
    "Ships of more than seven fathoms were built there from 1871 on.",
)
_UNSAFE = "javascript:alert(1)"
_LINKS = f"[a link]({_UNSAFE}) <a href='{_UNSAFE}'>another</a>"
# The report and the evidence of the contracts: sections that quote one source, which has an unsafe link.
REPORT = quoting(*(f"{quote} [@e{n}] {_LINKS}" for n, quote in enumerate(_QUOTES, start=1)), quotes=_QUOTES)


class SynthesizerContract(PluginContract[SynthesisRequest, Synthesis]):
    """Contract of synthesizers. Set `tested`; fixtures: `new_call` if it uses more of its run than settings."""

    kind = "synthesizers"
    record = Synthesis
    verb = "synthesize"

    @pytest.fixture
    def requests(self) -> Sequence[SynthesisRequest]:
        """Return requests for a section, for all three, and for the last with the summary, from one book."""
        ids = tuple(item.id for item in REPORT.evidence)
        outline = tuple(Section(id=f"part-{n}", title=f"Depths, {n}", evidence_ids=ids) for n in range(3))
        book = Book(outline=outline, evidence=REPORT.evidence, sources=REPORT.sources)
        wanted = (("part-0",), ("part-0", "part-1", "part-2"), ("part-2", "summary"))
        question = "How deep is the harbour of Port Ellery?"
        return [SynthesisRequest(book=book, sections=names, question=question, language="en") for names in wanted]

    def check(self, request: SynthesisRequest, reply: Synthesis, call: FakeCall) -> None:
        """Check that the sections are those that were asked for and cite only evidence of the book."""
        names = [section.id for section in reply.sections]
        must(len({*names}) == len(names), f"returns a section twice: {names}")
        must({*names} <= {*request.sections}, f"returns {names}; asked for were {list(request.sections)}")
        must(
            {section.id for section in request.wanted} <= {*names}, f"returns only {names} of {list(request.sections)}"
        )
        known = {item.id for item in request.book.evidence}
        for section in reply.sections:
            cited = set(cited_ids(section.text or ""))
            must(cited <= known, f"cites evidence that is not in the book: {sorted(cited - known)}")
            must({*section.evidence_ids} <= known, f"lists evidence that is not in the book: {section.evidence_ids}")
            must(
                not (section.text or "").strip() or bool(cited) or section.id == "keywords",
                "returns text without a citation; every statement needs one",
            )

    async def test_without_evidence_it_says_nothing(
        self, subject: Subject[SynthesisRequest, Synthesis], requests: Sequence[SynthesisRequest]
    ) -> None:
        bare = requests[0].book.outline[0].model_copy(update={"evidence_ids": ()})
        await subject.failure_or_reply(requests[0].model_copy(update={"book": Book(outline=(bare,))}))


_LINK = re.compile(r"""\b(?:href|src)\s*=\s*["']?\s*javascript:""", re.IGNORECASE)
_SAFE = "link only to addresses of http, https and mailto (`leadline.rendering.safe_url`)"


class ReportFormatterContract(PluginContract[Report, Files]):
    """Contract of report formatters."""

    kind = "report_formatters"
    record = Files
    verb = "format"

    @pytest.fixture
    def requests(self) -> Sequence[Report]:
        """Return reports of one, two and three sections."""
        unsafe = REPORT.sources[0].hit.model_copy(update={"url": _UNSAFE, "title": "The pilot & <chart>"})
        source = REPORT.sources[0].model_copy(update={"hit": unsafe})
        parts = [part.model_copy(update={"title": f"{part.title} & <more>"}) for part in REPORT.sections]
        return [
            REPORT.model_copy(update={"title": f"Depths {n}", "sections": tuple(parts[:n]), "sources": (source,)})
            for n in (1, 2, 3)
        ]

    def check(self, request: Report, reply: Files, call: FakeCall) -> None:
        """Check that there are files with names inside the folder of the run that do not replace Leadline's files."""
        must(bool(reply.files), "returns no file")
        names = [file.name for file in reply.files]
        must(len({*names}) == len(names), f"uses a file name twice: {names}")
        for name in names:
            path = PurePosixPath(name.replace("\\", "/"))
            must(
                bool(path.name) and not path.is_absolute() and ".." not in path.parts,
                f"returns a file name outside the folder of the run: {name!r}",
            )
            must(name not in _TAKEN, f"replaces a file of Leadline: {name}")
        for file in reply.files:
            is_markup = any(kind in file.media_type for kind in ("html", "xml", "svg"))
            link = _LINK.search(file.data.decode("utf-8", "replace")) if is_markup else None
            must(link is None, f"{file.name} has a link that runs a script, {link and link[0]!r:.80}: {_SAFE}")

    async def test_it_writes_nothing_itself(
        self,
        subject: Subject[Report, Files],
        requests: Sequence[Report],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        folder = tmp_path / "folder"
        folder.mkdir()
        monkeypatch.chdir(folder)
        await subject.reply(requests[0])
        must(not list(folder.iterdir()), "writes files; return them, and Leadline writes them")


_BEGINS = {"image/png": b"\x89PNG\r\n\x1a\n", "image/jpeg": b"\xff\xd8\xff", "image/svg+xml": b"<"}
_ROWS = ({"label": "Leith", "value": 3.5}, {"label": "Wick & <Oban>", "value": 12.0}, {"label": "港", "value": 7.0})


class ChartRunnerContract(PluginContract[Chart, Figure]):
    """Contract of chart runners. Set `tested`; fixtures: `requests` if it does not draw bars from `data`."""

    kind = "chart_runners"
    record = Figure
    verb = "draw"

    @pytest.fixture
    def requests(self) -> Sequence[Chart]:
        """Return charts of bars."""
        common: dict[str, Any] = {"chart_type": "bar", "y_label": "Depth", "unit": "fathoms", "source": "The pilot"}
        return [
            Chart(id=f"c{n}", title=f"Depths {n}", rows=_ROWS[:n], evidence_ids=("e1",), **common) for n in (1, 2, 3)
        ]

    def check(self, request: Chart, reply: Figure, call: FakeCall) -> None:
        """Check that the figure has the requested id, a picture, and an alternative text."""
        must(reply.id == request.id, f"returns figure {reply.id!r} instead of {request.id!r}")
        pictures = {kind: data for kind, data in reply.media.items() if kind in _BEGINS}
        must(bool(pictures), f"returns no picture: its media are {sorted(reply.media)}; add one of {sorted(_BEGINS)}")
        for kind, data in pictures.items():
            must(data.lstrip().startswith(_BEGINS[kind]), f"returns data that is not {kind}: {data[:20]!r}")
        must(bool(reply.alt.strip()), "returns no `alt`; describe the picture in words")

    async def test_it_says_what_it_accepts(self, plugin: Any, requests: Sequence[Chart]) -> None:
        check_accepts(plugin, [chart.language for chart in requests])

    async def test_a_chart_that_cannot_be_drawn_is_a_failure_and_no_fault(
        self, subject: Subject[Chart, Figure], requests: Sequence[Chart]
    ) -> None:
        odd: Sequence[dict[str, Any]] = (
            {"rows": (), "code": ""},
            {"rows": ({"label": None, "value": "many"},), "code": ")"},
            {"chart_type": "no-such-form", "code": "1 / 0"},
        )
        for changes in odd:
            await subject.failure_or_reply(requests[0].model_copy(update=changes))


class SandboxContract(PluginContract[Code, Execution]):
    """Contract of sandboxes. Set `tested`; fixtures: `requests` and `failing` if it does not run Python."""

    kind = "sandboxes"
    record = Execution
    verb = "execute"
    steady = False  # its seconds differ

    @pytest.fixture
    def requests(self) -> Sequence[Code]:
        """Return code that succeeds."""
        return [Code(language="python", text=f"print({n} * 7)") for n in range(3)]

    @pytest.fixture
    def failing(self) -> Sequence[Code]:
        """Return code that fails; its result is an `Execution` with an `exit_code` other than 0."""
        return [Code(language="python", text=text) for text in ("1 / 0", "def f(:", "raise SystemExit(3)")]

    def check(self, request: Code, reply: Execution, call: FakeCall) -> None:
        """Check the reported time."""
        must(reply.seconds >= 0, f"reports {reply.seconds} s")

    async def test_code_that_ends_well_ends_with_0(self, subject: Running, requests: Sequence[Code]) -> None:
        for code in requests:
            reply = await subject.reply(code)
            must(reply.exit_code == 0, f"exits with {reply.exit_code} for {code.text!r}: {reply.stderr[-200:]}")

    async def test_code_that_fails_is_an_execution(self, subject: Running, failing: Sequence[Code]) -> None:
        for code in failing:
            reply = await subject.reply(code)
            must(reply.exit_code != 0, f"exits with 0 for code that fails: {code.text!r}")

    async def test_another_language_is_unsupported(self, subject: Running, requests: Sequence[Code]) -> None:
        result = await subject.failure_or_reply(requests[0].model_copy(update={"language": "no-such-language"}))
        must(not isinstance(result, Execution) or result.exit_code != 0, "runs code in an unknown language")
