"""Answers: whether the documents answer the question at all.

One measure decides, since more of them decided no better: how much of the question stands in the words of one sentence,
or of a few that lead from one to the next by name. Titles do not count: a document about the right thing need not say
what is asked of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from leadline_plugins.ai.embedded.asked import Asked, asked
from leadline_plugins.ai.embedded.chains import Chain, Link
from leadline_plugins.text import sentences
from leadline_plugins.text.language import is_unspaced

ENOUGH, ENOUGH_UNSPACED = 0.45, 0.35
"""Share of the question, its words weighted by rarity; chosen on open questions, see docs/decisions.

Without spaces the words are pairs of characters, of which those across the borders of words seldom stand in an answer.
"""
_LONG, _SUBSTANCE = 20, 6
"""Words of a question from which its sentences are looked at one by one, and words that one must have for that: a
brief with its conditions, or with material that was pasted into it, stands in no three sentences as a whole."""
_CLAUSE = re.compile(r"[:：]\s+|(?<=：)")
_END = "?.!？。！"
_PAIRS = 2
"""Pairs of characters that are counted as a word, where there are no spaces."""


def unanswered(question: Asked, weight: Mapping[str, float], pieces: Sequence[Link], ranked: Sequence[Chain]) -> str:
    """Return why the documents do not answer the question, nor any of its parts; `` where they do."""
    if not question.terms:
        return "The question names nothing that could be looked up."
    held = [frozenset[str]().union(*(pieces[place].held for place in path)) for _, path in ranked]
    enough = ENOUGH_UNSPACED if is_unspaced(question.language) else ENOUGH
    if any(_best(asked(part).terms, held, weight)[0] >= enough for part in _parts(question)):
        return ""
    sought = {*question.terms} - question.measures
    best = _best(question.terms, held, weight)[1]
    whole, missing = (question.words(terms).rstrip(_END) for terms in (sought, sought - best))
    told = f"The documents do not answer the question: no passage has all of: {whole}"
    return f"{told}; the closest lacks: {missing}" if missing and missing != whole else told


def _parts(question: Asked) -> Iterator[str]:
    """Yield what may be answered by itself: the sub-questions or the whole, and of a long question its sentences."""
    yield from question.parts or (question.text,)
    words = _PAIRS if is_unspaced(question.language) else 1
    if len(question.terms) > _LONG * words:
        spans = sentences(question.text)
        said = (one for start, end in spans for one in _CLAUSE.split(question.text[start:end]))
        yield from (one for one in said if len(asked(one).terms) >= _SUBSTANCE * words)


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
