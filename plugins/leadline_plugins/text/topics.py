"""Which of some topics a text speaks of, by the words that tell the topics apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import log, sqrt

from leadline_plugins.text.headings import BETWEEN
from leadline_plugins.text.rows import COLUMNS
from leadline_plugins.text.tokens import content_set

Words = Mapping[str, float]
"""The content words of a topic or a text, and how much each counts."""
Fits = list[float]
"""How well a text fits each topic: 0 where it has no word of it, 1 where it has no other."""

_OVER_ALL = 0.25
"""What a word of a heading over all of a page counts, beside a word over one text of it."""


def weighed(*parts: tuple[str, float]) -> dict[str, float]:
    """Return the content words of texts, each as much as the part that counts most."""
    found: dict[str, float] = {}
    for text, weight in sorted(parts, key=lambda part: part[1]):
        found.update(dict.fromkeys(content_set(text), weight))
    return found


def headed(texts: Sequence[tuple[str, str]]) -> list[dict[str, float]]:
    """Return the content words of the headings over each text, each text given by its page and those headings.

    A word over one text of its page counts whole, and less the more texts of the page it stands over: what is said of
    a whole chapter tells little of one sentence in it. The head of a table tells none of its rows from another.
    """
    words = [content_set(BETWEEN.join(chapters(over))) for _, over in texts]
    sizes = Counter(page for page, _ in texts)
    below = Counter((page, word) for (page, _), own in zip(texts, words, strict=True) for word in own)
    shares = {key: log(count) / log(max(2, sizes[key[0]])) for key, count in below.items()}
    return [
        {word: 1 - (1 - _OVER_ALL) * shares[page, word] for word in own}
        for (page, _), own in zip(texts, words, strict=True)
    ]


def chapters(path: str) -> list[str]:
    """Return the headings on a path without the head of a table."""
    return [one for one in path.split(BETWEEN) if COLUMNS not in one]


def joined(words: Words, others: Words, weight: float) -> dict[str, float]:
    """Return words with others that count so many times as much, each as where it counts most."""
    return {word: max(words.get(word, 0.0), weight * others.get(word, 0.0)) for word in words.keys() | others.keys()}


def fits(topics: Sequence[Words], texts: Sequence[Words]) -> list[Fits]:
    """Return for each text how well it fits each topic.

    A word of one topic alone says most, one of all topics nothing, and less the more texts have it: what stands over
    all of them tells none from another. Texts without a word of any topic do not count among these, for with them a
    word of the whole subject would look rare. Long topics have no more of it than short ones.
    """
    counts = Counter(word for topic in topics for word in topic)
    spread = Counter(word for text in texts for word in text if word in counts)
    speaking = sum(1 for text in texts if not text.keys().isdisjoint(counts))
    apart = {word: log(len(topics) / count) for word, count in counts.items()}
    worth = {word: apart[word] * (1 - count / (speaking + 1)) for word, count in spread.items()}
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
