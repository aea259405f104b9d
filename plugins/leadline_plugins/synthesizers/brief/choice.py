"""Choose what a brief shows: the sentences that cover the question best, then what surrounds them in their passages."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from leadline.records import Evidence
from leadline_plugins.passages import Bm25
from leadline_plugins.synthesizers.brief.chains import STEPS, Chain, Link, Weights, chains, ratings
from leadline_plugins.synthesizers.brief.names import key, telling, unasked
from leadline_plugins.synthesizers.brief.units import Unit, units
from leadline_plugins.text import Said, content_set, content_words, length
from leadline_plugins.text.tokens import has_cjk

_CANDIDATES = 60
"""Passages whose sentences are rated, the best by their words."""
_WORDS = 0.3
"""The weight of BM25 beside the score of the best chain."""
_NEAR, _DOCUMENTS = 0.7, 4
"""Documents from this share of the best rating are shown, and at most so many."""
_WHOLE = 0.5
"""A passage of at most this share of the room is shown whole."""
_PAIR = 0.5
"""The weight of a pair of CJK characters beside a word: every word of two has one more pair with the next."""
_FIRST = 0.6
"""Sentences from this share of the best rating are shown first, and then what surrounds them."""


@dataclass(frozen=True)
class Rated:
    """The units of the best passages, each with its rating for a question."""

    passages: Sequence[Evidence]
    units: Sequence[Unit]
    ratings: Sequence[float]
    links: Sequence[Link]
    chains: Sequence[Chain]
    weights: Weights

    def source(self, place: int) -> str:
        """Return the id of the source that a unit is from."""
        return self.passages[self.units[place].passage].source_id

    def best_first(self) -> list[int]:
        """Return the places of the units that have anything of the question."""
        found = (place for place, rating in enumerate(self.ratings) if rating > 0)
        return sorted(found, key=lambda place: (-self.ratings[place], place))


def rate(question: str, passages: Sequence[Evidence], titles: Mapping[str, str]) -> Rated:
    """Rate the units of the passages that share the most words with a question; `titles` are by source id."""
    headings = [" ".join((titles.get(item.source_id, ""), *item.path)) for item in passages]
    index = Bm25([f"{item.lead}\n{item.quote}" for item in passages], headings)
    scores = index.scores(question)
    best = sorted(sorted(scores, key=lambda place: (-scores[place], place))[:_CANDIDATES])
    found = [unit for place in best for unit in units(passages[place].quote, place)]
    weights = _weights(question, index, len(passages))
    known = frozenset(weights)
    links = [
        Link(
            held=known & content_set(unit.text),
            titled=known & content_set(headings[unit.passage]),
            names=frozenset(unasked(unit.text, known)),
            about=key(titles.get(passages[unit.passage].source_id, "")),
        )
        for unit in found
    ]
    ranked = chains(weights, links, 0 if has_cjk(question) else STEPS)
    words = Bm25([unit.text for unit in found], [headings[unit.passage] for unit in found]).scores(question)
    most = max(words.values(), default=1.0)
    rated = [rating + _WORDS * words.get(place, 0.0) / most for place, rating in enumerate(ratings(len(found), ranked))]
    return Rated(passages, found, rated, links, ranked, weights)


def _weights(question: str, index: Bm25, count: int) -> Weights:
    """Return the weights of the words of a question: those in fewer passages say more.

    The differences are smaller than those of BM25, by which a word in every passage is worth nothing. A pair of CJK
    characters is half a word.
    """
    raw = {word: math.log(1 + (count + 1) / (index.count(word) + 0.5)) for word in content_words(question)}
    raw = {word: value * _PAIR if has_cjk(word) else value for word, value in raw.items()}
    total = sum(raw.values())
    return {word: value / total for word, value in raw.items()}


def choose(rated: Rated, room: float, language: str) -> list[int]:
    """Return the places of the units to show within so many words (CJK: characters), in the order of the passages."""
    order = rated.best_first()
    if not order:
        return []
    best: dict[str, float] = {}
    for place in order:
        best.setdefault(rated.source(place), rated.ratings[place])
    top = rated.ratings[order[0]]
    shown = [name for name, rating in best.items() if rating >= _NEAR * top][:_DOCUMENTS]
    order = [place for place in order if rated.source(place) in shown]
    first = [place for place in order if rated.ratings[place] >= _FIRST * top and rated.units[place].whole]
    choice = _Choice(rated, room, language)
    own = _by_passage(rated)
    for place in first:
        passage = rated.units[place].passage
        small = length(rated.passages[passage].quote, language) <= _WHOLE * room
        for one in (place, *own[passage]) if small else (place,):
            choice.take(one)
    for place in _around(rated, order, own):
        choice.take(place)
    return _without_labels(rated, choice.taken)


def _without_labels(rated: Rated, taken: set[int]) -> list[int]:
    """Return the places in order, without captions and labels that nothing of their passage follows."""
    kept: list[int] = []
    for place in sorted(taken, reverse=True):
        follows = kept and kept[-1] == place + 1 and rated.units[place + 1].passage == rated.units[place].passage
        if rated.units[place].whole or follows:
            kept.append(place)
    return kept[::-1]


def _by_passage(rated: Rated) -> dict[int, list[int]]:
    own: dict[int, list[int]] = defaultdict(list)
    for place, unit in enumerate(rated.units):
        own[unit.passage].append(place)
    return own


def _around(rated: Rated, order: Sequence[int], own: Mapping[int, Sequence[int]]) -> Iterator[int]:
    """Yield all units of passages, the passage with the best unit first; of each those nearest to its best unit."""
    best: dict[int, int] = {}
    for place in order:
        best.setdefault(rated.units[place].passage, place)
    for passage, at in best.items():
        whole = (place for place in own[passage] if rated.units[place].whole)
        yield from sorted(whole, key=lambda place: (abs(place - at), -place))


class _Choice:
    """Takes units while there is room, and none that repeats another."""

    def __init__(self, rated: Rated, room: float, language: str) -> None:
        self.taken: set[int] = set()
        self._rated = rated
        self._room = room
        self._language = language
        self._said = Said()

    def take(self, place: int) -> None:
        """Take a unit with those that it needs."""
        unit = self._rated.units[place]
        own = [one for one in self._with_needed(place) if one not in self.taken]
        size = sum(length(self._rated.units[one].text, self._language) for one in own)
        if not own or size > self._room or self._said.repeats(content_set(unit.text), telling(unit.text)):
            return
        self._room -= size
        self.taken.update(own)
        for one in own:
            self._said.add(content_set(self._rated.units[one].text))
        for one in sorted(own):
            for led in self._led(one):
                self.take(led)

    def _led(self, place: int) -> Iterator[int]:
        """Yield the units of the list, table or code that a unit introduces."""
        units = self._rated.units
        if not units[place].introduces or place + 1 == len(units):
            return
        block, passage = units[place + 1].block, units[place].passage
        for one in range(place + 1, len(units)):
            if units[one].block is not block or units[one].passage != passage:
                return
            yield one

    def _with_needed(self, place: int) -> list[int]:
        found = [place]
        while needs := self._rated.units[found[-1]].needs:
            found.append(found[-1] - needs)
        return found
