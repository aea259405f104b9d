"""Where a claim says something else than its passage: figures, dates, names, yes and no, compared exactly."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from leadline_plugins.ai.embedded.names import key, names
from leadline_plugins.checks.figures import figures, missing
from leadline_plugins.checks.passages import Passage
from leadline_plugins.checks.polarity import contrary, opposed
from leadline_plugins.text import content_words

_FIRST = re.compile(r"[^\w]*([A-ZÀ-ÖØ-Þ][a-zà-öø-ÿ'’-]+)\b")


@dataclass(frozen=True)
class Conflict:
    """What the claim says, and what the passage has in its place (empty where that is not one thing)."""

    kind: Literal["figure", "name", "negation", "opposite"]
    said: str
    found: str = ""


def conflicts(claim: str, passage: Passage, around: str) -> Iterator[Conflict]:
    """Yield what of a claim the passage contradicts; `around` is all that may bear a figure or name besides.

    A name must stand somewhere around; a figure in the passage itself, or else somewhere around while the passage has
    no other figure that the claim has not.
    """
    yield from _figures(claim, passage, around)
    yield from _names(claim, passage, around)
    if word := contrary(claim, passage.best):
        yield Conflict("negation", word)
    if pair := opposed(claim, passage.best):
        yield Conflict("opposite", *pair)


def _figures(claim: str, passage: Passage, around: str) -> Iterator[Conflict]:
    said = figures(claim)
    others = missing(figures(passage.text), said)
    for figure in missing(said, figures(passage.text)):
        instead = [other for other in others if other.month == figure.month]
        if instead or missing([figure], figures(around)):
            yield Conflict("figure", figure.said, instead[0].said if instead else "")


def _names(claim: str, passage: Passage, around: str) -> Iterator[Conflict]:
    said = set(content_words(claim))
    others = [name for name in proper_names(passage.text) if not said & set(key(name))]
    for name in missing_names(claim, around):
        instead = [other for other in others if _like(name, other)]
        yield Conflict("name", name, instead[0] if instead else "")


def missing_names(claim: str, text: str) -> list[str]:
    """Return the names of a claim of which a text holds no part."""
    named = proper_names(claim)
    held = _vocabulary(text) if named else frozenset()
    return [name for name in named if not held & set(key(name))]


@lru_cache(maxsize=64)
def _vocabulary(text: str) -> frozenset[str]:
    return frozenset(content_words(text))


def proper_names(text: str) -> list[str]:
    """Return the names in a text, without the one word whose capital may be its sentence's."""
    first = _FIRST.match(text)
    opener = first.group(1) if first else ""
    return [name for name in names(text) if name != opener and key(name)]


def _like(name: str, other: str) -> bool:
    return _coded(name) == _coded(other)


def _coded(name: str) -> bool:
    """Return whether a name is an abbreviation or a code: capitals or digits throughout."""
    return name.isascii() and all(not part.islower() and not part.istitle() for part in name.split())
