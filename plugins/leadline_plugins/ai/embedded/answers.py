"""Answers: whether the documents answer the question at all.

One measure decides, since more of them decided no better: how much of the question stands in the words of one sentence,
or of a few that lead from one to the next by name. Titles do not count: a document about the right thing need not say
what is asked of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from leadline_plugins.ai.embedded.asked import Asked, asked
from leadline_plugins.ai.embedded.chains import Chain, Link
from leadline_plugins.text.language import is_unspaced

ENOUGH, ENOUGH_UNSPACED = 0.45, 0.35
"""Share of the question, its words weighted by rarity; chosen on open questions, see docs/decisions.

Without spaces the words are pairs of characters, of which those across the borders of words seldom stand in an answer.
"""
ON_TOPIC, _SEVERAL = 0.175, 5
"""Share of a brief, sentence by sentence, from which documents are on its topic, though they answer no sentence of it,
and sentences from which that is told: in documents on another topic one or two find their words by chance."""
_END = "?.!？。！"


def unanswered(question: Asked, weight: Mapping[str, float], pieces: Sequence[Link], ranked: Sequence[Chain]) -> str:
    """Return why the documents do not answer the question, nor any of its parts; `` where they do."""
    if not question.terms:
        return "The question names nothing that could be looked up."
    held = [frozenset[str]().union(*(pieces[place].held for place in path)) for _, path in ranked]
    enough = ENOUGH_UNSPACED if is_unspaced(question.language) else ENOUGH
    if any(_best(asked(part).terms, held, weight)[0] >= enough for part in question.parts or (question.text,)):
        return ""
    if question.brief and _bears(question, held, weight, enough):
        return ""
    sought = {*question.terms} - question.measures
    best = _best(question.terms, held, weight)[1]
    whole, missing = (question.words(terms).rstrip(_END) for terms in (sought, sought - best))
    told = f"The documents do not answer the question: no passage has all of: {whole}"
    return f"{told}; the closest lacks: {missing}" if missing and missing != whole else told


def _bears(question: Asked, held: Sequence[frozenset[str]], weight: Mapping[str, float], enough: float) -> bool:
    """Return whether one sentence of a brief is answered, or whether all of them together are spoken of."""
    parts = [asked(one).terms for one in question.sentences]
    shares = [_best(terms, held, weight)[0] for terms in parts]
    sizes = [sum(weight.get(term, 0.0) for term in terms) for terms in parts]
    spoken = sum(share * size for share, size in zip(shares, sizes, strict=True))
    return max(shares, default=0.0) >= enough or (len(parts) >= _SEVERAL and spoken >= ON_TOPIC * sum(sizes))


def _best(
    terms: Iterable[str], held: Iterable[frozenset[str]], weight: Mapping[str, float]
) -> tuple[float, frozenset[str]]:
    """Return the largest share of the terms that stands in one chain, and what of them does."""
    own = {term: weight.get(term, 0.0) for term in terms}
    total = sum(own.values()) or 1.0
    # Added up in the order of the question: that of a set differs from process to process, and the last bit with it.
    shares = [(sum(share for term, share in own.items() if term in chain), chain & own.keys()) for chain in held]
    most, found = max(shares, key=lambda pair: pair[0], default=(0.0, frozenset[str]()))
    return most / total, frozenset(found)
