"""What is told of a run reaches its report, also what was said last."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from leadline.records import Blob, Document, Files, Hit, Notice, Report, Source
from leadline.research_findings import REPORT
from leadline_plugins.stages.export import ExportStage
from leadline_plugins.writing.methodology import with_notices

LATE = "8 of 23 claims were judged by words, not by the model (it said nothing of them)"


def made(**metadata: Any) -> Report:
    source = Source(id="s1", hit=Hit(url="https://example.org/"), document=Document(text="Deep."))
    return Report(title="A", language="en", sections=(), sources=(source,), evidence=(), metadata=metadata)


class Run:
    """A run that renders nothing, and keeps what it was to render."""

    settings = SimpleNamespace(report=SimpleNamespace(formats=("markdown",)))
    models = ()
    finds_sources = True
    notices = (LATE,)

    def __init__(self) -> None:
        self.rendered: list[Report] = []

    async def each(self, items: Any, do: Any) -> None:
        for item in items:
            await do(item)

    async def format(self, report: Report, name: str) -> Files:
        self.rendered.append(report)
        return Files(files=(Blob(name="report.md", media_type="text/markdown", data=b"A"),))

    async def save(self, file: Blob) -> None:
        return None


async def test_a_notice_of_the_verification_is_in_the_report() -> None:
    run: Any = Run()
    findings: Any = {REPORT: made(method={"queries": [], "notices": ["it was late"]})}
    await ExportStage().run(findings, run)
    facts: Any = run.rendered[0].metadata["method"]
    assert facts == {"queries": [], "notices": [Notice(LATE).data()]}


def test_a_report_without_facts_of_its_run_has_none_of_what_was_told() -> None:
    assert with_notices(made(), [Notice(LATE)]).metadata == {}
