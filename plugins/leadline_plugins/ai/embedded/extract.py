"""Extract: the sentences of one source that bear on the question, verbatim."""

from __future__ import annotations

import os

from leadline_plugins.ai.embedded.asked import asked
from leadline_plugins.tasks import ExtractRequest, Learning, Learnings
from leadline_plugins.text import content_words, sentences


def extract(request: ExtractRequest) -> Learnings:
    """Return the best sentences of a source, best first; `score` is the share of the question's terms they cover."""
    text = request.source.document.text
    question = asked(request.question.text)
    weights = dict.fromkeys(question.terms, 1.0)
    for name in question.names:
        for term in content_words(name):
            weights[term] = float(os.environ.get('NAMEW', 2.0))
    for term in content_words(request.query):
        weights.setdefault(term, float(os.environ.get('QW', .5)))
    total = sum(weights.values()) or 1.0
    title = set(content_words(request.source.document.title or request.source.hit.title))
    worth = 1.0 if title and title <= set(question.terms) | set(content_words(request.query)) else 0.5
    found: list[tuple[float, int, int]] = []
    before: set[str] = set()
    for start, end in sentences(text):
        held = set(content_words(text[start:end]))
        score = sum(
            w * (1.0 if t in held else worth if t in title else float(os.environ.get('BEFORE', .3)) if t in before else 0.0) for t, w in weights.items()
        )
        found.append((score / total, start, end))
        before = held
    found.sort(key=lambda item: (-item[0], item[1]))
    return Learnings(
        learnings=tuple(
            Learning(claim=text[a:b], quote=text[a:b], start=a, score=round(score, 4))
            for score, a, b in found[: request.limit]
            if score > 0
        )
    )
