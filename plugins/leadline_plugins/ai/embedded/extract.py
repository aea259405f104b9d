"""Extract: the sentences of one source that bear on the question, verbatim."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import islice
from operator import mul
from typing import NamedTuple

from leadline.records import Confidence
from leadline_plugins.ai.embedded.asked import Asked, asked
from leadline_plugins.ai.embedded.chains import title_of
from leadline_plugins.ai.embedded.elsewhere import other_language
from leadline_plugins.ai.embedded.quotable import quotable
from leadline_plugins.ai.embedded.regions import regions
from leadline_plugins.tasks import ExtractRequest, Learning, Learnings
from leadline_plugins.text import content_words, sentences

_NAME, _WORD, _QUERY = 2.0, 1.0, 0.5
"""Weights of terms: in a name of the question, elsewhere in it, only in the search query."""
_TITLE, _BEFORE = 0.5, 0.3
"""Worth of a term in the title, in the sentence before."""
_HIGH, _MEDIUM = 0.75, 0.375
"""Shares of the terms from which confidence is high, medium."""


class Scored(NamedTuple):
    """A sentence and the share of the terms it holds."""

    score: float
    start: int
    end: int


def extract(request: ExtractRequest) -> Learnings:
    """Return the best sentences of a source, best first.

    For a writer a page in another language is read on where no word is shared: it was found, and by more than words.
    """
    text = request.source.document.text
    question = asked(request.question.text)
    weight = _weights(question, request.query)
    whole = request.material and other_language(question.language, text)
    if whole:  # words of the question that are in another language say nothing against a sentence
        shared = weight.keys() & question.tokens(text)
        weight = {
            **{term: worth for term, worth in weight.items() if term in shared},
            **dict.fromkeys(content_words(request.query), _WORD),
        } or weight
    title = question.tokens(title_of(request.source))
    titled = dict.fromkeys(title & weight.keys(), 1.0 if title <= weight.keys() else _TITLE)
    scored: list[Scored] = []
    for start, end in regions(text, weight, request.snippet):
        scored += _scored(question, text, start, end, weight, titled, whole)
    scored.sort(key=lambda item: (-item.score, item.start))
    best = (item for item in scored if quotable(text[item.start : item.end]))  # looked at until there are enough
    return Learnings(learnings=tuple(_learning(text, item) for item in islice(best, request.limit)))


def _weights(question: Asked, query: str) -> dict[str, float]:
    weight = dict.fromkeys(content_words(query), _QUERY) | dict.fromkeys(question.terms, _WORD)
    return weight | {term: _NAME for name in question.names for term in content_words(name)}


def _scored(
    question: Asked,
    text: str,
    start: int,
    end: int,
    weight: Mapping[str, float],
    title: Mapping[str, float],
    whole: bool,
) -> Iterator[Scored]:
    """Score the sentences of a stretch of text by the terms in them, in the title, and in the sentence before.

    Those without any are left out, unless the `whole` of the text is wanted.
    """
    known, total = frozenset(weight), sum(weight.values()) or 1.0
    none = dict.fromkeys(weight, 0.0)

    @cache  # most sentences hold one of a few handfuls of terms
    def score(held: frozenset[str], before: frozenset[str]) -> float:
        # In the order of the weights: the sum of the same numbers in another order may differ in the last bit.
        worth = {**none, **dict.fromkeys(before, _BEFORE), **title, **dict.fromkeys(held, 1.0)}
        return sum(map(mul, weight.values(), worth.values()), 0.0) / total

    before: frozenset[str] = frozenset()
    for a, b in sentences(text[start:end]):
        held = known & question.tokens(text[start + a : start + b])
        if held or before or title or whole:
            yield Scored(score(held, before), start + a, start + b)
        before = held


def _learning(text: str, item: Scored) -> Learning:
    quote = text[item.start : item.end]
    level: Confidence = "high" if item.score >= _HIGH else "medium" if item.score >= _MEDIUM else "low"
    return Learning(claim=quote, quote=quote, start=item.start, confidence=level, score=round(item.score, 4))
