"""The runner `matplotlib`: every declared form, what it cannot draw, fonts, and the labels."""

from __future__ import annotations

import asyncio
from io import BytesIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from leadline.errors import Unsupported
from leadline.records import Chart
from leadline.testing.context import FakeCall, fake_context

pytest.importorskip("matplotlib", reason="the extra `charts` is not installed")

from leadline_plugins.charts.forms import CHAIN, stacked, titles
from leadline_plugins.charts.matplotlib import Matplotlib, MatplotlibSettings, fonts_for
from leadline_plugins.charts.points import FORMS, Point

YEARS = [{"label": str(year), "value": year - 2000 + place, "series": name} for year in (2019, 2020, 2021)
         for place, name in enumerate(("wind", "太陽光"))]  # fmt: skip
PLACES = [{"label": name, "value": value} for name, value in (("Leith", 3.5), ("Wick", 12), ("Oban", 7))]
ROWS: dict[str, list[dict[str, Any]]] = {
    "line": YEARS,
    "bar": PLACES,
    "stacked": YEARS,
    "grouped": YEARS,
    "horizontal": PLACES,
    "area": YEARS,
    "scatter": [{"label": row["label"], "x": row["value"] * 2, "value": row["value"]} for row in PLACES],
    "pie": PLACES,
    "histogram": [{"value": value % 17} for value in range(80)],
    "box": [{"label": name, "value": value * factor} for factor, name in ((1, "A"), (2, "B")) for value in range(20)],
    "heatmap": YEARS,
    "timeline": [{"date": "1969-07-20", "label": "Landing"}, {"date": "1957", "label": "Sputnik"}],
}


def chart(form: str, rows: Any = None, **more: Any) -> Chart:
    more = {"title": "Harbours", "y_label": "Depth", "unit": "fathoms", "source": "Source: the pilot"} | more
    return Chart(id="1", chart_type=form, rows=tuple(ROWS[form] if rows is None else rows), **more)


@pytest.fixture
def runner(tmp_path: Path) -> Matplotlib:
    return Matplotlib(MatplotlibSettings(), fake_context(tmp_path))


async def drawn(runner: Matplotlib, chart: Chart) -> Any:
    return await runner.draw(chart, FakeCall())


@pytest.mark.parametrize("form", FORMS)
async def test_every_form_is_drawn_as_png_and_svg(runner: Matplotlib, form: str) -> None:
    from PIL import Image

    figure = await drawn(runner, chart(form))
    picture = Image.open(BytesIO(figure.media["image/png"]))
    assert picture.width == 1600
    assert len(picture.convert("RGB").getcolors(1 << 24) or ()) > 20
    assert ET.fromstring(figure.media["image/svg+xml"]).tag.endswith("svg")


async def test_a_chart_is_the_same_file_each_time(runner: Matplotlib) -> None:
    first, second = [await drawn(runner, chart("line")) for _ in range(2)]
    assert first == second


async def test_many_charts_at_once_do_not_disturb_each_other(runner: Matplotlib) -> None:
    alone = [await drawn(runner, chart(form)) for form in ("bar", "pie", "line")]
    together = await asyncio.gather(*(drawn(runner, chart(form)) for form in ("bar", "pie", "line")))
    assert alone == together


@pytest.mark.parametrize("written", ["Heat map", "HEAT-MAP"])
async def test_the_name_of_a_form_may_be_written_as_people_do(runner: Matplotlib, written: str) -> None:
    assert (await drawn(runner, chart("heatmap").model_copy(update={"chart_type": written}))).media


@pytest.mark.parametrize(
    ("form", "rows", "said"),
    [
        ("donut", PLACES, "the form 'donut' cannot be drawn"),
        ("bar", [], "no rows"),
        ("bar", [{"label": "a"}], "row 1 (a) has no value"),
        ("bar", [{"label": "a", "value": "much"}], "row 1: value"),
        ("bar", [{"label": "a", "value": float("inf")}], "not finite"),
        ("bar", [{"label": "a", "value": 1}, {"label": "a", "value": 2}], "two values for a"),
        ("bar", [{"value": 1}], "neither a label nor an x"),
        ("pie", [{"label": "a", "value": -1}, {"label": "b", "value": 2}], "take bars"),
        ("scatter", PLACES, "needs an x"),
        ("timeline", PLACES, "needs a date"),
        ("area", YEARS[:-1], "a value of every series"),
        ("histogram", [{"value": 1}] * 2001, "at most 2000"),
    ],
)
async def test_a_chart_that_cannot_be_drawn_is_refused_with_the_reason(
    runner: Matplotlib, form: str, rows: Any, said: str
) -> None:
    with pytest.raises(Unsupported, match=said.replace("(", r"\(").replace(")", r"\)")):
        await drawn(runner, chart("bar", rows).model_copy(update={"chart_type": form}))


