"""Sought: how much of what a search asks for stands in each of some texts.

A search is typed as a row of words, or, in Chinese, Japanese and Korean, as parts with spaces between them. Most name
things of which a passage has one or two: `契税 房产税 非税收入 增长`. So each is a thing asked for, the rarer among
the texts the more it counts, and a name counts double.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log

from leadline_plugins.text.abbreviations import written_out
from leadline_plugins.text.tokens import content_set, content_words, has_cjk

_NAME = 2.0
"""How often a name counts: a word with a capital in it."""
_HALF = 0.5
"""The share of a part, its pairs of signs weighed, from which a text has it."""
_ENOUGH, _A_PART, _NEAR = 0.2, 0.15, 0.33
"""The shares of what a search asks for from which a text serves it; where it asks in parts, for one of them says more
than a word; and of what the best text has of it."""
_ACRONYM = re.compile(r"(?<!\w)[A-Z]{2,6}(?!\w)")
_BETWEEN = re.compile(r"[^\w.,%-]+")
"""What parts a search in Chinese, Japanese and Korean."""


@dataclass(frozen=True)
class _Thing:
    """One thing asked for: its words, whether it is a name, and the acronym in it."""

    words: tuple[str, ...]
    name: bool
    acronym: str = ""


class Sought:
    """Texts of which some searches ask; each with its content words, and those of the headings over it."""

    def __init__(self, queries: Iterable[str], texts: Iterable[tuple[str, frozenset[str], frozenset[str]]]) -> None:
        # No other word of the texts matters.
        asked = frozenset(word for query in queries for thing in _things(query) for word in thing.words)
        self._texts: list[str] = []
        self._places: defaultdict[str, list[int]] = defaultdict(list)
        for place, (text, words, over) in enumerate(texts):
            self._texts.append(text)
            for word in (asked & words) | (asked & over):
                self._places[word].append(place)

    def shares(self, query: str) -> dict[int, float]:
        """Return by the place of a text the share of what a search asks for that stands in it, from 0 to 1."""
        things = _things(query)
        weight = {word: self._weight(word) for thing in things for word in thing.words}
        worth = [_worth(thing, weight) for thing in things]
        whole = sum(worth)
        found: defaultdict[int, float] = defaultdict(float)
        for thing, most in zip(things, worth, strict=True):
            if thing.acronym or len(thing.words) > 1:
                for place, share in self._held(thing, weight).items():
                    found[place] += most * share / whole
                continue
            for place in self._places.get(thing.words[0], ()):  # most are one word, which a text has or has not
                found[place] += most / whole
        return dict(found)

    def _weight(self, word: str) -> float:
        """Return how much a word counts; one of no text as one of a single text: of a pair of signs it says nothing."""
        return log(1 + len(self._texts) / (max(1, len(self._places.get(word, ()))) + 0.5))

    def _held(self, thing: _Thing, weight: Mapping[str, float]) -> dict[int, float]:
        """Return how much of a thing stands in each text: of its words some, of the numbers among them all."""
        held: defaultdict[int, float] = defaultdict(float)
        whole = sum(weight[word] for word in thing.words)
        for word in thing.words:
            for place in self._places.get(word, ()):
                held[place] += weight[word] / whole
        numbers = [frozenset(self._places.get(word, ())) for word in thing.words if word.isdigit()]
        enough = {
            place: share for place, share in held.items() if share >= _HALF and all(place in one for one in numbers)
        }
        if thing.acronym:
            full = written_out(thing.acronym)
            enough |= {place: 1.0 for place, text in enumerate(self._texts) if place not in held and full.search(text)}
        return enough


def shares_of(queries: Sequence[str], texts: Iterable[tuple[str, str]]) -> list[dict[int, float]]:
    """Return for each search the shares of it that stand in texts, each given with what stands over it."""
    sought = Sought(queries, ((text, content_set(text), content_set(over)) for text, over in texts))
    return [sought.shares(query) for query in queries]


def _worth(thing: _Thing, weight: Mapping[str, float]) -> float:
    return (_NAME if thing.name else 1.0) * sum(weight[word] for word in thing.words) / len(thing.words)


def enough(query: str, shares: Mapping[int, float]) -> dict[int, float]:
    """Return those of the shares from which a text serves a search: enough by itself, and beside the best."""
    least = max(_A_PART if has_cjk(query) else _ENOUGH, _NEAR * max(shares.values(), default=0.0))
    return {place: share for place, share in shares.items() if share >= least}


@lru_cache(maxsize=256)
def _things(query: str) -> tuple[_Thing, ...]:
    found: dict[tuple[str, ...], _Thing] = {}
    for part in _BETWEEN.split(query) if has_cjk(query) else query.split():
        words, acronym, name = content_words(part), _ACRONYM.search(part), any(map(str.isupper, part))
        # Of `2019年` the year: a sign alone is a part of other words.
        whole = tuple(dict.fromkeys(word for word in words if len(word) > 1)) or tuple(words)
        for some in filter(None, [whole] if has_cjk(part) else [(word,) for word in words]):
            found.setdefault(some, _Thing(some, name, acronym[0] if acronym else ""))
    return tuple(found.values())
