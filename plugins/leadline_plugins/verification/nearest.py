"""The passages nearest to a claim by their words: what to try as a citation, and what to show of a whole source."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Sequence
from math import log

from leadline.records import Evidence
from leadline_plugins.text import content_set, sentences


class Nearest:
    """An index of passages by their content words; rare words weigh more."""

    def __init__(self, passages: Sequence[Evidence]) -> None:
        self._passages = passages
        self._places: defaultdict[str, list[int]] = defaultdict(list)
        for place, passage in enumerate(passages):
            for word in content_set(f"{passage.lead}\n{passage.quote}"):
                self._places[word].append(place)

    def to(self, text: str, count: int, without: Container[str] = ()) -> list[Evidence]:
        """Return the passages that share most words with a text, best first; ids in `without` are left out."""
        scores: defaultdict[int, float] = defaultdict(float)
        for word in content_set(text):
            for place in self._places.get(word, ()):
                scores[place] += self._weight(word)
        ranked = sorted(scores, key=lambda place: (-scores[place], place))
        found = (self._passages[place] for place in ranked)
        return [one for one in found if one.id not in without][:count]

    def sentence(self, text: str, passage: Evidence) -> str:
        """Return the sentence of a passage that shares most words with a text."""
        wanted = content_set(text)
        spans = sentences(passage.quote) or [(0, len(passage.quote))]
        said = [passage.quote[slice(*span)] for span in spans]
        return max(said, key=lambda one: sum(self._weight(word) for word in wanted & content_set(one)))

    def _weight(self, word: str) -> float:
        return log(1 + len(self._passages) / (1 + len(self._places.get(word, ()))))
