"""The stage `chart` in whole runs: planned by a scripted model, held against the evidence, drawn, given up."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import leadline
from leadline.citations import cite
from leadline.contracts import Call
from leadline.errors import Unsupported
from leadline.findings import EVIDENCE, SECTIONS
from leadline.hookspecs import Offer, PluginSettings, StageOffer
from leadline.records import Chart, ChatReply, ChatRequest, Figure, Message, ModelTraits, Section
from leadline.testing.plugins import plugin
from leadline.testing.web import fake_web

ASKED = "How deep was the harbour measured at each sounding, in fathoms?"
WEB = {"search.engines": ["fakeweb"], "read.fetchers": ["fakeweb"], "retry.base": 0, "retry.attempts": 1}
PNG = b"\x89PNG\r\n\x1a\n"


class Model:
    """Plans charts by a function of the evidence it is shown; every other task falls to the algorithms."""

    def __init__(
        self,
        plan: Callable[[Any], Any],
        repair: Callable[[Any], Any] | None,
        verify: Callable[[Any], Any] | None = None,
    ) -> None:
        self.replies = {"chart_plan": plan, "chart_repair": repair or (lambda inputs: inputs["chart"])}
        if verify:
            self.replies["verify_claim"] = verify
        self.asked: list[str] = []
        self.now = self.at_once = 0

    def traits(self, model: str, /) -> ModelTraits:
        return ModelTraits()

    async def chat(self, request: ChatRequest, call: Call, /) -> ChatReply:
        if call.task not in self.replies:
            raise Unsupported("for charts only")
        self.asked.append(call.task)
        self.now += 1
        self.at_once = max(self.at_once, self.now)
        await asyncio.sleep(0.05)
        self.now -= 1
        text = request.messages[1].text
        inputs = json.loads(text[text.index("{") : text.rindex("}") + 1].replace("<\\/", "</"))
        return ChatReply(message=Message(role="assistant", text=json.dumps(self.replies[call.task](inputs))))


class Drawer:
    """Draws a picture of the title; fails for those it is told to."""

    def __init__(self, fails: Sequence[str]) -> None:
        self.fails = list(fails)
        self.drawn: list[Chart] = []

    def accepts(self, language: str, /) -> bool:
        return language == "data"

    async def draw(self, chart: Chart, call: Call, /) -> Figure:
        self.drawn.append(chart)
        if chart.title in self.fails:
            raise Unsupported(f"cannot draw {chart.title}")
        return Figure(
            id=chart.id, caption=chart.title, alt="alt", evidence_ids=chart.evidence_ids, media={"image/png": PNG}
        )


def depths(inputs: Any, title: str = "Depths", change: int = 0, count: int = 3, at: int = 0) -> dict[str, Any]:
    """Return a chart of so many depths in the evidence from `at` on, each off by `change`."""
    points = []
    for item in inputs["evidence"][at:][:count]:
        words = item["quote"].rstrip(".").split()
        depth = int(words[words.index("measured") + 1]) + change
        points.append({"label": words[-1], "series": item["id"], "value": depth, "evidence_id": item["id"]})
    return {"title": title, "chart_type": "bar", "points": points, "unit": "fathoms"}


class Wider:
    """Gives one more section, which says all that was found, a paragraph each."""

    async def run(self, findings: Any, run: Any, /) -> None:
        evidence = findings[EVIDENCE]
        text = "\n\n".join(f"{item.quote} {cite(item.id)}" for item in evidence)
        findings[SECTIONS] = (
            Section(id="all", title="All", evidence_ids=tuple(item.id for item in evidence), text=text),
        )


WIDER = StageOffer(
    lambda settings, _: Wider(), PluginSettings, "For a test", needs=(EVIDENCE, SECTIONS), gives=(SECTIONS,)
)


async def result_of(
    folder: Path,
    plan: Callable[[Any], Any],
    *,
    repair: Callable[[Any], Any] | None = None,
    verify: Callable[[Any], Any] | None = None,
    fails: Sequence[str] = (),
    **more: Any,
) -> tuple[leadline.Result, Model, Drawer]:
    model, drawer = Model(plan, repair, verify), Drawer(fails)
    plugins = [
        fake_web(),
        plugin("scripted", ai_providers=Offer(lambda settings, _: model, PluginSettings, "For a test")),
        plugin("wider", stages=WIDER),
        plugin("drawer", chart_runners=Offer(lambda settings, _: drawer, PluginSettings, "For a test")),
    ]
    values = WEB | {
        "ai.providers": ["embedded"],
        "ai.tasks": dict.fromkeys(model.replies, "scripted"),
        "charts.runner": "drawer",
        "pipeline": "mine",
        "pipelines": {"mine": {"extends": "research", "after": {"synthesize": ["wider"]}}},
        **{name.replace("__", "."): value for name, value in more.items()},
    }
    async with leadline.Client(plugins=plugins, folder=folder / "r", cache=folder / "c", set=values) as client:
        return await client.research(ASKED), model, drawer


def notices(result: leadline.Result) -> str:
    return (result.folder / "events.jsonl").read_text()


async def test_a_chart_of_numbers_from_the_evidence_stands_in_the_report(tmp_path: Path) -> None:
    result, model, drawer = await result_of(tmp_path, lambda inputs: {"charts": [depths(inputs)]})
    assert result.status == "complete"
    assert result.report is not None
    (figure,) = result.report.figures
    assert (figure.caption, model.asked, len(drawer.drawn)) == ("Depths", ["chart_plan"], 1)
    shown = [section.text or "" for section in result.report.sections if "![](figure:chart-1)" in (section.text or "")]
    assert len(shown) == 1
    before = shown[0].split("![](figure:chart-1)")[0].rstrip().split("\n\n")[-1]
    assert any(f"[@{name}]" in before for name in figure.evidence_ids)
    assert drawer.drawn[0].source.startswith("Source: On ")
    rows = json.loads((result.folder / "charts.json").read_text())[0]["rows"]
    ids = {item.id for item in result.report.evidence}
    assert all(row["evidence_id"] in ids for row in rows)
    assert json.loads((result.folder / "verify.json").read_text())["passed"]


async def test_a_chart_with_invented_numbers_is_refused_with_the_reason(tmp_path: Path) -> None:
    result, model, drawer = await result_of(tmp_path, lambda inputs: {"charts": [depths(inputs, change=100_000)]})
    assert result.report is not None
    assert (result.report.figures, drawer.drawn) == ((), [])
    assert model.asked == ["chart_plan", "chart_repair"]
    assert "does not stand in" in notices(result)
    assert result.status == "complete"


async def test_a_refused_chart_is_put_right_once_with_the_reason_in_hand(tmp_path: Path) -> None:
    errors = []

    def repair(inputs: Any) -> Any:
        errors.append(inputs["error"])
        return depths(inputs)

    wrong = {
        "charts": [{"title": "D", "chart_type": "bar", "points": [{"label": "a", "value": 1, "evidence_id": "x"}]}]
    }
    result, _, drawer = await result_of(tmp_path, lambda inputs: wrong, repair=repair)
    assert result.report is not None
    assert [figure.caption for figure in result.report.figures] == ["Depths"]
    assert len(drawer.drawn) == 1
    few = "it has 1 number, and a chart compares at least 3"
    assert errors == [f"{few}; 'a' names the evidence 'x', which does not exist"]


async def test_what_the_runner_says_is_in_hand_when_a_chart_is_put_right(tmp_path: Path) -> None:
    errors = []

    def repair(inputs: Any) -> Any:
        errors.append(inputs["error"])
        return inputs["chart"] | {"title": "Right"}

    result, _, _ = await result_of(
        tmp_path, lambda inputs: {"charts": [depths(inputs, "Wrong")]}, repair=repair, fails=["Wrong"]
    )
    assert result.report is not None
    assert [figure.caption for figure in result.report.figures] == ["Right"]
    assert errors == ["cannot draw Wrong"]


def claims_of(inputs: Any) -> list[dict[str, Any]]:
    """Return the points among the claims that a model is asked about."""
    return [claim for claim in inputs["claims"] if claim["claim"].startswith("Depths: ")]


def verdicts(*wrong: int) -> Callable[[Any], Any]:
    """Return a judge who finds the points in these places of another thing, and all other claims supported."""

    def judge(inputs: Any) -> Any:
        bad = [claim["id"] for claim in claims_of(inputs) if int(claim["id"]) in wrong]
        good = [claim["id"] for claim in inputs["claims"] if claim["id"] not in bad]
        others = [{"id": name, "verdict": "contradicted", "reason": "of another bay"} for name in bad]
        return {"supported": good, "confidence": 0.9, "others": others}

    return judge


async def test_a_point_that_its_quote_does_not_bear_is_left_out_and_told(tmp_path: Path) -> None:
    asked: list[Any] = []

    def verify(inputs: Any) -> Any:
        asked.extend(claims_of(inputs))
        return verdicts(2)(inputs)

    plan = lambda inputs: {"charts": [depths(inputs, count=4)]}  # noqa: E731
    result, model, drawer = await result_of(tmp_path, plan, verify=verify)
    assert len(asked) == 4
    assert asked[0]["claim"].endswith(" fathoms")
    assert [len(chart.rows) for chart in drawer.drawn] == [3]
    assert "was drawn without what its quotes do not say" in notices(result)
    assert "of another bay" in notices(result)
    (kept,) = json.loads((result.folder / "charts.json").read_text())
    assert len(kept["rows"]) == 3
    assert "of another bay" in kept["refused"][0]
    assert model.asked[:2] == ["chart_plan", "verify_claim"]


def named(inputs: Any, *names: str) -> dict[str, Any]:
    """Return the chart of depths with points that have these names, a harbour each."""
    chart = depths(inputs, count=len(names))
    points = [point | {"series": "", "label": name} for point, name in zip(chart["points"], names, strict=True)]
    return chart | {"points": points}


def doubting(asked: list[Any], words: Callable[[Any], str]) -> Callable[[Any], Any]:
    """Return a judge who calls all supported, and shows words for what rules find fault with."""

    def judge(inputs: Any) -> Any:
        asked.extend(claim for claim in claims_of(inputs) if claim.get("found"))
        found = [claim["id"] for claim in inputs["claims"] if claim.get("found")]
        sure = [claim["id"] for claim in inputs["claims"] if claim["id"] not in found]
        others = [{"id": name, "verdict": "supported", "words": words(inputs)} for name in found]
        return {"supported": sure, "confidence": 0.9, "others": others}

    return judge


@pytest.mark.parametrize(("shown", "kept"), [(True, 4), (False, 3)])
async def test_a_label_that_stands_nowhere_keeps_its_number_by_words_of_the_passage_alone(
    tmp_path: Path, shown: bool, kept: int
) -> None:
    asked: list[Any] = []

    def words(inputs: Any) -> str:
        return inputs["sources"][0]["passages"][0]["text"] if shown else "Nobody says so anywhere."

    def plan(inputs: Any) -> Any:
        last = [item["quote"].rstrip(".").split()[-1] for item in inputs["evidence"][:4]]
        return {"charts": [named(inputs, "Zanzibar", *last[1:])]}

    result, _, drawer = await result_of(tmp_path, plan, verify=doubting(asked, words))
    assert {claim["found"] for claim in asked} == {"'Zanzibar' does not stand in the passage, nor over it"}
    assert [len(chart.rows) for chart in drawer.drawn] == [kept]
    assert ("Zanzibar (" in notices(result)) is not shown


async def test_a_point_that_is_borne_in_part_is_drawn_with_a_note(tmp_path: Path) -> None:
    def judge(inputs: Any) -> Any:
        name = claims_of(inputs)[0]["id"] if claims_of(inputs) else ""
        good = [claim["id"] for claim in inputs["claims"] if claim["id"] != name]
        return {"supported": good, "others": [{"id": name, "verdict": "partial", "reason": "in June"}] if name else []}

    _, _, drawer = await result_of(tmp_path, lambda inputs: {"charts": [depths(inputs)]}, verify=judge)
    (drawn,) = drawer.drawn
    first = drawn.rows[0]
    assert drawn.source.endswith(f"{first['series']} {first['label']}: supported in part")


async def test_a_number_that_a_repair_put_in_the_place_of_another_is_left_out_where_nobody_judges(
    tmp_path: Path,
) -> None:
    def plan(inputs: Any) -> Any:
        chart = depths(inputs, count=4)
        wrong = chart["points"][0] | {"value": 9999}
        return {"charts": [chart | {"points": [wrong, *chart["points"][1:]]}]}

    def repair(inputs: Any) -> Any:
        points = [dict(point) for point in inputs["chart"]["points"]]
        points[0] |= {name: points[1][name] for name in ("value", "evidence_id")}
        return inputs["chart"] | {"points": points}

    result, _, drawer = await result_of(tmp_path, plan, repair=repair)
    assert [len(chart.rows) for chart in drawer.drawn] == [3]
    assert "had the number 9,999 first, of another passage" in notices(result)


async def test_points_that_no_model_judged_are_told(tmp_path: Path) -> None:
    silent = lambda inputs: {"supported": [], "confidence": 0.9, "others": []}  # noqa: E731
    result, _, drawer = await result_of(tmp_path, lambda inputs: {"charts": [depths(inputs)]}, verify=silent)
    assert len(drawer.drawn) == 1
    assert "no model held 3 of the charts' 3 points against their quotes" in notices(result)


async def test_parts_that_make_no_whole_are_drawn_as_bars_without_asking_anew(tmp_path: Path) -> None:
    plan = lambda inputs: {"charts": [depths(inputs) | {"chart_type": "pie"}]}  # noqa: E731
    result, model, drawer = await result_of(tmp_path, plan)
    assert [chart.chart_type for chart in drawer.drawn] == ["bar"]
    assert model.asked == ["chart_plan"]
    (kept,) = json.loads((result.folder / "charts.json").read_text())
    assert kept["refused"] == ["a pie has one series: it is drawn as bar"]
    assert "was drawn in another form than planned: a pie has one series" in notices(result)


@pytest.mark.parametrize(("form", "drawn"), [("pie", "bar"), ("stacked", "grouped"), ("horizontal", "horizontal")])
async def test_a_whole_that_has_lost_a_part_is_drawn_as_none(tmp_path: Path, form: str, drawn: str) -> None:
    def plan(inputs: Any) -> Any:
        chart = depths(inputs, count=4) | {"chart_type": form}
        return {"charts": [chart | {"points": [point | {"series": ""} for point in chart["points"]]}]}

    _, _, drawer = await result_of(tmp_path, plan, verify=verdicts(2))
    assert [(chart.chart_type, len(chart.rows)) for chart in drawer.drawn] == [(drawn, 3)]


async def test_a_chart_with_too_few_points_that_are_borne_is_not_drawn(tmp_path: Path) -> None:
    plan = lambda inputs: {"charts": [depths(inputs)]}  # noqa: E731
    result, _, drawer = await result_of(tmp_path, plan, verify=verdicts(1))
    assert drawer.drawn == []
    assert "its quotes do not say this" in notices(result)
    (kept,) = json.loads((result.folder / "charts.json").read_text())
    assert "of another bay" in kept["refused"][-1]


async def test_all_that_is_wrong_is_told_at_once_with_the_evidence_that_helps(tmp_path: Path) -> None:
    seen: list[Any] = []

    def repair(inputs: Any) -> Any:
        seen.append(inputs)
        return inputs["chart"] | {"points": []}

    def plan(inputs: Any) -> Any:
        chart = depths(inputs, change=100_000)
        return {"charts": [chart | {"chart_type": "sankey"}]}

    result, model, drawer = await result_of(tmp_path, plan, repair=repair)
    (inputs,) = seen
    assert "the form 'sankey' cannot be drawn" in inputs["error"]
    assert "does not stand in the quote it names" in inputs["error"]
    assert {point["evidence_id"] for point in inputs["chart"]["points"]} == {item["id"] for item in inputs["evidence"]}
    assert (drawer.drawn, model.asked) == ([], ["chart_plan", "chart_repair"])
    assert "was not drawn: it could not be put right" in notices(result)


async def test_the_chart_that_was_drawn_is_kept_with_what_it_was_refused_for(tmp_path: Path) -> None:
    plan = lambda inputs: {"charts": [depths(inputs) | {"chart_type": "sankey"}]}  # noqa: E731
    repair = lambda inputs: inputs["chart"] | {"chart_type": "bar"}  # noqa: E731
    result, _, drawer = await result_of(tmp_path, plan, repair=repair)
    (kept,) = json.loads((result.folder / "charts.json").read_text())
    assert kept["chart_type"] == drawer.drawn[0].chart_type == "bar"
    assert kept["refused"][0].startswith("the form 'sankey' cannot be drawn")
    assert "the chart 'Depths' was put right before it was drawn" in notices(result)


async def test_after_two_failures_in_a_row_the_rest_is_given_up(tmp_path: Path) -> None:
    titles = ["good", "bad", "good too", "bad 1", "bad 2", "never"]
    plan = lambda inputs: {"charts": [depths(inputs, title, at=at) for at, title in enumerate(titles)]}  # noqa: E731
    bad = [title for title in titles if title.startswith("bad")]
    result, model, drawer = await result_of(tmp_path, plan, fails=bad, charts__max=6)
    assert result.report is not None
    assert [figure.caption for figure in result.report.figures] == ["good", "good too"]
    assert "never" not in {chart.title for chart in drawer.drawn}
    assert model.asked.count("chart_repair") == 3
    assert "1 more charts were given up after 2 failures in a row" in notices(result)


async def test_charts_are_put_right_side_by_side_as_far_as_all_may_fail(tmp_path: Path) -> None:
    def plan(inputs: Any) -> Any:
        return {"charts": [depths(inputs, f"{n}", at=n) | {"chart_type": "sankey"} for n in range(3)]}

    result, model, _ = await result_of(tmp_path, plan, repair=lambda inputs: inputs["chart"] | {"chart_type": "bar"})
    assert (model.at_once, model.asked.count("chart_repair")) == (2, 3)
    assert result.report is not None
    assert [(figure.id, figure.caption) for figure in result.report.figures] == [
        ("chart-1", "0"),
        ("chart-2", "1"),
        ("chart-3", "2"),
    ]


async def test_none_is_put_right_that_would_be_given_up(tmp_path: Path) -> None:
    plan = lambda inputs: {"charts": [depths(inputs, f"{n}") | {"chart_type": "sankey"} for n in range(5)]}  # noqa: E731
    result, model, _ = await result_of(tmp_path, plan)
    assert model.asked == ["chart_plan", "chart_repair", "chart_repair"]
    assert "3 more charts were given up after 2 failures in a row" in notices(result)


async def test_at_most_so_many_charts_as_the_settings_say(tmp_path: Path) -> None:
    plan = lambda inputs: {"charts": [depths(inputs, f"{n}", at=n) for n in range(9)]}  # noqa: E731
    result, _, _ = await result_of(tmp_path, plan)
    assert result.report is not None
    assert [figure.id for figure in result.report.figures] == [f"chart-{place}" for place in range(1, 6)]


async def test_a_chart_whose_points_another_one_has_is_not_drawn(tmp_path: Path) -> None:
    plan = lambda inputs: {"charts": [depths(inputs, "few"), depths(inputs, "all", count=4), depths(inputs, "again")]}  # noqa: E731
    result, _, drawer = await result_of(tmp_path, plan)
    assert [chart.title for chart in drawer.drawn] == ["all"]
    assert "the chart 'few' was not drawn: the chart 'all' has its points" in notices(result)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"plugins.chart.mode": "off"}, ""),
        ({"charts.max": 0}, ""),
        ({"charts.runner": ""}, "there is no chart runner"),
        ({"plugins.chart.at_least": 10_000}, ""),
    ],
)
async def test_nothing_is_paid_for_where_no_chart_will_be(tmp_path: Path, settings: dict[str, Any], said: str) -> None:
    result, model, _ = await result_of(tmp_path, lambda inputs: {"charts": []}, **settings)
    assert model.asked == []
    assert said in notices(result)
    assert result.status == "complete"


async def test_without_a_runner_the_plan_is_kept_where_charts_are_asked_for(tmp_path: Path) -> None:
    more: Any = {"charts.runner": "", "plugins.chart.mode": "on"}
    result, _, _ = await result_of(tmp_path, lambda inputs: {"charts": [depths(inputs)]}, **more)
    assert json.loads((result.folder / "charts.json").read_text())[0]["title"] == "Depths"
    assert "there is no chart runner" in notices(result)


async def test_without_a_model_it_says_so_where_charts_are_asked_for(tmp_path: Path) -> None:
    more: Any = {"ai.tasks": {}, "plugins.chart.mode": "on"}
    result, model, _ = await result_of(tmp_path, lambda inputs: {"charts": []}, **more)
    assert model.asked == []
    assert "no charts were drawn: no language model is set up" in notices(result)


async def test_a_plan_that_fails_leaves_the_report_as_it_is(tmp_path: Path) -> None:
    result, _, _ = await result_of(tmp_path, lambda inputs: "no plan")
    assert (result.status, result.report and result.report.figures) == ("partial", ())
    assert result.reason == "scripted did none of what it was asked: see the notices"
    assert "no charts were planned" in notices(result)