async def test_chinese_japanese_korean_and_a_dollar_are_set(runner: Matplotlib) -> None:
    rows = [{"label": "臺灣", "value": 1}, {"label": "日本のデータ", "value": 2}, {"label": "한국", "value": 3}]
    try:
        families = fonts_for((str(row["label"]) for row in rows), CHAIN)
    except Unsupported:
        pytest.skip("no Noto Sans CJK here: pip install 'leadline[charts]'")
    assert families[0] == "Noto Sans CJK JP"
    assert (await drawn(runner, chart("bar", rows, title="$5 and $6_x$"))).media["image/png"]


async def test_a_character_that_no_font_has_is_named_with_the_package(runner: Matplotlib) -> None:
    with pytest.raises(Unsupported, match=r"no installed font has .*U\+10FFFD.*install fonts-noto"):
        await drawn(runner, chart("bar", title="\U0010fffd"))


def test_missing_chinese_names_its_font(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leadline_plugins.charts.matplotlib._characters", lambda family: frozenset(map(ord, "abc")))
    with pytest.raises(Unsupported, match=r"港 \(U\+6E2F\): install fonts-noto-cjk"):
        fonts_for(["港"], CHAIN)


async def test_the_alternative_text_says_the_numbers(runner: Matplotlib) -> None:
    figure = await drawn(runner, chart("bar", evidence_ids=("e1",)))
    assert figure.alt == "Harbours: Leith: 3.5 fathoms; Wick: 12 fathoms; Oban: 7 fathoms"
    assert (figure.caption, figure.evidence_ids) == ("Harbours", ("e1",))
    many = await drawn(runner, chart("histogram"))
    assert many.alt.endswith("; … (80)")


@pytest.mark.parametrize("form", ["line", "pie", "heatmap", "timeline"])
async def test_hostile_labels_are_drawn_as_text(runner: Matplotlib, form: str) -> None:
    said = "<script>alert(1)</script> $\\frac{$ \u202e\x00 #read(1) \\input{x}"
    rows = [{**row, **{key: f"{row[key]} {said}" for key in ("label", "series") if key in row}} for row in ROWS[form]]
    figure = await drawn(runner, chart(form, rows, title=said, x_label=said, y_label=said, unit=said, source=said))
    svg = figure.media["image/svg+xml"]
    tags = {element.tag.rpartition("}")[2].lower() for element in ET.fromstring(svg).iter()}
    assert "script" not in tags
    assert b"\0" not in svg


@pytest.mark.parametrize(
    ("form", "x_label", "y_label", "unit", "said"),
    [
        ("bar", "Fund", "Assets", "trillion USD", ("Fund", "Assets (trillion USD)")),
        ("bar", "Fund", "", "%", ("Fund", "%")),
        ("bar", "Fund", "Assets", "", ("Fund", "Assets")),
        ("grouped", "群体", "人均可支配收入（元）", "元", ("群体", "人均可支配收入（元）")),
        ("grouped", "群体", "占比", "%", ("群体", "占比（%）")),
        ("line", "Year", "Share of assets (%)", "%", ("Year", "Share of assets (%)")),
        ("line", "Year", "Price in USD", "usd", ("Year", "Price in USD")),
        ("line", "Age in years", "Life left", "years", ("Age in years", "Life left (years)")),
        ("bar", "Fund", "Length of a term", "m", ("Fund", "Length of a term (m)")),
        ("horizontal", "比上年下降（%）", "收入项目", "%", ("收入项目", "比上年下降（%）")),
        ("horizontal", "Depth (m)", "", "m", ("", "Depth (m)")),
        ("horizontal", "Share (%)", "Growth (%)", "%", ("Share (%)", "Growth (%)")),
    ],
)
def test_an_axis_is_named_by_its_values_with_the_unit_once(
    form: str, x_label: str, y_label: str, unit: str, said: tuple[str, str]
) -> None:
    assert titles(chart(form, x_label=x_label, y_label=y_label, unit=unit), form) == said


def test_the_parts_of_stacked_bars_are_numbered_low_ones_beside_the_bar() -> None:
    from matplotlib.figure import Figure

    parts = [Point(label="GPFG", series=f"s{value}", value=value) for value in (71.4, 26.6, 1.8, 0.1)]
    ax = Figure().add_subplot()
    stacked(ax, parts, "%")
    shown = {text.get_text(): text.get_position() for text in ax.texts}
    assert list(shown) == ["71.4%", "26.6%", "1.8%", "0.1%"]
    assert list(map(float, shown["26.6%"])) == pytest.approx([0, 84.7])
    assert shown["0.1%"][0] == shown["1.8%"][0] > 0.35
    assert shown["0.1%"][1] >= shown["1.8%"][1] + 4
