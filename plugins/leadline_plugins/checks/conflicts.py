"""Where a claim says something else than its passage: figures, dates, names, yes and no, compared exactly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from leadline_plugins.checks.figure import Figure, missing
from leadline_plugins.checks.figures import figures
from leadline_plugins.checks.naming import missing_names, proper_names
from leadline_plugins.checks.passages import Passage
from leadline_plugins.checks.places import near, other_figure, other_name
from leadline_plugins.checks.polarity import contrary, opposed


@dataclass(frozen=True)
class Conflict:
    """What the claim says, and what the passage has in its place (empty where that is not one thing)."""

    kind: Literal["figure", "name", "negation", "opposite"]
    said: str
    found: str = ""

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
    if word := contrary(claim, passage.best):
        yield Conflict("negation", word)
    if pair := opposed(claim, passage.best):
        yield Conflict("opposite", *pair)


def _figures(claim: str, passage: Passage, around: str) -> Iterator[Conflict]:
    said, held = figures(claim), figures(passage.text)
    others, absent = missing(held, said), missing(said, held)
    for figure in said:
        if figure in absent:
            instead = [other for other in others if other.kind == figure.kind]
            if instead or not _borne_around(figure, claim, around):
                yield Conflict("figure", figure.said, instead[0].said if instead else "")
        elif other := other_figure(figure, claim, (*passage.parts, around)):
            yield Conflict("figure", figure.said, other.said)


def _borne_around(figure: Figure, claim: str, around: str) -> bool:
    """Return whether what stands around the passage bears a figure: a date may stand far off, as that of the page."""
    dated = figure.kind in ("year", "month")
    return not missing([figure], figures(around)) and (dated or near(figure, claim, around))


def _names(claim: str, passage: Passage, around: str) -> Iterator[Conflict]:
    absent = missing_names(claim, around)
    for name in proper_names(claim):
        other = other_name(name, claim, passage.parts)
        if other or name in absent:
            yield Conflict("name", name, other)
