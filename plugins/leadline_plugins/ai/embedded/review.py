"""Review: whether one more round can add something."""

from __future__ import annotations

from leadline.findings import Review, SectionReview
from leadline_plugins.ai.embedded.asked import asked
from leadline_plugins.tasks.reading import ReviewRequest

_DEPTH = {"covered": 1.0, "partial": 0.5, "missing": 0.0}
_PLAIN = 6
"""Content words of a question that asks in one step; a longer one may name its object by a detour."""


def review(request: ReviewRequest) -> Review:
    """Return the sections' ratings. Sufficient is what a single sentence covers, of a plain question only."""
    coverage = request.digest.section_coverage
    plain = len(asked(request.question.text).terms) <= _PLAIN
    return Review(
        sections=tuple(SectionReview(id=id_, coverage=said, depth=_DEPTH[said]) for id_, said in coverage.items()),
        is_sufficient=plain and bool(coverage) and set(coverage.values()) == {"covered"},
        priority_gaps=request.digest.knowledge_gaps,
    )
