"""Choose what a brief shows: the sentences that cover the question best, then what surrounds them in their passages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from leadline.records import Evidence, Source
from leadline_plugins.passages.rank import Bm25, KeyQuestion, by_words
from leadline_plugins.synthesizers.brief.chains import STEPS, Chain, Link, Weights, chains, ratings, title_of, weights
from leadline_plugins.synthesizers.brief.names import key, telling, unasked
from leadline_plugins.synthesizers.brief.units import Unit, units
from leadline_plugins.text import Said, content_set, content_words, is_cjk, length
from leadline_plugins.text.tokens import has_cjk

CANDIDATES = 60
"""Passages whose sentences are rated, the best by their words."""
WORDS = 0.3
"""The weight of BM25 beside the score of the best chain."""
NEAR = 0.7
"""Documents are shown from this share of the best rating."""
DOCUMENTS = 4
SEED = 0.6
"""Sentences from this share of the best rating are shown first, before what surrounds them."""


@dataclass(frozen=True)
class Rated:
    """The units of the best passages, rated for a question."""

    passages: Sequence[Evidence]
    units: Sequence[Unit]
    ratings: Sequence[float]
    links: Sequence[Link]
    chains: Sequence[Chain]
    weights: Weights


def rate(question: str, passages: Sequence[Evidence], sources: Sequence[Source]) -> Rated:
    """Rate what the passages that share the most words with a question say."""
    titles = {one.id: title_of(one) for one in sources}
    scores = by_words(passages, titles, [KeyQuestion(question)])[0] if passages else {}
    best = [passages[place] for place in sorted(sorted(scores, key=lambda place: (-scores[place], place))[:CANDIDATES])]
    by_id = {one.id: one for one in sources}
    found = units(best, by_id)
    terms = tuple(dict.fromkeys(content_words(question)))
    weight = weights(terms, sources)
    links = [_link(frozenset(terms), unit, best[unit.passage], titles) for unit in found]
    ranked = chains(weight, links, 0 if has_cjk(question) else STEPS)
    words = Bm25([unit.text for unit in found], [_heading(best[unit.passage], titles) for unit in found])
    said = words.scores(question)
    most = max(said.values(), default=0.0) or 1.0
    rated = [one + WORDS * said.get(place, 0.0) / most for place, one in enumerate(ratings(len(found), ranked))]
    return Rated(best, found, rated, links, ranked, weight)


def _heading(passage: Evidence, titles: Mapping[str, str]) -> str:
    return " ".join((titles.get(passage.source_id, ""), *passage.path))


def _link(known: frozenset[str], unit: Unit, passage: Evidence, titles: Mapping[str, str]) -> Link:
    title = key(titles.get(passage.source_id, ""))
    return Link(
        held=known & content_set(unit.text),
        titled=known & content_set(_heading(passage, titles)),
        names=frozenset(unasked(unit.text, known)),
        about=title,
        asked=known.issuperset(title),
    )


def choose(rated: Rated, room: float, language: str) -> list[int]:
    """Return the places of the units to show, in the order of their passages."""
    order = sorted(range(len(rated.units)), key=lambda place: (-rated.ratings[place], place))
    order = [place for place in order if rated.ratings[place] > 0]
    if not order:
        return []
    kept = _documents(rated, order)
    order = [place for place in order if rated.passages[rated.units[place].passage].source_id in kept]
    choice = _Choice(rated, room, language)
    least = SEED * rated.ratings[order[0]]
    for place in order:
        if rated.ratings[place] >= least:
            choice.take(place)
    for place in _around(rated, order):
        choice.take(place)
    return sorted(choice.taken)


def _documents(rated: Rated, order: Sequence[int]) -> list[str]:
    """Return the ids of the documents to show, best first."""
    best: dict[str, float] = {}
    for place in order:
        best.setdefault(rated.passages[rated.units[place].passage].source_id, rated.ratings[place])
    least = NEAR * rated.ratings[order[0]]
    return [name for name, rating in best.items() if rating >= least][:DOCUMENTS]


def _around(rated: Rated, order: Sequence[int]) -> Iterator[int]:
    """Yield the units of the passages, the passage with the best sentence first, the nearest to that first."""
    places: dict[int, list[int]] = defaultdict(list)
    for place, unit in enumerate(rated.units):
        places[unit.passage].append(place)
    for passage, best in dict((rated.units[place].passage, place) for place in reversed(order)).items():
        yield from ()
    first: dict[int, int] = {}
    for place in order:
        first.setdefault(rated.units[place].passage, place)
    for passage, best in first.items():
        yield from sorted(places[passage], key=lambda place: (abs(place - best), -place))


@dataclass
class _Choice:
    rated: Rated
    room: float
    language: str
    taken: set[int] = field(default_factory=set)
    _said: Said = field(default_factory=Said)
    _shown: set[object] = field(default_factory=set)

    def take(self, place: int) -> None:
        """Take a unit with what it needs, where there is room and it is not there already."""
        own = [one for one in range(place - self._needs(place), place + 1) if one not in self.taken]
        size = sum(length(self.rated.units[one].text, self.language) for one in own)
        if not own or size > self.room:
            return
        unit = self.rated.units[place]
        words = content_set(unit.text)
        if self._said.repeats(words, telling(unit.text)):
            return
        self.room -= size
        self.taken.update(own)
        for one in own:
            self._said.add(content_set(self.rated.units[one].text))

    def _needs(self, place: int) -> int:
        count = 0
        while self.rated.units[place - count].needs and count < 4:
            count += 1
        return count
