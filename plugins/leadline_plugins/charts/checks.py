"""Checks of a planned chart: each number is in the passage that its row names, and parts make a whole.

Whether the rows fit the form is checked by the runner that draws it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import NamedTuple

from leadline.records import Notice
from leadline_plugins.charts.planning import PlannedChart, PlannedRow, number_in
from leadline_plugins.charts.points import form_of
from leadline_plugins.prompting.numbered_passages import ShownPassage, ShownSource
from leadline_plugins.verification.number_parsing import find_numbers
from leadline_plugins.verification.numbers import Values, values_of

# Rows of a chart; of a timeline one is enough.
_FEWEST = 2
# Parts of a pie.
_PARTS = 8
# A whole in percent, and by how much rounded parts may miss it.
_WHOLE, _ROUNDED = 100, 2
# Forms that show parts of a whole, and forms that show the same values separately.
_SEPARATE: Mapping[str, str] = {"pie": "bar", "stacked": "grouped", "area": "line"}
# A list of so many numbers in a program is data.
_DATA = 3
_WORD = re.compile(r"[^\W\d_]+")
_PER = re.compile(r"/|\bper\b|每")
_CURRENCIES = frozenset("$€£¥")
# Reasons that are named.
_NAMED = 5


class Checked(NamedTuple):
    """A chart without the rows that failed."""

    chart: PlannedChart
    # Why rows were dropped.
    dropped: str = ""
    # Why it has another form than planned.
    changed: str = ""
    # Why it cannot be drawn.
    problem: str = ""


def checked(chart: PlannedChart, sources: Iterable[ShownSource], language: str) -> Checked:
    """Return a chart with the rows whose numbers are in their passages, and the problems found."""
    shown = {passage.number: (passage, source) for source in sources for passage in source.passages}
    reasons = [_wrong(row, chart, shown) for row in chart.rows]
    remaining = tuple(row for row, reason in zip(chart.rows, reasons, strict=True) if not reason)
    dropped = _listed(filter(None, reasons))
    left = chart.model_copy(update={"rows": remaining})
    problem, changed = "", ""
    form = form_of(chart.type)
    if len(remaining) < (1 if form == "timeline" else _FEWEST):
        problem = f"it has {len(remaining)} of at least {_FEWEST} rows that their passages state"
        problem = f"{problem}: {dropped}" if dropped else problem
    elif language == "python":
        problem = "; ".join(_foreign_numbers(left))
    elif form in _SEPARATE:
        changed = "a part is missing" if dropped else _no_whole(left, form)
    if changed:
        left = left.model_copy(update={"type": _SEPARATE[form]})
    return Checked(left, dropped, changed, problem)


def _wrong(row: PlannedRow, chart: PlannedChart, shown: Mapping[int, tuple[ShownPassage, ShownSource]]) -> str:
    """Return the reason to drop a row; empty if its numbers are in its passage.

    The numbers of its label may also be in the headings, the title or the date of the source.
    """
    name = " / ".join(filter(None, (row.series, row.label))) or "a row"
    if row.passage not in shown:
        return f"{name!r} names passage {row.passage}, which is none of the {len(shown)} shown"
    passage, source = shown[row.passage]
    text = f"{passage.lead}\n{passage.text}"
    context = "\n".join((text, *passage.path, source.title, source.published or ""))
    if row.value is not None and not _states(text, context, row.value, chart.unit):
        value = f"{row.value:,.12g} {chart.unit}".rstrip()
        return Notice("the value {value} of '{label}' is not in its passage", "value", value=value, label=name)
    for number in find_numbers(f"{row.series}\n{row.label}"):
        if any(char.isdigit() for char in number.text) and not values_of(context).holds(number):
            return f"{number.text!r} of {name!r} is not in its passage"
    return ""


def _states(text: str, context: str, value: float, unit: str) -> bool:
    """Return whether a text has a value in the unit of a chart.

    The scale of the unit is that of the number (`20 million`), or is named elsewhere, as in the header of a table.
    A positive value is not that of a number with a minus sign. A negative one may be a loss in words.
    """
    figure = f"{abs(value):.12f}".rstrip("0").rstrip(".")
    scale, sign = _scale(unit), next((char for char in unit if char in _CURRENCIES), "")
    held = values_of(text)
    written = f"{sign}{figure} {scale}" if scale or sign else f"{figure} {'' if unit[:1].isdigit() else unit}"
    claimed = [number for number in find_numbers(written)[:1] if held.holds(number)]
    if not claimed and scale and _factor(scale) in map(_factor, set(_WORD.findall(context))):
        unscaled = Values(number for number in held.numbers if not any(char.isalpha() for char in number.text))
        claimed = [number for number in find_numbers(figure) if unscaled.holds(number)]
    same = [number for number in held.numbers if claimed and set(number.readings) & set(claimed[0].readings)]
    return bool(claimed) and (value < 0 or not same or not all(_negative(text, number.start) for number in same))


def _scale(unit: str) -> str:
    """Return the word of a unit that is a scale: `bn` of `USD bn` and of `billion USD per year`, `m` of `$m`."""
    words = _WORD.findall(_PER.split(unit)[0])
    letters = [word for word in words if word in ("m", "b") and not _CURRENCIES.isdisjoint(unit)]
    return next((word for word in words if _factor(word) > 1), "".join(letters[:1]))


def _factor(scale: str) -> Decimal:
    """Return 1,000,000 for `million`; 1 for other words."""
    return next((number.value for number in find_numbers(f"1 {scale}")), Decimal(1))


def _negative(text: str, start: int) -> bool:
    """Return whether a minus sign, and not a hyphen, precedes a number."""
    return text[start - 1 : start] in ("-", "−") and text[max(0, start - 2) : start - 1] in ("", *" \n\t|(（:：")


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


def _foreign_numbers(chart: PlannedChart) -> Iterator[str]:
    """Yield complaints about numbers that are not in the rows: lists of data, and random numbers."""
    try:
        tree = ast.parse(chart.code)
    except (SyntaxError, ValueError) as error:
        yield f"the code is not Python: {error}"
        return
    own = {abs(number) for row in chart.rows for number in (row.value, number_in(row.label)) if number is not None}
    labels = "\n".join(f"{row.series}\n{row.label}" for row in chart.rows)
    own |= {float(value) for number in find_numbers(labels) for value in number.readings}
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
    texts = list(reasons)
    return "; ".join(texts[:_NAMED]) + (f"; and {len(texts) - _NAMED} more" if len(texts) > _NAMED else "")
