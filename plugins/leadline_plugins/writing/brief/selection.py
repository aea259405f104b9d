"""Select the segments of a brief: those that cover the question best, then their surroundings."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from leadline.records import Evidence
from leadline_plugins.passages.ranking import Bm25
from leadline_plugins.text import content_set, content_words, length
from leadline_plugins.text.repeats import RepeatIndex
from leadline_plugins.text.tokens import has_cjk
from leadline_plugins.writing.brief.entity_chains import (
    STEPS,
    Chain,
    Link,
    Weights,
    chains,
    figures_and_names,
    name_key,
    new_names,
    ratings,
)
from leadline_plugins.writing.brief.segments import Segment, segments

# Passages whose segments are rated: the best by BM25.
_CANDIDATES = 60
# The weight of BM25 beside the score of the best chain.
_WORDS = 0.3
# The weight of a word that is only in the whole question.
_WIDER = 0.25
# Documents rated at least this share of the best are shown, up to this number.
_NEAR, _DOCUMENTS = 0.7, 4
# Passages of up to this share of the room are shown whole.
_WHOLE = 0.5
# With less than this share of the room left, no further passage is started.
_LEFT = 0.15
# The weight of a pair of CJK characters: a word of two characters makes two pairs.
_PAIR = 0.5
# A heading with this share of the question's weight names the section that answers it.
_NAMED = 0.5
# Segments rated at least this share of the best are shown first, then their surroundings.
_FIRST = 0.6


@dataclass(frozen=True)
class Rated:
    """The segments of the best passages, rated for a question."""

    passages: Sequence[Evidence]
    segments: Sequence[Segment]
    ratings: Sequence[float]
    links: Sequence[Link]
    chains: Sequence[Chain]
    weights: Weights

    def source(self, place: int) -> str:
        """Return the id of a segment's source."""
        return self.passages[self.segments[place].passage].source_id

    def best_first(self) -> list[int]:
        """Return the indices of the segments with a rating above 0."""
        found = (place for place, rating in enumerate(self.ratings) if rating > 0)
        return sorted(found, key=lambda place: (-self.ratings[place], place))


def rate(question: str, passages: Sequence[Evidence], titles: Mapping[str, str], whole: str = "") -> Rated:
    """Rate the segments of the passages that share most words with a question; `titles` are by source id.

    `whole` is the question of the run. Its words count less, but a key question may name its subject only by a pronoun.
    """
    headings = [" ".join((titles.get(item.source_id, ""), *item.path)) for item in passages]
    index = Bm25([f"{item.lead}\n{item.quote}" for item in passages], headings)
    scores = index.scores(f"{question} {whole}")
    best = sorted(sorted(scores, key=lambda place: (-scores[place], place))[:_CANDIDATES])
    found = [unit for place in best for unit in segments(passages[place].quote, place)]
    weights = _weights(question, whole, index, len(passages))
    known = frozenset(weights)
    asked = {place: _heading_terms(passages[place].path, known) for place in best}
    links = [
        Link(
            held=known & content_set(unit.text),
            titled=known & content_set(headings[unit.passage]),
            names=frozenset(new_names(unit.text, known)),
            about=name_key(titles.get(passages[unit.passage].source_id, "")),
            asked=asked[unit.passage],
        )
        for unit in found
    ]
    ranked = chains(weights, links, 0 if has_cjk(question) else STEPS)
    words = Bm25([unit.text for unit in found], [headings[unit.passage] for unit in found]).scores(question)
    most = max(words.values(), default=1.0)
    rated = [rating + _WORDS * words.get(place, 0.0) / most for place, rating in enumerate(ratings(len(found), ranked))]
    return Rated(passages, found, rated, links, ranked, weights)


def _heading_terms(path: Sequence[str], known: frozenset[str]) -> frozenset[str]:
    """Return the terms of the headings that have only known terms, apart from their numbers."""
    headings = (frozenset(term for term in content_set(one) if any(map(str.isalpha, term))) for one in path)
    return frozenset[str]().union(*(terms for terms in headings if terms <= known))


def _weights(question: str, whole: str, index: Bm25, count: int) -> Weights:
    """Return the weights of the words of a question: rarer words weigh more.

    The weights differ less than in BM25, where a word in every passage weighs nothing.
    """
    words = dict.fromkeys(content_words(whole), _WIDER) | dict.fromkeys(content_words(question), 1.0)
    raw = {word: share * math.log(1 + (count + 1) / (index.count(word) + 0.5)) for word, share in words.items()}
    raw = {word: value * _PAIR if has_cjk(word) else value for word, value in raw.items()}
    total = sum(raw.values())
    return {word: value / total for word, value in raw.items()}


