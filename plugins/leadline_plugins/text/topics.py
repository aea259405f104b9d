"""Which of some topics a text speaks of, by the words that tell the topics apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import log, sqrt

from leadline_plugins.text.tokens import content_set

Words = Mapping[str, float]
"""The content words of a topic or a text, and how much each counts."""
Fits = list[float]
"""How well a text fits each topic: 0 where it has no word of it, 1 where it has no other."""


def weighed(*parts: tuple[str, float]) -> dict[str, float]:
    """Return the content words of texts, each as much as the part that counts most."""
    found: dict[str, float] = {}
    for text, weight in sorted(parts, key=lambda part: part[1]):
        found.update(dict.fromkeys(content_set(text), weight))
    return found


def fits(topics: Sequence[Words], texts: Sequence[Words]) -> list[Fits]:
    """Return for each text how well it fits each topic.

    A word of one topic alone says most, one of all topics nothing, and less the more texts have it: what stands over
    all of them tells none from another. Long topics have no more of it than short ones.
    """
    counts = Counter(word for topic in topics for word in topic)
    spread = Counter(word for text in texts for word in text if word in counts)
    apart = {word: log(len(topics) / count) for word, count in counts.items()}
    worth = {word: apart[word] * (1 - count / (len(texts) + 1)) for word, count in spread.items()}
    own = [_size(topic, topic, apart) for topic in topics]
    rows = []
    for text in texts:
        said = text.keys() & worth.keys()
        size = _size(text, said, worth)
        shared = [_sum(worth[word] * text[word] * topic[word] for word in said & topic.keys()) for topic in topics]
        rows.append([share / (size * whole or 1.0) for share, whole in zip(shared, own, strict=True)])
    return rows


def _size(text: Words, said: Iterable[str], worth: Words) -> float:
    return sqrt(_sum(worth[word] * text[word] ** 2 for word in said))


def _sum(values: Iterable[float]) -> float:
    """Add in one order: sums of the same numbers differ by it, and a set has another in each process."""
    return sum(sorted(values))
