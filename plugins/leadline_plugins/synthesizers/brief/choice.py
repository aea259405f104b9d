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
_WIDER = 0.25
"""The weight of a word that only the whole question has."""
_NEAR, _DOCUMENTS = 0.7, 4
"""Documents from this share of the best rating are shown, and at most so many."""
_WHOLE = 0.5
"""A passage of at most this share of the room is shown whole."""
_LEFT = 0.15
"""With less than this share of the room left no other passage is begun: a brief is rather shorter."""
_PAIR = 0.5
"""The weight of a pair of CJK characters beside a word: every word of two has one more pair with the next."""
_NAMED = 0.5
"""A heading with this share of the question, by weight, names the section that answers it."""
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


def rate(question: str, passages: Sequence[Evidence], titles: Mapping[str, str], whole: str = "") -> Rated:
    """Rate the units of the passages that share the most words with a question; `titles` are by source id.

    `whole` is the question that it is a part of: its words count less, since a part may name its subject by a pronoun.
    """
    headings = [" ".join((titles.get(item.source_id, ""), *item.path)) for item in passages]
    index = Bm25([f"{item.lead}\n{item.quote}" for item in passages], headings)
    scores = index.scores(f"{question} {whole}")
    best = sorted(sorted(scores, key=lambda place: (-scores[place], place))[:_CANDIDATES])
    found = [unit for place in best for unit in units(passages[place].quote, place)]
    weights = _weights(question, whole, index, len(passages))
    known = frozenset(weights)
    asked = {place: _asked(passages[place].path, known) for place in best}
    links = [
        Link(
            held=known & content_set(unit.text),
            titled=known & content_set(headings[unit.passage]),
            names=frozenset(unasked(unit.text, known)),
            about=key(titles.get(passages[unit.passage].source_id, "")),
            asked=asked[unit.passage],
        )
        for unit in found
    ]
    ranked = chains(weights, links, 0 if has_cjk(question) else STEPS)
    words = Bm25([unit.text for unit in found], [headings[unit.passage] for unit in found]).scores(question)
    most = max(words.values(), default=1.0)
    rated = [rating + _WORDS * words.get(place, 0.0) / most for place, rating in enumerate(ratings(len(found), ranked))]
    return Rated(passages, found, rated, links, ranked, weights)


def _asked(path: Sequence[str], known: frozenset[str]) -> frozenset[str]:
    """Return the terms of the headings that have none but known ones, apart from their numbers."""
    headings = (frozenset(term for term in content_set(one) if any(map(str.isalpha, term))) for one in path)
    return frozenset[str]().union(*(terms for terms in headings if terms <= known))


def _weights(question: str, whole: str, index: Bm25, count: int) -> Weights:
    """Return the weights of the words of a question: those in fewer passages say more.

    The differences are smaller than those of BM25, by which a word in every passage is worth nothing. A pair of CJK
    characters is half a word.
    """
    words = dict.fromkeys(content_words(whole), _WIDER) | dict.fromkeys(content_words(question), 1.0)
    raw = {word: share * math.log(1 + (count + 1) / (index.count(word) + 0.5)) for word, share in words.items()}
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
    first = [place for place in order if rated.ratings[place] >= _FIRST * top and _tells(rated, place)]
    choice = _Choice(rated, room, language)
    own = _by_passage(rated)
    if section := _section(rated, order):
        choice.surround(section[0], section)
    for place in first:
        passage = rated.units[place].passage
        small = length(rated.passages[passage].quote, language) <= _WHOLE * room
        if small or (place == first[0] and rated.units[place].block.kind != "paragraph"):
            choice.surround(place, own[passage])
        else:
            choice.take(place)
    for place in first:
        choice.surround(place, own[rated.units[place].passage])
    return _without_labels(rated, choice.taken)


def _tells(rated: Rated, place: int) -> bool:
    """Return whether a unit can be shown by itself and has more of the question than its headings."""
    return rated.units[place].whole and bool(rated.links[place].held)


def _section(rated: Rated, order: Sequence[int]) -> list[int]:
    """Return the units of the section that the question names by its heading, in their order; mostly there is none."""
    asked = {place: sum(rated.weights[term] for term in rated.links[place].asked) for place in order}
    named = [place for place in order if asked[place] >= _NAMED]
    if not named:
        return []
    best = max(named, key=lambda place: asked[place])  # the first of them: max keeps the order by rating
    terms, source = rated.links[best].asked, rated.source(best)
    return sorted(place for place in named if (rated.links[place].asked, rated.source(place)) == (terms, source))


def _without_labels(rated: Rated, taken: set[int]) -> list[int]:
    """Return the places in order, without captions, labels and lead-ins that nothing of their passage follows."""
    kept: list[int] = []
    for place in sorted(taken, reverse=True):
        follows = kept and kept[-1] == place + 1 and rated.units[place + 1].passage == rated.units[place].passage
        if follows or (rated.units[place].whole and not rated.units[place].introduces):
            kept.append(place)
    return kept[::-1] or sorted(taken)


def _by_passage(rated: Rated) -> dict[int, list[int]]:
    own: dict[int, list[int]] = defaultdict(list)
    for place, unit in enumerate(rated.units):
        own[unit.passage].append(place)
    return own


class _Choice:
    """Takes units while there is room, and none that repeats another."""

    def __init__(self, rated: Rated, room: float, language: str) -> None:
        self.taken: set[int] = set()
        self._rated = rated
        self._room = room
        self._least = _LEFT * room
        self._language = language
        self._said: dict[int, Said] = defaultdict(Said)
        """By passage: the rows of a table and the items of a list may be alike."""

    def take(self, place: int) -> None:
        """Take a unit with those that it needs; the first one even where it is longer than the room."""
        own = [one for one in self._with_needed(place) if one not in self.taken]
        size = sum(length(self._rated.units[one].text, self._language) for one in own)
        if not own or (self.taken and size > self._room) or self._repeats(place):
            return
        if self.taken and self._room < self._least and self._rated.units[place].passage not in self._said:
            return
        self._room -= size
        self.taken.update(own)
        for one in own:
            self._said[self._rated.units[one].passage].add(content_set(self._rated.units[one].text))
        for one in sorted(own):
            for led in self._led(one):
                self.take(led)

    def surround(self, place: int, own: Sequence[int]) -> None:
        """Take the units after and before one of a passage, in each direction until one is left out."""
        self.take(place)
        if place not in self.taken:
            return
        for side in (own[own.index(place) + 1 :], own[: own.index(place)][::-1]):
            for one in side:
                if self._apart(one, place):
                    break
                self.take(one)
                if one not in self.taken and self._rated.units[one].whole:
                    break

    def _apart(self, place: int, other: int) -> bool:
        """Return whether one of two units is an entry of a list of definitions: each defines something else."""
        return "definition" in (self._rated.units[place].block.kind, self._rated.units[other].block.kind)

    def _repeats(self, place: int) -> bool:
        unit = self._rated.units[place]
        words, names = content_set(unit.text), telling(unit.text)
        return any(said.repeats(words, names) for name, said in self._said.items() if name != unit.passage)

    def _led(self, place: int) -> Iterator[int]:
        """Yield the units of the list, table or code that a unit introduces."""
        units = self._rated.units
        if not units[place].introduces or place + 1 == len(units) or units[place + 1].block is units[place].block:
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
