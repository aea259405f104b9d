"""Digest: how far the evidence covers each planned section, and which words of the question no sentence holds."""

from __future__ import annotations

from collections.abc import Sequence, Set

from leadline.findings import Coverage, Digest
from leadline.records import Evidence
from leadline_plugins.ai.embedded.asked import asked
from leadline_plugins.tasks.planning import Quoted
from leadline_plugins.tasks.reading import DigestRequest

_COVERED, _PARTIAL = 0.75, 0.375
"""Shares of a section's content words that stand in its best sentence."""
_BEST = 3
"""Sentences of the synthesis."""


def digest(request: DigestRequest) -> Digest:
    """Return the coverage by section; as gaps the words of the question that nothing speaks of."""
    question = asked(request.question.text)
    best = sorted(request.evidence, key=lambda item: -item.score)
    shown = [item for source in request.sources for item in source.quotes]  # to a chat that did not read it
    ranked: Sequence[Evidence | Quoted] = best or shown
    held = [question.tokens(item.quote) for item in ranked]
    gap = question.words(frozenset(question.terms).difference(question.measures, *held))
    return Digest(
        synthesis="\n".join(f"{item.quote} [@{item.id}]" for item in ranked[:_BEST]),
        section_coverage={
            section.id: _coverage(section.goal or section.title, held) for section in request.plan.sections
        },
        knowledge_gaps=(gap,) if gap else (),
    )


def _coverage(goal: str, held: Sequence[Set[str]]) -> Coverage:
    terms = frozenset(asked(goal).terms)
    best = max((len(terms & words) / len(terms) for words in held if terms), default=0.0)
    return "covered" if best >= _COVERED else "partial" if best >= _PARTIAL else "missing"
