"""Where a claim says something else than its passage: figures, dates, names, yes and no, compared exactly."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from leadline_plugins.checks.asides import aside
from leadline_plugins.checks.comparisons import inexact, other_since, turned, untrue
from leadline_plugins.checks.conventions import doubtful
from leadline_plugins.checks.derived import derived
from leadline_plugins.checks.figure import Figure, differ, missing
from leadline_plugins.checks.figures import figures
from leadline_plugins.checks.naming import missing_names, proper_names
from leadline_plugins.checks.opposites import opposed
from leadline_plugins.checks.passages import Passage
from leadline_plugins.checks.periods import other_period
from leadline_plugins.checks.places import near, other_figure, other_name
from leadline_plugins.checks.polarity import contrary
from leadline_plugins.text.language import language

_DIGIT = re.compile(r"\d")
_SIGNS = {"least": "> ", "floor": "≥ ", "most": "< ", "near": "< ", "ceiling": "≤ "}
"""Bounds as they are named: `more than` is above its number, `at least` may be it."""
_SMALL = 12
"""Up to here a count mostly is written in words."""


@dataclass(frozen=True)
class Conflict:
    """What the claim says, and what the passage has in its place (empty where that is not one thing)."""

    kind: Literal["figure", "name", "negation", "opposite", "comparison", "period"]
    said: str
    found: str = ""
    certain: bool = False
    """Whether nothing is left to ask: the passage has another figure or name in its very place, and the source nowhere
    has the claim's own."""
    word: str = ""
    """Of a negation the word that one denies and the other says; none where the passage has nothing of it."""
    sign: str = ""
    """The bound of what the claim says, where the passage has the same number."""
    rest: str = ""
    """What the claim says beside such a negation."""

    @property
    def contradicts(self) -> bool:
        """Whether the passage says otherwise; else it only lacks what the claim says."""
        return bool(self.found) or self.kind == "negation"


def conflicts(claim: str, passage: Passage, around: str) -> Iterator[Conflict]:
    """Yield what of a claim the passage contradicts; `around` is all that may bear a figure or name besides.

    A name must stand somewhere around; a figure in the passage itself, or else somewhere around while the passage has
    no other of its kind. Neither may have another in its place, among the same words.
    """
    yield from _figures(claim, passage, around)
    yield from _names(claim, passage, around)
    if denied := contrary(claim, passage.best):
        yield Conflict("negation", denied.said, word=denied.word, rest=denied.rest)
    if pair := opposed(claim, passage.best):
        yield Conflict("opposite", *pair)
    yield from _comparisons(claim, passage)
    if pair := other_period(claim, passage.parts, around):
        yield Conflict("period", *pair)


def _comparisons(claim: str, passage: Passage) -> Iterator[Conflict]:
    if said := untrue(claim):
        yield Conflict("comparison", said)
    for pair in (turned(claim, passage.text), other_since(claim, passage.best), inexact(claim, passage.text)):
        if pair:
            yield Conflict("comparison", *pair)


def _figures(claim: str, passage: Passage, around: str) -> Iterator[Conflict]:
    said, held = figures(claim), figures(passage.text)
    others, absent = missing(held, said), missing(said, held)
    unsure = doubtful(said, held, claim, around)
    for figure in said:
        if figure in absent:
            if derived(figure, claim, said, passage.text, around):
                continue
            instead = [other for other in others if other.kind == figure.kind]
            if instead:
                yield _instead(figure, instead, other_figure(figure, claim, passage.parts), around)
            elif not _borne_around(figure, claim, around):
                yield Conflict("figure", figure.said)
        elif other := other_figure(figure, claim, (*passage.parts, around)):
            yield Conflict("figure", figure.said, _found(figure, other), sign=_sign(figure, figure, other))
        elif figure in unsure:
            yield Conflict("figure", figure.said)


def _instead(figure: Figure, others: Sequence[Figure], placed: Figure | None, around: str) -> Conflict:
    """Return the conflict with the figure that stands in the claim's place, or else with the likest of its kind.

    Figures of one kind are many in a passage, and most are of something else: only the one in its place is certain, and
    only while the claim's own stands nowhere in the source.
    """
    other = placed or _nearest(figure, others)
    small = any(_small(one) for one in (figure, other))
    certain = placed is not None and not small and differ(figure, placed) and bool(missing([figure], figures(around)))
    return Conflict("figure", figure.said, _found(figure, other), certain=certain, sign=_sign(figure, figure, other))


def _nearest(figure: Figure, others: Sequence[Figure]) -> Figure:
    """Return the figure that is told the most like one: with its unit that is not read, decimals where it has them."""
    return min(others, key=lambda one: (one.tail != figure.tail, _whole(one) != _whole(figure)))


def _whole(figure: Figure) -> bool:
    return int(figure.value.as_tuple().exponent) >= 0


def _found(figure: Figure, other: Figure) -> str:
    """Return a figure of the passage as it is said, with its bound where nothing else differs: `≥ 25`."""
    return f"{_sign(other, figure, other)}{other.said}"


def _sign(of: Figure, one: Figure, other: Figure) -> str:
    """Return the bound of a figure as a sign, where two figures have one value: more than 25 is not less than 25."""
    return _SIGNS.get(of.bound, "") if one.value == other.value else ""


def _small(figure: Figure) -> bool:
    """Return whether a figure is a small count in words, as a text may have it of anything: `the two plants`."""
    return not figure.unit and not _DIGIT.search(figure.said) and figure.value <= _SMALL


def _borne_around(figure: Figure, claim: str, around: str) -> bool:
    """Return whether what stands around the passage bears a figure: a date may stand far off, as that of the page."""
    dated = figure.kind in ("year", "month")
    return not missing([figure], figures(around)) and (dated or near(figure, claim, around))


def _names(claim: str, passage: Passage, around: str) -> Iterator[Conflict]:
    absent = missing_names(claim, around)
    for name in proper_names(claim):
        other = other_name(name, claim, passage.parts)
        if other or name in absent:
            certain = bool(other) and name in absent and _surely_a_name(name, claim)
            certain = certain and not aside(name, claim) and not _said_aside(other, passage)
            yield Conflict("name", name, other, certain=certain)


def _said_aside(name: str, passage: Passage) -> bool:
    """Return whether a passage says a name by the way, wherever it has it."""
    return all(aside(name, part) for part in passage.parts if name in part)


def _surely_a_name(name: str, claim: str) -> bool:
    """Return whether a capital makes a name: not in German, whose nouns all have one, nor in scripts without."""
    return name.upper() != name.lower() and language(claim) != "de"