def select_segments(rated: Rated, room: float, language: str) -> list[int]:
    """Return the indices of the segments to show in a number of words (CJK: characters), in order."""
    order = rated.best_first()
    if not order:
        return []
    best: dict[str, float] = {}
    for place in order:
        best.setdefault(rated.source(place), rated.ratings[place])
    top = rated.ratings[order[0]]
    shown = [name for name, rating in best.items() if rating >= _NEAR * top][:_DOCUMENTS]
    order = [place for place in order if rated.source(place) in shown]
    first = [place for place in order if rated.ratings[place] >= _FIRST * top and _is_informative(rated, place)]
    choice = _Selection(rated, room, language)
    own = _by_passage(rated)
    if section := _section(rated, order):
        choice.surround(section[0], section)
    for place in first:
        passage = rated.segments[place].passage
        small = length(rated.passages[passage].quote, language) <= _WHOLE * room
        if small or (place == first[0] and rated.segments[place].block.kind != "paragraph"):
            choice.surround(place, own[passage])
        else:
            choice.take(place)
    for place in first:
        choice.surround(place, own[rated.segments[place].passage])
    return _without_labels(rated, choice.taken)


def select_first(rated: Rated, room: float, language: str) -> list[int]:
    """Return the indices of the first segments of each document, of the best documents, in a number of words."""
    best = list(dict.fromkeys(map(rated.source, rated.best_first())))[:_DOCUMENTS]
    shown: list[int] = []
    for name in best:
        choice = _Selection(rated, room / len(best), language)
        for place in (place for place in range(len(rated.segments)) if rated.source(place) == name):
            choice.take(place)
            if place not in choice.taken and rated.segments[place].whole:
                break
        shown += _without_labels(rated, choice.taken)
    return sorted(shown)


def _is_informative(rated: Rated, place: int) -> bool:
    """Return whether a segment can be shown alone and has terms of the question itself."""
    return rated.segments[place].whole and bool(rated.links[place].held)


def _section(rated: Rated, order: Sequence[int]) -> list[int]:
    """Return the segments of the section that the question names by its heading; usually none."""
    asked = {place: sum(rated.weights[term] for term in rated.links[place].asked) for place in order}
    named = [place for place in order if asked[place] >= _NAMED]
    if not named:
        return []
    best = max(named, key=lambda place: asked[place])  # of equal ones the best rated
    terms, source = rated.links[best].asked, rated.source(best)
    return sorted(place for place in named if (rated.links[place].asked, rated.source(place)) == (terms, source))


def _without_labels(rated: Rated, taken: set[int]) -> list[int]:
    """Return the indices in order, without captions, labels and lead-ins that nothing follows."""
    kept: list[int] = []
    for place in sorted(taken, reverse=True):
        follows = kept and kept[-1] == place + 1 and rated.segments[place + 1].passage == rated.segments[place].passage
        if follows or (rated.segments[place].whole and not rated.segments[place].introduces):
            kept.append(place)
    return kept[::-1] or sorted(taken)


def _by_passage(rated: Rated) -> dict[int, list[int]]:
    own: dict[int, list[int]] = defaultdict(list)
    for place, unit in enumerate(rated.segments):
        own[unit.passage].append(place)
    return own


class _Selection:
    """Takes segments while there is room, without repetitions."""

    def __init__(self, rated: Rated, room: float, language: str) -> None:
        self.taken: set[int] = set()
        self._rated = rated
        self._room = room
        self._least = _LEFT * room
        self._language = language
        # By passage, because the rows of one table may be alike.
        self._said: dict[int, RepeatIndex] = defaultdict(RepeatIndex)

    def take(self, place: int) -> None:
        """Take a segment with those that it needs; the first one even if it exceeds the room."""
        own = [one for one in self._with_needed(place) if one not in self.taken]
        size = sum(length(self._rated.segments[one].text, self._language) for one in own)
        if not own or (self.taken and size > self._room) or self._repeats(place):
            return
        if self.taken and self._room < self._least and self._rated.segments[place].passage not in self._said:
            return
        self._room -= size
        self.taken.update(own)
        for one in own:
            self._said[self._rated.segments[one].passage].add(content_set(self._rated.segments[one].text))
        for one in sorted(own):
            for led in self._led(one):
                self.take(led)

    def surround(self, place: int, own: Sequence[int]) -> None:
        """Take the segments around one of a passage, in each direction until one is left out."""
        self.take(place)
        if place not in self.taken:
            return
        for side in (own[own.index(place) + 1 :], own[: own.index(place)][::-1]):
            for one in side:
                if self._apart(one, place):
                    break
                self.take(one)
                if one not in self.taken and self._rated.segments[one].whole:
                    break

    def _apart(self, place: int, other: int) -> bool:
        """Return whether one of two segments is a definition: each defines something else."""
        return "definition" in (self._rated.segments[place].block.kind, self._rated.segments[other].block.kind)

    def _repeats(self, place: int) -> bool:
        unit = self._rated.segments[place]
        words, names = content_set(unit.text), figures_and_names(unit.text)
        return any(said.repeats(words, names) for name, said in self._said.items() if name != unit.passage)

    def _led(self, place: int) -> Iterator[int]:
        """Yield the segments of the list, table or code that a segment introduces."""
        units = self._rated.segments
        if not units[place].introduces or place + 1 == len(units) or units[place + 1].block is units[place].block:
            return
        block, passage = units[place + 1].block, units[place].passage
        for one in range(place + 1, len(units)):
            if units[one].block is not block or units[one].passage != passage:
                return
            yield one

    def _with_needed(self, place: int) -> list[int]:
        found = [place]
        while needs := self._rated.segments[found[-1]].needs:
            found.append(found[-1] - needs)
        return found
