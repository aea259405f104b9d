"""What speaks against a point of a chart whose number stands in its quote: whoever judges the points is told.

A number may be of something else: its label stands nowhere about the quote, or the quote names things in one order
and says their numbers in another. None of it is a proof, for labels say things in other words; so nothing is refused
by it. Nothing is said of a label in another language than the quote.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import NamedTuple

from leadline_plugins.charts.borne import says
from leadline_plugins.charts.crossed import crossed
from leadline_plugins.charts.quoted import quoted
from leadline_plugins.charts.tasks import PlannedChart
from leadline_plugins.checks import naming
from leadline_plugins.checks.figures import figures
from leadline_plugins.text import content_set, language
from leadline_plugins.text.tokens import fold, has_cjk

_STEM = 5
"""Letters with which words of one stem begin alike: `extraction`, `extracted`."""
_WORD = re.compile(r"[^\W_]+(?:[-'’.][^\W_]+)*")
_CODE = re.compile(r"\b[A-Z]{2,6}\b")


class Told(NamedTuple):
    """A quote, and what stands over it: headings, the title of its source."""

    quote: str
    over: str


def doubts(chart: PlannedChart, told: Mapping[str, Told]) -> dict[int, str]:
    """Return what speaks against points, by their places in the chart; `told` by the ids of the evidence."""
    found: dict[int, list[str]] = defaultdict(list)
    quotes = {name: one.quote for name, one in told.items()}
    for place, why in chain(_nowhere(chart, told), crossed(chart, quotes), _of_another_year(chart, told)):
        found[place].append(why)
    return {place: "; ".join(dict.fromkeys(whys)) for place, whys in found.items()}


def denied_by(chart: PlannedChart, place: int, words: str) -> bool:
    """Return whether the words shown for a point say its number of another point, by their order or by its name."""
    point = chart.points[place]
    if any(denied == place for denied, _ in crossed(chart, {point.evidence_id: words})):
        return True
    if point.value is None or fold(point.name) in fold(words) or not says(words, point.value, chart.unit):
        return False
    named = {one.name for one in chart.points if one.name and fold(one.name) in fold(words)}
    return len(named) == 1 and len(quoted(words)) == 1


def _of_another_year(chart: PlannedChart, told: Mapping[str, Told]) -> Iterator[tuple[int, str]]:
    """Yield the points about which nothing says the year of the title, where it has one and they have none."""
    years = _years(chart.title)
    if len(years) != 1:
        return
    for place, point in enumerate(chart.points):
        if point.evidence_id in told and not _years(f"{point.series} {point.label} {point.date}"):
            one = told[point.evidence_id]
            if not years & (_years(one.quote) | _years(one.over)):
                yield place, f"the title says {min(years)}, and neither the passage nor what stands over it does"


def _years(text: str) -> set[int]:
    found = figures(text)
    return {int(one.value) for one in found if one.dated} | {one.year for one in found if one.year}


def renumbered(chart: PlannedChart, before: PlannedChart) -> dict[int, str]:
    """Return the points that got another number from another quote since the chart was planned, by their places."""
    was = {(point.series, point.name): point for point in before.points}
    changed: dict[int, str] = {}
    for place, point in enumerate(chart.points):
        old = was.get((point.series, point.name), point)
        if old.value is not None and old.value != point.value and old.evidence_id != point.evidence_id:
            changed[place] = f"{point.name!r} had the number {old.value:,.12g} first, of another passage"
    return changed


def _nowhere(chart: PlannedChart, told: Mapping[str, Told]) -> Iterator[tuple[int, str]]:
    """Yield the points of which a label or series, by what sets it apart from the others, stands nowhere."""
    spoken = language(" ".join((chart.title, chart.y_label, *(f"{one.series} {one.name}" for one in chart.points))))
    held = {name: content_set("\n".join(one)) for name, one in told.items() if language(one.quote) == spoken}
    for kind in ("label", "series"):
        telling = _telling({getattr(point, kind) for point in chart.points})
        for place, point in enumerate(chart.points):
            name, of = getattr(point, kind), point.evidence_id
            if of not in held or not telling.get(name) or has_cjk(name) != has_cjk(told[of].quote):
                continue
            if not _stand(name, telling[name], "\n".join(told[of]), held[of]):
                yield place, f"{name!r} does not stand in the passage, nor over it"


def _telling(names: Iterable[str]) -> dict[str, frozenset[str]]:
    """Return the words of each name that not all of the names have; nothing of one alone. Figures are no words."""
    words = {name: frozenset(word for word in content_set(_unfigured(name)) if word.isalpha()) for name in names}
    shared = frozenset.intersection(*words.values()) if words else frozenset()
    return {name: own - shared for name, own in words.items()} if len(words) > 1 else {}


def _unfigured(name: str) -> str:
    """Return a name without its figures, dates among them: those are held against the quote themselves."""
    folded = fold(name)
    for figure in figures(name):
        folded = folded[: figure.at] + " " * len(figure.said) + folded[figure.at + len(figure.said) :]
    return folded


def _stand(name: str, telling: frozenset[str], text: str, held: frozenset[str]) -> bool:
    """Return whether a text, of the words `held`, has half of these words of a name; `fund` alone is no name."""
    stems = {word[:_STEM] for word in held if len(word) >= _STEM}
    found = {word for word in telling if word in held or word[:_STEM] in stems}
    if 2 * len(found) >= len(telling):
        return True
    own = {word: content_set(word) & telling for word in _WORD.findall(name)}
    found = found.union(*(own[word] for word in own if own[word] and naming.stands(word, text)))
    codes = (code for code in _CODE.findall(text) if content_set(code))
    return 2 * len(found) >= len(telling) or any(naming.stands(code, name) for code in codes)
