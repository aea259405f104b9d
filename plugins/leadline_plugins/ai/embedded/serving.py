"""Serving: the passages that reach a model's writers, rated by what was asked, by their readers, and by how found."""

from __future__ import annotations

from collections.abc import Sequence

from leadline.records import Confidence, Evidence
from leadline_plugins.ai.embedded.choose import Rated, mean_of_best
from leadline_plugins.ai.embedded.elsewhere import rated_elsewhere
from leadline_plugins.ai.embedded.wanted import wanted
from leadline_plugins.tasks.sorting import SortRequest
from leadline_plugins.text import language

_JUDGED = 0.8
"""Of a rating, how much is the judgement of the model that read the page; the rest parts what it judged alike."""
_LEVELS: dict[Confidence, float] = {"high": 0.9, "medium": 0.6, "low": 0.3}
"""The score of a learning to which a model gave none."""


def serving(request: SortRequest) -> list[Rated]:
    """Return the passages with their ratings, as they come."""
    rated = [Rated(item, rating) for item, rating in zip(request.evidence, wanted(request), strict=True)]
    asked = {language(text) for text in (request.question.text, *(task.query for task in request.tasks))}
    return _judged(rated_elsewhere(rated, asked, request.sources))


def _judged(rated: Sequence[Rated]) -> list[Rated]:
    """Return the ratings, of passages that a model chose by its judgement: what it scores 1 is as good as the best."""
    best = mean_of_best([item.rating for item in rated]) or 1.0
    most = max((1.0, *(item.evidence.score for item in rated if _chosen_by_model(item.evidence))))
    return [
        Rated(item.evidence, _JUDGED * best * _score(item.evidence) / most + (1 - _JUDGED) * item.rating)
        if _chosen_by_model(item.evidence)
        else item
        for item in rated
    ]


def _chosen_by_model(evidence: Evidence) -> bool:
    """Return whether a model extracted it: it says in words of its own what the quote bears, an algorithm quotes."""
    return bool(evidence.claim) and evidence.quote not in evidence.claim


def _score(evidence: Evidence) -> float:
    return evidence.score or _LEVELS[evidence.confidence]
