"""The stage `chart`: planned from passages, checked, drawn, repaired, given up; then in a whole run."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import leadline
from leadline.citations import cite
from leadline.contracts import Call
from leadline.errors import CallFailed, Unsupported
from leadline.plugin import ai_provider, stage
from leadline.records import (
    Book,
    Chart,
    ChatReply,
    ChatRequest,
    Document,
    Evidence,
    Failure,
    Figure,
    Hit,
    Message,
    ModelTraits,
    Section,
    Source,
)
from leadline.research_findings import BOOK, CHARTS, EVIDENCE, FIGURES, PLAN, QUESTION, SECTIONS, SOURCES, Question
from leadline.settings import Charts, Settings
from leadline.testing.context import FakeRun, fake_findings
from leadline.testing.fakes import fake_web
from leadline.testing.plugins import plugin
from leadline_plugins.charts.planning import ChartPlan, ChartPlanRequest, ChartRepairRequest, PlannedChart
from leadline_plugins.stages.chart import ChartSettings, ChartStage

PNG = b"\x89PNG\r\n\x1a\n"
TEXTS = (
    "Oban has 12 ships and Wick has 7 ships.",
    "Three quarters of the ships of Leith sank in 2021, and twenty million fish were caught.",
    "大阪港有三分之二的船只为渔船，渔获达2千万条。",
    "Nobody counted the ships of Stromness.",
)
SHIPS = {"title": "Ships", "type": "bar", "unit": "ships", "x_label": "Port", "y_label": "Ships", "section": 1}
ROWS = (
    {"label": "Oban", "series": "", "value": 12, "passage": 1},
    {"label": "Wick", "series": "", "value": 7, "passage": 1},
)


def source(text: str, name: str) -> Source:
    return Source(id=name, hit=Hit(url=f"https://{name}.example/", title=f"Book {name}"), document=Document(text=text))


def evidence(text: str, name: str, of: str) -> Evidence:
    told = {"id": name, "source_id": of, "quote": text, "span": (0, len(text)), "claim": "", "score": 1.0}
    return Evidence.model_validate(told)


def material(*texts: str) -> dict[Any, Any]:
    """Return findings with a source and a passage for each text."""
    names = [f"e{number}" for number in range(1, len(texts) + 1)]
    return {
        QUESTION: Question(text="How many ships are there?", language="en"),
        BOOK: Book(
            outline=(Section(id="ships", title="Ships", evidence_ids=tuple(names)),),
            evidence=tuple(evidence(text, name, f"s{name[1:]}") for text, name in zip(texts, names, strict=True)),
            sources=tuple(source(text, f"s{number}") for number, text in enumerate(texts, start=1)),
        ),
        SOURCES: tuple(source(text, f"s{number}") for number, text in enumerate(texts, start=1)),
    }


def chart(*rows: Any, **more: Any) -> dict[str, Any]:
    return {**SHIPS, "rows": list(rows or ROWS), **more}


class Scripted(FakeRun):
    """A run with a scripted model and a runner that fails for some titles."""

    def __init__(
        self,
        plan: Sequence[Any] = (),
        repair: Callable[[ChartRepairRequest], Any] | None = None,
        fails: Sequence[str] = (),
        draws: Sequence[str] = ("data",),
        modelled: bool = True,
        **charts: Any,
    ) -> None:
        super().__init__(Settings(charts=Charts(**charts)))
        self.plan, self.repair, self.fails, self.languages, self.modelled = plan, repair, fails, draws, modelled
        self.asked: list[Any] = []
        self.drawn: list[Chart] = []

    async def by_chat(self, task: str, role: str = "task") -> bool:
        return self.modelled

    async def draws(self, language: str) -> bool:
        return language in self.languages

    async def perform(self, task: Any) -> Any:
        self.asked.append(task.inputs)
        if isinstance(task.inputs, ChartRepairRequest):
            if self.repair is None:
                raise failed("the model is gone")
            return PlannedChart.model_validate(self.repair(task.inputs))
        return ChartPlan.model_validate({"charts": list(self.plan)})

    async def draw(self, chart: Chart) -> Figure:
        self.drawn.append(chart)
        if chart.title in self.fails:
            raise failed(f"cannot draw {chart.title}")
        media = {"image/png": PNG}
        return Figure(id=chart.id, caption=chart.title, alt="", media=media, evidence_ids=chart.evidence_ids)


def failed(message: str) -> CallFailed:
    return CallFailed(Failure(kind="draw", provider="", category="BUSINESS", type="Unsupported", message=message))


async def made(run: Scripted, values: dict[Any, Any] | None = None, **settings: Any) -> dict[str, Any]:
    """Return what the stage wrote, by the names of keys."""
    findings = fake_findings(ChartStage, material(*TEXTS) if values is None else values)
    await ChartStage(ChartSettings(**settings)).run(findings, run)  # type: ignore[arg-type]
    return {"figures": findings.patch.get(FIGURES, ()), "charts": findings.patch.get(CHARTS, ())}


async def test_figures_are_in_the_order_of_their_sections() -> None:
    values = material(*TEXTS)
    more = (*values[BOOK].outline, Section(id="more", title="More"))
    values[BOOK] = values[BOOK].model_copy(update={"outline": more})
    run = Scripted([chart(title="B", section=2), chart(title="A", section=1), chart(title="C", section=0)])
    found = await made(run, values)
    assert [figure.caption for figure in found["figures"]] == ["A", "B", "C"]


async def test_a_planned_chart_is_drawn_with_its_passages_its_source_and_its_section() -> None:
    run = Scripted([chart()])
    wrote = await made(run)
    (figure,) = wrote["figures"]
    assert (figure.id, figure.evidence_ids, figure.section_id) == ("chart-1", ("e1",), "ships")
    (drawn,) = run.drawn
    assert drawn.source == "Source: Book s1"
    assert drawn.rows[0] == {"label": "Oban", "value": 12.0, "evidence_id": "e1"}
    assert (wrote["charts"], run.notices) == ((drawn,), [])


async def test_the_planner_sees_passages_with_two_numbers_in_digits_or_words() -> None:
    run = Scripted()
    await made(run)
    (request,) = run.asked
    text = ChartPlanRequest.as_text(request)
    assert all(f"[{number}] {shown}" in text for number, shown in enumerate(TEXTS[:3], start=1))
    assert TEXTS[3] not in text
    assert "Limit: 5 charts" in text
    assert "# Source: s2.example: Book s2" in text
    assert "1. Ships" in text


async def test_passages_are_shown_within_a_budget_the_best_first() -> None:
    texts = [f"Port {number} has {number} ships and {number + 1} boats. " + "word " * 900 for number in range(2, 9)]
    run = Scripted()
    await made(run, material(*texts))
    assert run.asked[0].best_first == ("e1", "e2", "e3")


async def test_a_row_whose_value_is_not_in_its_passage_is_left_out_with_a_notice() -> None:
    run = Scripted([chart(*ROWS, {"label": "Leith", "value": 76, "passage": 2})])
    await made(run)
    assert [len(one.rows) for one in run.drawn] == [2]
    assert run.notices == [
        "the chart 'Ships' was drawn without rows that its passages do not state: "
        "the value 76 ships of 'Leith' is not in its passage"
    ]


async def test_number_words_are_values() -> None:
    rows = (
        {"label": "Leith", "value": 75, "passage": 2},
        {"label": "大阪", "value": 66.7, "passage": 3},
    )
    run = Scripted([chart(*rows, unit="%"), chart(*(row | {"value": 20} for row in rows), unit="million fish")])
    await made(run)
    assert [len(one.rows) for one in run.drawn] == [2, 2]


async def test_a_chart_with_too_few_rows_is_repaired_once_with_the_error() -> None:
    run = Scripted([chart({"label": "Oban", "value": 13, "passage": 1}, ROWS[1])], lambda request: chart())
    wrote = await made(run)
    assert "the value 13 ships of 'Oban' is not in its passage" in run.asked[1].error
    assert run.asked[1].as_text().endswith(run.asked[1].error)
    assert len(wrote["figures"]) == 1
    assert "was corrected before it was drawn: it has 1 of at least 2 rows" in run.notices[0]
    assert wrote["charts"][0].refused == (run.asked[1].error,)


async def test_the_error_of_the_runner_is_passed_to_the_repair() -> None:
    run = Scripted([chart(title="Wrong")], lambda request: chart(title="Right"), fails=["Wrong"])
    wrote = await made(run)
    assert run.asked[1].error == "cannot draw Wrong"
    assert [figure.caption for figure in wrote["figures"]] == ["Right"]


@pytest.mark.parametrize("repair", [None, lambda request: chart(rows=[]), lambda request: chart(ROWS[0])])
async def test_a_chart_that_stays_wrong_is_kept_with_the_reason(repair: Any) -> None:
    run = Scripted([chart(ROWS[1])], repair)
    wrote = await made(run)
    assert (wrote["figures"], run.drawn, len(run.asked)) == ((), [], 2)
    assert wrote["charts"][0].refused[0].startswith("it has 1 of at least 2 rows")
    assert run.notices[0].startswith("the chart 'Ships' was not drawn: it has 1 of at least 2 rows")


async def test_after_two_failures_in_a_row_the_rest_is_skipped() -> None:
    titles = ["good", "bad", "good too", "bad 1", "bad 2", "never"]
    run = Scripted(
        [chart(title=title) for title in titles],
        lambda request: request.chart.model_dump(),
        fails=["bad", "bad 1", "bad 2"],
        max=6,
    )
    wrote = await made(run)
    assert [figure.id for figure in wrote["figures"]] == ["chart-1", "chart-3"]
    assert "never" not in {one.title for one in run.drawn}
    assert run.notices[-1] == "1 more charts were skipped after 2 failures in a row"


async def test_no_more_charts_are_drawn_than_the_settings_allow() -> None:
    run = Scripted([chart(title=str(number)) for number in range(4)], max=2)
    assert len((await made(run))["figures"]) == 2


@pytest.mark.parametrize("mode", ["auto", "on"])
async def test_without_a_runner_no_plan_is_paid_for(mode: str) -> None:
    run = Scripted([chart()], draws=())
    assert await made(run, mode=mode) == {"figures": (), "charts": ()}
    assert run.asked == []
    assert run.notices == [
        "charts were skipped: there is no chart runner (leadline plugins install 'leadline[charts]')"
    ]


@pytest.mark.parametrize(
    ("run", "settings", "said"),
    [
        (Scripted([chart()]), {"mode": "off"}, []),
        (Scripted([chart()], max=0), {"mode": "on"}, []),
        (Scripted([chart()], modelled=False), {}, []),
        (Scripted([chart()], modelled=False), {"mode": "on"}, ["no charts were drawn: no language model is set up"]),
    ],
)
async def test_nothing_is_asked_where_charts_are_off_or_have_no_material(
    run: Scripted, settings: Any, said: list[str]
) -> None:
    await made(run, **settings)
    assert (run.asked, run.notices) == ([], said)


async def test_passages_without_numbers_are_a_notice_if_charts_are_on() -> None:
    run = Scripted([chart()])
    await made(run, material("Nobody counted."), mode="on")
    assert run.notices == ["no charts were drawn: the passages have no numbers"]


async def test_a_runner_of_python_gets_the_code_and_the_rows() -> None:
    code = "plt.bar([row['label'] for row in rows], [row['value'] for row in rows])"
    run = Scripted([chart(code=code)], draws=("python",))
    await made(run)
    assert "Drawn by: Python" in run.asked[0].as_text()
    assert [(one.language, one.code, len(one.rows)) for one in run.drawn] == [("python", code, 2)]


async def test_scatter_and_timeline_use_label_and_series() -> None:
    scatter = chart({"label": "12", "series": "Oban", "value": 7, "passage": 1}, {**ROWS[1], "label": "7"})
    timeline = {"label": "2021", "series": "Ships sank", "value": None, "passage": 2}
    run = Scripted([scatter | {"type": "scatter"}, chart(timeline, type="timeline")])
    await made(run)
    assert run.drawn[0].rows[0] == {"label": "Oban", "x": 12.0, "value": 7.0, "evidence_id": "e1"}
    assert run.drawn[1].rows == ({"label": "Ships sank", "date": "2021", "evidence_id": "e2"},)


# --- a whole run -----------------------------------------------------------------------------------------------------


class Model:
    """Plans one chart of the passages that it reads in its prompt; every other task falls to the algorithms."""

    def __init__(self) -> None:
        self.prompts: list[str] = []

    def traits(self, model: str, /) -> ModelTraits:
        return ModelTraits()

    async def chat(self, request: ChatRequest, call: Call, /) -> ChatReply:
        if call.task != "chart_plan":
            raise Unsupported("for charts only")
        self.prompts.append("\n".join(message.text for message in request.messages))
        number = int(re.findall(r"\[(\d+)\] Oban", self.prompts[-1])[0])
        reply = {"charts": [chart(*({**row, "passage": number} for row in ROWS), code="")]}
        return ChatReply(message=Message(role="assistant", text=json.dumps(reply)))


class Found:
    """A stage that finds what the tests need."""

    async def run(self, findings: Any, run: Any, /) -> None:
        values = material(*TEXTS)
        text = "\n\n".join(f"Paragraph {item.id}. {cite(item.id)}" for item in values[BOOK].evidence)
        findings[BOOK], findings[SOURCES], findings[EVIDENCE] = values[BOOK], values[SOURCES], values[BOOK].evidence
        findings[SECTIONS] = (values[BOOK].outline[0].model_copy(update={"text": text}),)


async def test_a_chart_stands_in_the_report_after_the_paragraph_that_cites_it(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra `charts` is not installed")
    model = Model()
    found = stage("For a test", needs=(PLAN,), gives=(BOOK, SECTIONS, SOURCES, EVIDENCE))(lambda: Found())
    plugins = [
        fake_web(),
        plugin("scripted", ai_provider("For a test")(lambda: model)),
        plugin("found", found),
    ]
    values = {
        "ai.providers": ["embedded"],
        "ai.tasks": {"chart_plan": "scripted"},
        "pipeline": "mine",
        "pipelines": {"mine": {"stages": ["clarify", "plan", "found", "chart", "write"]}},
    }
    async with leadline.Client(plugins=plugins, folder=tmp_path / "r", cache=tmp_path / "c", set=values) as client:
        result = await client.research("How many ships are there?")
    assert result.report is not None
    (figure,) = result.report.figures
    assert figure.media["image/png"].startswith(PNG)
    texts = [section.text or "" for section in result.report.sections]
    assert any(f"Paragraph e1. {cite('e1')}\n\n![](figure:chart-1)" in text for text in texts)
    assert '"type": "bar"' in model.prompts[0]
    assert json.loads((result.folder / "charts.json").read_text())[0]["rows"][0]["evidence_id"] == "e1"
