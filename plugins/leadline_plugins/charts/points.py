"""The forms of charts, and rows as points, for all runners and checks."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, ValidationError

from leadline.display import one_line
from leadline.errors import Unsupported
from leadline.records import Chart, Record, Text

_SERIES = ("line", "bar", "stacked", "grouped", "horizontal", "area")
# The names of `chart_type`.
FORMS = (*_SERIES, "scatter", "pie", "histogram", "box", "heatmap", "timeline")
MOST_POINTS = 2000
# Points that an alternative text lists.
_SPOKEN = 24
_DATE = re.compile(r"(-?\d{1,4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?(?:T.*)?")
_LABELLED_YEAR = re.compile(r"(?:FY|CY)?\s?(?P<year>(?:1[5-9]|2[01])\d\d)\s?(?:年度?(?:(?P<month>\d{1,2})月)?|[AEFP])?")

# A text on one line, without control characters and changes of direction.
Line = Annotated[Text, AfterValidator(one_line)]


class Point(Record):
    """One observation: a label (a category, a year, an event) or an `x`, a value, the series, the date of an event.

    `evidence_id` is the passage that states its number. Dates are ISO 8601, as far as they are known.
    """

    label: Line = ""
    value: float | None = None
    x: float | None = None
    series: Line = ""
    date: str = ""
    evidence_id: str = ""

    @property
    def name(self) -> str:
        return self.label or self.date or ("" if self.x is None else f"{self.x:g}")


@dataclass(frozen=True)
class Table:
    """Values by series and category, both in the order of the rows."""

    series: tuple[str, ...]
    categories: tuple[str, ...]
    values: Mapping[tuple[str, str], float]

    def row(self, series: str) -> list[float]:
        """Return the values of a series, category by category; a gap is NaN."""
        return [self.values.get((series, category), math.nan) for category in self.categories]


def form_of(name: str) -> str:
    """Return the form of a name in any spelling (`Bar`, `heat_map`); empty for an unknown one."""
    form = name.strip().lower().replace(" ", "").replace("_", "").replace("-", "")
    form = form.removesuffix("chart").removesuffix("plot") or form
    return form if form in FORMS else ""


def read(chart: Chart) -> list[Point]:
    """Return the points of a chart. Raises `Unsupported` with the number of a bad row."""
    if not chart.rows:
        raise Unsupported("the chart has no rows: nothing to draw")
    if len(chart.rows) > MOST_POINTS:
        raise Unsupported(f"the chart has {len(chart.rows)} rows; at most {MOST_POINTS} are drawn")
    return [_point(number, row) for number, row in enumerate(chart.rows, start=1)]


def _point(number: int, row: object) -> Point:
    try:
        point = Point.model_validate(row)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise Unsupported(f"row {number}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    if any(number is not None and not math.isfinite(number) for number in (point.value, point.x)):
        raise Unsupported(f"row {number}: its number is not finite")
    return point


def values(points: Sequence[Point]) -> list[float]:
    """Return the value of every point. Raises `Unsupported` for a point without one."""
    for number, point in enumerate(points, start=1):
        if point.value is None:
            raise Unsupported(f"row {number} ({point.name}) has no value")
    return [point.value for point in points if point.value is not None]


def table(points: Sequence[Point]) -> Table:
    """Return the points as a table. Raises `Unsupported` if a cell has two values."""
    cells: dict[tuple[str, str], float] = {}
    for point, value in zip(points, values(points), strict=True):
        cell = (point.series, point.name)
        if not point.name:
            raise Unsupported(f"a row with the value {value:g} has neither a label nor an x")
        if cell in cells:
            raise Unsupported(f"there are two values for {' / '.join(filter(None, cell))}")
        cells[cell] = value
    return Table(_order(point.series for point in points), _order(point.name for point in points), cells)


def by_series(
    points: Sequence[Point], of: Callable[[Point], str] = lambda point: point.series
) -> dict[str, list[Point]]:
    """Return the points by series, in the order of the rows."""
    return {name: [point for point in points if of(point) == name] for name in _order(map(of, points))}


def date_of(text: str) -> tuple[int, int, int] | None:
    """Return year, month and day of an ISO date, 0 for a missing part; None for other text."""
    match = _DATE.fullmatch(text.strip())
    if not match:
        return None
    year, month, day = (int(part or 0) for part in match.groups())
    return (year, month, day) if month <= 12 and day <= 31 else None


def _order(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names once each: by time if all are years or dates, else in the order of the rows."""
    unique = tuple(dict.fromkeys(names))
    times = {name: _time_of(name) for name in unique}
    return tuple(sorted(unique, key=lambda name: times[name] or (0, 0, 0))) if all(times.values()) else unique


def _time_of(name: str) -> tuple[int, int, int] | None:
    """Return the time that a label names: `2024`, `2024-05`, `FY2024`, `2024E`, 2024年5月."""
    if match := _LABELLED_YEAR.fullmatch(name.strip()):
        return (int(match["year"]), int(match["month"] or 0), 0)
    return date_of(name)


def alt_text(chart: Chart) -> str:
    """Return the title and the data of a chart as text; of many points the first, and their number."""
    points = read(chart) if chart.rows else []
    listed = "; ".join(_spoken(point, chart.unit) for point in points[:_SPOKEN])
    more = f"; … ({len(points)})" if len(points) > _SPOKEN else ""
    return f"{chart.title.rstrip('.。')}: {listed}{more}" if listed else chart.title


def _spoken(point: Point, unit: str) -> str:
    name = " ".join(dict.fromkeys(filter(None, (point.series, point.date, point.label))))
    x = "" if point.x is None else f"{point.x:,.10g}"
    value = "" if point.value is None else f"{point.value:,.10g}{'' if unit == '%' else ' '}{unit}".strip()
    return ": ".join(filter(None, (name, ", ".join(filter(None, (x, value))))))
