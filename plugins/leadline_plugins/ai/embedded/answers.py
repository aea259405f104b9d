"""Answers: whether the documents answer the question at all.

One measure decides, since more of them decided no better: how much of the question stands in the words of one sentence,
or of a few that lead from one to the next by name. Titles do not count: a document about the right thing need not say
what is asked of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from leadline_plugins.ai.embedded.asked import Asked
from leadline_plugins.ai.embedded.chains import Chain, Link
from leadline_plugins.text import is_cjk

ENOUGH, ENOUGH_CJK = 0.375, 0.3
"""Share of the question, its words weighted by rarity; chosen on open questions, see docs/decisions.

In CJK the words are pairs of characters, of which those across the borders of words seldom stand in an answer.
"""


def unanswered(question: Asked, weight: Mapping[str, float], pieces: Sequence[Link], ranked: Sequence[Chain]) -> str:
    """Return why the documents do not answer the question; `` where they do."""
    if not question.terms:
        return "The question names nothing that could be looked up."
    held = [frozenset[str]().union(*(pieces[place].held for place in chain.links)) for chain in ranked]
    best = max(held, key=lambda terms: sum(weight[term] for term in terms), default=frozenset())
    if sum(weight[term] for term in best) >= (ENOUGH_CJK if is_cjk(question.language) else ENOUGH):
        return ""
    missing = question.words({term for term in question.terms if term not in best})
    return f"The documents do not answer the question: where they come closest, nothing is said of: {missing}"
