"""Checks of a planned chart: each number is in the passage that its row names, and the rows fit the form."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from leadline_plugins.charts.planning import PlannedChart, PlannedRow, number_in
from leadline_plugins.charts.points import FORMS, date_of, form_of
from leadline_plugins.prompting.passages import ShownPassage, ShownSource
from leadline_plugins.verification.numbers import numbers, values_of

_FEWEST = 2
"""Rows of a chart; of a timeline one is enough."""
_PARTS = 8
"""Parts of a pie."""
_WHOLE, _ROUNDED = 100, 2
"""A whole in percent, and by how much rounded parts may miss it."""
_SEPARATE: Mapping[str, str] = {"pie": "bar", "stacked": "grouped", "area": "line"}
"""Forms that show parts of a whole, and forms that show the same values separately."""
_MANY = ("histogram", "box", "scatter", "timeline")
"""Forms in which several rows may have the same label."""
_DATA = 3
"""A list of so many numbers in a program is data."""
_NAMED = 5
"""Reasons that are named."""


class Checked(NamedTuple):
    """A chart without the rows that failed."""

    chart: PlannedChart
    dropped: str = ""
    """Why rows were dropped."""
    changed: str = ""
    """Why it has another form than planned."""
    problem: str = ""
    """Why it cannot be drawn."""


def checked(chart: PlannedChart, sources: Iterable[ShownSource], language: str) -> Checked:
    """Return a chart with the rows whose numbers are in their passages, and what is wrong with it."""
    shown = {passage.number: (passage, source) for source in sources for passage in source.passages}
    reasons = [_wrong(row, chart, shown) for row in chart.rows]
    kept = tuple(row for row, reason in zip(chart.rows, reasons, strict=True) if not reason)
    dropped = _listed(filter(None, reasons))
    left = chart.model_copy(update={"rows": kept})
    changed = ""
    form = form_of(chart.type)
    if (
        language == "data"
        and form in _SEPARATE
        and (changed := _no_whole(left, form) or (dropped and "a part is missing"))
    ):
        left = left.model_copy(update={"type": _SEPARATE[form]})
    problem = "; ".join(filter(None, (*_unfit(left), *(_own_numbers(left) if language == "python" else ()))))
    return Checked(left, dropped, changed, f"{problem}: {dropped}" if problem and dropped else problem)


def _wrong(row: PlannedRow, chart: PlannedChart, shown: Mapping[int, tuple[ShownPassage, ShownSource]]) -> str:
    """Return why a row cannot be shown; empty where its numbers are in its passage.

    The numbers of its label may also be in the headings, the title or the date of the source.
    """
    name = " / ".join(filter(None, (row.series, row.label))) or "a row"
    if row.passage not in shown:
        return f"{name!r} names passage {row.passage}, which does not exist"
    passage, source = shown[row.passage]
    text = f"{passage.lead}\n{passage.text}"
    if row.value is not None and not _states(text, row.value, chart.unit):
        return f"the value {row.value:,.12g} {chart.unit}".rstrip() + f" of {name!r} is not in passage {row.passage}"
    context = values_of("\n".join((text, *passage.path, source.title, source.published or "")))
    for number in numbers(f"{row.series}\n{row.label}"):
        if any(char.isdigit() for char in number.text) and not context.holds(number):
            return f"{number.text!r} of {name!r} is not in passage {row.passage}"
    return ""


def _states(text: str, value: float, unit: str) -> bool:
    """Return whether a text has a value in the unit of a chart, or its figure with a scale: `20 million` for 20.

    A positive value is not that of a number with a minus sign. A negative one may be a loss in words.
    """
    claimed = numbers(f"{abs(value):.12f}".rstrip("0").rstrip(".") + f" {unit}")[:1]
    held = values_of(text)
    if not claimed or not held.holds(claimed[0]):
        return False
    same = [one for one in held.numbers if set(one.readings) & set(claimed[0].readings)]
    return value < 0 or not same or not all(_negative(text, one.start) for one in same)


def _negative(text: str, start: int) -> bool:
    """Return whether a minus sign, and not a hyphen, precedes a number."""
    return text[start - 1 : start] in ("-", "−") and text[max(0, start - 2) : start - 1] in ("", *" \n\t|(（:：")


def _unfit(chart: PlannedChart) -> Iterator[str]:
    """Yield what keeps a chart from being drawn in its form."""
    form = form_of(chart.type)
    if not form:
        yield f"there is no type {chart.type!r} of charts: take one of {', '.join(FORMS)}"
        return
    if len(chart.rows) < (1 if form == "timeline" else _FEWEST):
        yield f"it has {len(chart.rows)} rows with numbers from the passages, and needs {_FEWEST}"
    if form == "timeline" and any(date_of(row.label) is None or not row.series for row in chart.rows):
        yield "in a timeline every `label` is a date (YYYY, YYYY-MM or YYYY-MM-DD) and every `series` an event"
    if form != "timeline" and any(row.value is None for row in chart.rows):
        yield "every row needs a value"
    if form == "scatter" and any(number_in(row.label) is None for row in chart.rows):
        yield "in a scatter chart every `label` is a number"
    if form not in _MANY:
        cells = Counter((row.series, row.label) for row in chart.rows)
        twice = [" / ".join(filter(None, cell)) for cell, count in cells.items() if count > 1]
        if twice:
            yield f"there are two values for {_listed(map(repr, twice))}"


def _no_whole(chart: PlannedChart, form: str) -> str:
    """Return why a pie is no whole; empty for other forms."""
    values = [row.value or 0 for row in chart.rows]
    if form != "pie":
        return ""
    if len(values) > _PARTS or min(values, default=0) < 0:
        return f"a pie has at most {_PARTS} parts, and none is negative"
    if len({row.series for row in chart.rows}) > 1:
        return "a pie has one series"
    if chart.unit.strip() in ("%", "％") and abs(sum(values) - _WHOLE) > _ROUNDED:
        return f"its parts make {sum(values):.4g} %"
    return ""


def _own_numbers(chart: PlannedChart) -> Iterator[str]:
    """Yield what numbers a program brings itself: lists of data, and chance."""
    try:
        tree = ast.parse(chart.code)
    except (SyntaxError, ValueError) as error:
        yield f"the code is not Python: {error}"
        return
    own = {abs(number) for row in chart.rows for number in (row.value, number_in(row.label)) if number is not None}
    own |= {
        float(value) for row in chart.rows for one in numbers(f"{row.series}\n{row.label}") for value in one.readings
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.List | ast.Tuple | ast.Set | ast.Dict):
            strange = [number for number in _constants(node) if number not in own]
            if len(strange) >= _DATA:
                yield f"the code has its own numbers in line {node.lineno} ({strange[0]:g}, …): draw `rows`"
        elif "random" in (getattr(node, "attr", ""), getattr(node, "id", "")):
            yield f"the code uses random numbers in line {getattr(node, 'lineno', 0)}: draw `rows`"


def _constants(node: ast.List | ast.Tuple | ast.Set | ast.Dict) -> Iterator[float]:
    parts = (*node.keys, *node.values) if isinstance(node, ast.Dict) else node.elts
    for part in filter(None, parts):
        for inner in ast.walk(part):
            if isinstance(inner, ast.Constant) and isinstance(inner.value, int | float):
                yield abs(float(inner.value))


def _listed(reasons: Iterable[str]) -> str:
    found = list(reasons)
    return "; ".join(found[:_NAMED]) + (f"; and {len(found) - _NAMED} more" if len(found) > _NAMED else "")
