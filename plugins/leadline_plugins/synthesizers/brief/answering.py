"""Whether passages answer a question, as far as words can tell, and which words of it they do not have.

The measure adds up two shares of the question, its words weighted by rarity: the words of the best sentence, and those
of the best chain of sentences. Titles do not count, since a document on the right subject need not say what is asked
about it. `docs/decisions/0034-evidence-brief.md` has the figures.
"""

from __future__ import annotations

from collections.abc import Sequence

from leadline_plugins.synthesizers.brief.chains import STEP
from leadline_plugins.synthesizers.brief.choice import Rated
from leadline_plugins.text import content_words
from leadline_plugins.text.tokens import has_cjk

ENOUGH = 0.8
"""From here a question counts as answered: the value that five of six answerable questions reach."""
SOMETHING = 0.63
"""Below this next to nothing of the question is there and nothing is shown: eight of nine answerable ones reach it."""
_CHAINS = 400


def coverage(rated: Rated) -> float:
    """Return how far the best sentence and the best chain cover the question, from 0 to 2."""
    own = max((_share(rated, link.held) for link in rated.links), default=0.0)
    chained = (
        STEP ** (len(path) - 1) * _share(rated, frozenset().union(*(rated.links[place].held for place in path)))
        for _, path in rated.chains[:_CHAINS]
    )
    return own + max(chained, default=0.0)


def _share(rated: Rated, held: frozenset[str]) -> float:
    # Added up in the order of the question: that of a set differs between processes, and with it the last bit.
    return sum(weight for term, weight in rated.weights.items() if term in held)


def missing(question: str, rated: Rated, shown: Sequence[int]) -> list[str]:
    """Return the words of a question that the shown units and their headings lack, as they are written in it."""
    links = [rated.links[place] for place in shown]
    lacking = frozenset(rated.weights) - frozenset[str]().union(*(link.held | link.titled for link in links))
    found: list[str] = []
    for word in question.split():
        if has_cjk(word):
            found += _runs(word, lacking, frozenset(rated.weights) - lacking)
        elif lacking.intersection(content_words(word)):
            found.append(word.strip("?!.,;:\"'“”‘’()"))
    return list(dict.fromkeys(found))


def _runs(text: str, lacking: frozenset[str], held: frozenset[str]) -> list[str]:
    """Return the stretches of a text without spaces that only lacking pairs of characters cover."""
    pairs = [(at, text[at : at + 2]) for at in range(len(text) - 1)]
    covered = {place for at, pair in pairs if pair in held for place in (at, at + 1)}
    open_ = {place for at, pair in pairs if pair in lacking for place in (at, at + 1)} - covered
    kept = "".join(sign if place in open_ else " " for place, sign in enumerate(text))
    return [run for run in kept.split() if len(run) > 1]
