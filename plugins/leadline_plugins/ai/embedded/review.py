"""Review: whether one more round can add something."""

from __future__ import annotations

from leadline.findings import Review, SectionReview
from leadline_plugins.tasks import ReviewRequest

_DEPTH = {"covered": 1.0, "partial": 0.5, "missing": 0.0}


def review(request: ReviewRequest) -> Review:
    """Return the sections' ratings; sufficient where every one is covered by a single sentence."""
    sections = tuple(
        SectionReview(id=id_, coverage=coverage, depth=_DEPTH[coverage])
        for id_, coverage in request.digest.section_coverage.items()
    )
    return Review(
        sections=sections,
        is_sufficient=False and all(section.coverage == "covered" for section in sections),
        priority_gaps=request.digest.knowledge_gaps,
    )
