"""Whether a chart pairs the names and numbers of a quote otherwise than by their order there.

Where names and numbers take turns, their orders are the same. Where all names stand on one side, either order may be
meant (`A, against B, rose from 1 to 2`), but one for all series. Only what is said once tells anything.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

from leadline_plugins.charts.borne import bearing
from leadline_plugins.charts.points import Point
from leadline_plugins.charts.quoted import unmarked
from leadline_plugins.charts.tasks import PlannedChart
from leadline_plugins.text.tokens import fold

_Name = Callable[[Point], str]
_Group = tuple[int, ...]
"""Places of points in a chart."""
_AXES: tuple[tuple[_Name, _Name], ...] = (
    (lambda point: point.name, lambda point: point.series),
    (lambda point: point.series, lambda point: point.name),
)
"""By what points that a quote tells of differ, and what they share."""
_TURNED = "the passage names these in one order and their numbers in another"
_MIXED = "the passage gives some numbers in the order in which it names things, others in another"


def crossed(chart: PlannedChart, quotes: Mapping[str, str]) -> Iterator[tuple[int, str]]:
    """Yield the points of which a quote, by its order, says another number, by their places; `quotes` by their ids."""
    for name, shared in _AXES:
        ways: dict[tuple[str, int], dict[_Group, Sequence[int]]] = defaultdict(dict)
        for of, places in _groups(chart, shared):
            points = [chart.points[place] for place in places]
            spots = _spots(quotes[of], points, name, chart.unit) if of in quotes and len(points) > 1 else []
            order = _order(spots)
            if _take_turns(spots):
                yield from ((place, _TURNED) for place in _misplaced(places, spots))
            elif _stand_apart(spots):
                ways[of, len(places)][places] = order
        for found in ways.values():
            if len(set(map(tuple, found.values()))) > 1:
                yield from ((place, _MIXED) for places in found for place in places)


def _groups(chart: PlannedChart, shared: _Name) -> Iterator[tuple[str, _Group]]:
    """Yield the points of one quote that share a name, by the quote."""
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for place, point in enumerate(chart.points):
        groups[point.evidence_id, shared(point)].append(place)
    return ((of, tuple(places)) for (of, _), places in groups.items())


def _spots(quote: str, points: Sequence[Point], name: _Name, unit: str) -> list[tuple[int, int]]:
    """Return where a quote has the name and the number of each point; nothing where one of them is not said once."""
    folded = fold(unmarked(quote))
    spots = []
    for point in points:
        said = fold(name(point)).strip()
        named = [found.start() for found in re.finditer(rf"(?<![a-z0-9]){re.escape(said)}(?![a-z0-9])", folded)]
        told = [] if point.value is None else [figure.at for figure in bearing(quote, point.value, unit)]
        if not said or len(named) != 1 or len(told) != 1:
            return []
        spots.append((named[0], told[0]))
    return spots


def _order(spots: Sequence[tuple[int, int]]) -> list[int]:
    """Return for each number, in their order, the how manyth of the names is paired with it."""
    names = sorted(name for name, _ in spots)
    return [names.index(name) for name, _ in sorted(spots, key=lambda spot: spot[1])]


def _misplaced(places: _Group, spots: Sequence[tuple[int, int]]) -> Iterator[int]:
    """Yield the places of the points that have the number of another one, where names and numbers take turns."""
    names, numbers = (sorted(kind) for kind in zip(*spots, strict=True))
    for place, (name, number) in zip(places, spots, strict=True):
        if names.index(name) != numbers.index(number):
            yield place


def _take_turns(spots: Sequence[tuple[int, int]]) -> bool:
    """Return whether names and numbers take turns in a quote."""
    kinds = [kind for _, kind in sorted((at, kind) for spot in spots for kind, at in enumerate(spot))]
    return bool(kinds) and all(one != other for one, other in pairwise(kinds))


def _stand_apart(spots: Sequence[tuple[int, int]]) -> bool:
    """Return whether all names stand before all numbers, or behind them."""
    names, numbers = [name for name, _ in spots], [number for _, number in spots]
    return bool(spots) and (max(names) < min(numbers) or max(numbers) < min(names))
