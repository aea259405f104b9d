"""Digest: how far the evidence covers each planned section, and which words of the question it leaves open."""

from __future__ import annotations

from leadline.findings import Coverage, Digest, PlannedSection
from leadline.records import Evidence
from leadline_plugins.ai.embedded.asked import asked
from leadline_plugins.tasks import DigestRequest
from leadline_plugins.text import content_words

_COVERED, _PARTIAL = 0.75, 0.34
"""Shares of a section's content words that stand in its best sentence."""
_BEST = 3


def digest(request: DigestRequest) -> Digest:
    """Return the coverage by section, and as gaps what no sentence holds."""
    ranked = sorted(request.evidence, key=lambda e: (-e.score, e.id))
    coverage = {section.id: _coverage(section, request.evidence) for section in request.plan.sections}
    everything = {term for e in request.evidence for term in content_words(e.quote)}
    open_words = [term for term in asked(request.question.text).terms if term not in everything]
    return Digest(
        synthesis="\n".join(f"{e.quote} [@{e.id}]" for e in ranked[:_BEST]),
        section_coverage=coverage,
        knowledge_gaps=tuple(open_words),
    )


def _coverage(section: PlannedSection, evidence: tuple[Evidence, ...]) -> Coverage:
    terms = set(content_words(section.title))
    best = max((len(terms & set(content_words(e.quote))) / len(terms) for e in evidence), default=0.0) if terms else 0.0
    return "covered" if best >= _COVERED else "partial" if best >= _PARTIAL else "missing"
