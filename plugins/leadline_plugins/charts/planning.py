"""From the evidence to a chart's plan, and from the plan to the chart that a runner draws."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from leadline.findings import Question
from leadline.records import Chart, Evidence, Section, Source
from leadline_plugins.charts.borne import bound_of, says
from leadline_plugins.charts.points import Point
from leadline_plugins.charts.ranges import end_of
from leadline_plugins.charts.tasks import PlannedChart
from leadline_plugins.charts.units import read
from leadline_plugins.tasks.writing import Passage
from leadline_plugins.text.headings import unnamed
from leadline_plugins.wording import say

BEST = 80
"""Pieces of evidence that a plan is made from, at most."""
_TITLES = 3
_SIGNS: Mapping[str, str] = {"about": "≈", "near": "≈", "least": ">", "most": "<"}
_ELSEWHERE, _FEW, _HELPFUL = 3, 3, 12
"""Pieces that say a number elsewhere; named pieces that are too few; pieces that are added then."""
_NOTED = 6
"""Points whose bounds are noted below a chart, at most."""


@dataclass(frozen=True)
class Material:
    """What charts are made from, and the language in which they are drawn: `data` or `python`."""

    question: Question
    language: str
    evidence: Mapping[str, Evidence]
    sources: Mapping[str, Source]


def own(evidence: tuple[Evidence, ...], sections: tuple[Section, ...]) -> list[Evidence]:
    """Return the evidence of the sections, best first; a quote once under the same headings."""
    ids = {name for section in sections for name in section.evidence_ids}
    found = {(item.quote, item.under): item for item in evidence if item.id in ids}
    return sorted(found.values(), key=lambda item: -item.score)


def helpful(chart: PlannedChart, evidence: Mapping[str, Evidence]) -> list[Evidence]:
    """Return the evidence with which a chart can be put right: what it names, and what says a number it lacks there.

    Of a chart that names next to none the best: it is to be made from something.
    """
    named = dict.fromkeys(point.evidence_id for point in chart.points if point.evidence_id in evidence)
    for point in chart.points:
        own = evidence.get(point.evidence_id)
        if point.value is not None and not (own and says(own.quote, point.value, chart.unit)):
            found = (name for name, item in evidence.items() if says(item.quote, point.value, chart.unit))
            named.update(dict.fromkeys(islice(found, _ELSEWHERE)))
    more = islice((name for name in evidence if name not in named), _HELPFUL if len(named) < _FEW else 0)
    return [evidence[name] for name in (*named, *more)]


def passages(evidence: Iterable[Evidence], sources: Mapping[str, Source]) -> tuple[Passage, ...]:
    """Return the evidence as a planner sees it: the quote, the headings over it, and where it comes from."""
    return tuple(_passage(item, sources.get(item.source_id)) for item in evidence)


def _passage(item: Evidence, source: Source | None) -> Passage:
    title = source.hit.title if source else ""
    tier = source.tier if source else 3
    under = unnamed(item.under, item.quote)
    return Passage(id=item.id, quote=item.quote, source_id=item.source_id, source=title, tier=tier, under=under)


def planned(chart: PlannedChart, place: int, material: Material, partial: Container[Point] = ()) -> Chart:
    """Return the chart that a runner draws: its rows, whose evidence they are, and the line that names the sources.

    Of the points that are borne in part that line says so.
    """
    ids = tuple(dict.fromkeys(point.evidence_id for point in chart.points))
    return Chart(
        id=f"chart-{place}",
        title=chart.title,
        chart_type=chart.chart_type,
        evidence_ids=tuple(name for name in ids if name in material.evidence),
        rows=tuple(point.model_dump(exclude_defaults=True) for point in chart.points),
        language=material.language,
        code=chart.code if material.language != "data" else "",
        x_label=chart.x_label,
        y_label=chart.y_label,
        unit=chart.unit,
        source=" · ".join(filter(None, (_source_line(ids, material), _bounds(chart, material, partial)))),
    )


def _bounds(chart: PlannedChart, material: Material, partial: Container[Point]) -> str:
    """Return which values the quotes say roughly (`over 57 %`, `32–42 %`): a picture would make them exact."""
    found = []
    for point in chart.points:
        item = material.evidence.get(point.evidence_id)
        said = _roughly(item.quote, point.value, chart.unit) if item and point.value is not None else ""
        in_part = say("partial", material.question.language) if point in partial else ""
        if said or in_part:
            found.append(
                f"{' '.join(filter(None, (point.series, point.name)))}: {', '.join(filter(None, (said, in_part)))}"
            )
    return "; ".join(found[:_NOTED]) + (" …" if len(found) > _NOTED else "")


def repeated(charts: Sequence[PlannedChart]) -> dict[int, str]:
    """Return the charts whose points another one has, be it in another scale, by their places, with its title."""
    shown = [frozenset(_key(point, chart.unit) for point in chart.points) for chart in charts]
    found: dict[int, str] = {}
    for place, own in enumerate(shown):
        for other, more in enumerate(shown):
            if own and (own < more or (own == more and other < place)):
                found[place] = charts[other].title
    return found


def _key(point: Point, unit: str) -> tuple[object, ...]:
    """Return what a point shows: which number of which passage, and where."""
    number = None if point.value is None else next((one.value for one in read(point.value, unit)), point.value)
    return point.evidence_id, number, point.x, point.date, point.label if number is None else ""


def _roughly(quote: str, value: float, unit: str) -> str:
    """Return what a quote says of a value, where it does not say it plainly: a range, or a bound."""
    if end := end_of(quote, value, unit):
        return end.range
    sign = _SIGNS.get(bound_of(quote, value, unit))
    return f"{sign} {value:,.10g} {unit}".strip() if sign else ""


def _source_line(ids: Iterable[str], material: Material) -> str:
    owners = dict.fromkeys(material.evidence[name].source_id for name in ids if name in material.evidence)
    titles = [material.sources[name].hit.title for name in owners if name in material.sources]
    titles = [" ".join(title.split()) for title in dict.fromkeys(titles) if title.strip()]
    more = f" (+{len(titles) - _TITLES})" if len(titles) > _TITLES else ""
    label = say("source", material.question.language)
    return f"{label}{'; '.join(titles[:_TITLES])}{more}" if titles else ""
