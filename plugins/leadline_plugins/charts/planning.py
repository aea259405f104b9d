"""Chart planning: the passages that a plan is made from, the typed tasks, and the chart that a runner draws."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

from pydantic import WithJsonSchema

from leadline.records import SINGLE, Chart, Evidence, Record, Source, Text
from leadline.research_findings import Question
from leadline.schemas import one_of
from leadline_plugins.charts.points import FORMS, Point, form_of
from leadline_plugins.passages.cutting import tokens_of
from leadline_plugins.prompting.numbered_passages import ShownSource, ids_by_number, passages_text
from leadline_plugins.verification.number_parsing import find_numbers as numbers_of
from leadline_plugins.wording.phrases import phrase

# Of the passages that a plan is made from.
MOST_TOKENS = 4_000
# Numbers of a passage that can be compared.
_LEAST_NUMBERS = 2
# Sources that are named under a chart.
_TITLES = 3
CHART_EXAMPLE = (
    '{"title": "Heat pumps sold", "type": "bar", "unit": "thousand", "x_label": "Country", "y_label": "Pumps", "rows": '
    '[{"label": "Norway", "series": "", "value": 42.5, "passage": 3}, {"label": "Sweden", "series": "", "value": 60, '
    '"passage": 3}, {"label": "Finland", "series": "", "value": 71, "passage": 8}], "section": 2, "code": ""}'
)
PLAN_EXAMPLE = f'{{"charts": [{CHART_EXAMPLE}]}}'


class PlannedRow(Record):
    """One value of a chart and the number of the passage that states it.

    In a scatter chart `label` is the place on the x axis and `series` the name; in a timeline the date and the event.
    """

    label: Text = ""
    series: Text = ""
    value: Annotated[float | None, WithJsonSchema({"type": ["number", "null"]})] = None
    passage: int = 0


class PlannedChart(Record):
    """A chart as a model plans it. `code` is the program that draws it, for a runner that runs Python."""

    title: Text
    type: Annotated[str, WithJsonSchema(one_of(*FORMS))]
    unit: Text = ""
    x_label: Text = ""
    y_label: Text = ""
    rows: tuple[Annotated[PlannedRow, SINGLE], ...] = ()
    # The number of its section, from 1; 0 if unknown.
    section: int = 0
    code: str = ""


class ChartPlan(Record):
    """The charts of a report, the most useful first."""

    charts: tuple[Annotated[PlannedChart, SINGLE], ...] = ()


class ChartPlanRequest(Record):
    """Asks for at most `limit` charts, as data or as Python programs."""

    question: Question
    limit: int
    language: str
    # Titles.
    sections: tuple[Text, ...]
    sources: tuple[ShownSource, ...]
    # Ids of the passages; the last are left out if the prompt is too long.
    best_first: tuple[str, ...] = ()

    def as_text(self) -> str:
        """Return the inputs as a model reads them."""
        titles = [f"{number}. {title}" for number, title in enumerate(self.sections, start=1)]
        language = self.question.language
        parts = (
            f"Limit: {self.limit} charts",
            f"Language of the report: {language}" if language not in ("", "und") else "",
            "Drawn by: Python" if self.language == "python" else "",
            "\n".join(("Sections:", *titles)),
            passages_text(self.sources),
        )
        return "\n\n".join(filter(None, parts))


class ChartRepairRequest(ChartPlanRequest):
    """Asks for one corrected chart. `error` says why it was refused or could not be drawn."""

    chart: PlannedChart
    error: Text

    def as_text(self) -> str:
        """Return the inputs as a model reads them."""
        return f"{super().as_text()}\n\nChart: {self.chart.model_dump_json()}\n\nError: {self.error}"


def numeric(evidence: Iterable[Evidence], at_least: int) -> list[Evidence]:
    """Return the passages that charts can be planned from, in their order; none if they have too few numbers."""
    best: dict[str, Evidence] = {}
    tokens = count = 0.0
    for item in evidence:
        size = tokens_of(f"{item.lead}{item.quote}")
        if item.quote in best or tokens + size > MOST_TOKENS:
            continue
        if (numbers := _count(item)) >= _LEAST_NUMBERS:
            best[item.quote] = item
            tokens, count = tokens + size, count + numbers
    return list(best.values()) if count >= at_least else []


def _count(item: Evidence) -> int:
    """Return how many numbers a passage has, without years, months, times and versions."""
    return sum(number.kind in ("number", "percent") and not number.is_year for number in numbers_of(item.quote))


def points(chart: PlannedChart, passages: Mapping[int, str]) -> list[Point]:
    """Return the points of a chart; `passages` are their ids by number."""
    return [_point(form_of(chart.type), row, passages.get(row.passage, "")) for row in chart.rows]


def _point(form: str, row: PlannedRow, evidence_id: str) -> Point:
    if form == "timeline":
        return Point(label=row.series, date=row.label, value=row.value, evidence_id=evidence_id)
    if form == "scatter":
        return Point(label=row.series, x=number_in(row.label), value=row.value, evidence_id=evidence_id)
    return Point(label=row.label, series=row.series, value=row.value, evidence_id=evidence_id)


def number_in(label: str) -> float | None:
    """Return a label as a number; None if it is none."""
    try:
        return float(label.replace(",", "").strip())
    except ValueError:
        return None


def drawable(
    plan: PlannedChart, number: int, request: ChartPlanRequest, sources: Mapping[str, Source], refused: Sequence[str]
) -> Chart:
    """Return the chart that a runner draws; `place` counts the charts of the report from 1."""
    chart_points = points(plan, ids_by_number(request.sources))
    owners = {passage.id: source.id for source in request.sources for passage in source.passages}
    ids = tuple(dict.fromkeys(point.evidence_id for point in chart_points if point.evidence_id in owners))
    used = dict.fromkeys(owners[name] for name in ids)
    return Chart(
        id=f"chart-{number}",
        title=plan.title,
        chart_type=plan.type,
        evidence_ids=ids,
        rows=tuple(point.model_dump(exclude_defaults=True) for point in chart_points),
        language=request.language,
        code=plan.code if request.language == "python" else "",
        x_label=plan.x_label,
        y_label=plan.y_label,
        unit=plan.unit,
        source=_source_line([sources[name] for name in used if name in sources], request.question.language),
        refused=tuple(dict.fromkeys(refused)),
    )


def _source_line(sources: Iterable[Source], language: str) -> str:
    titles = list(dict.fromkeys(" ".join(source.hit.title.split()) for source in sources if source.hit.title.strip()))
    more = f" (+{len(titles) - _TITLES})" if len(titles) > _TITLES else ""
    return f"{phrase('source', language)}{'; '.join(titles[:_TITLES])}{more}" if titles else ""
