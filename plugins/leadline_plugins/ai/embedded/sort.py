"""Sort: which evidence stands in the report, in which section, in which order."""

from __future__ import annotations

from collections.abc import Sequence

from leadline.records import Evidence
from leadline_plugins.ai.embedded.answers import unanswered
from leadline_plugins.ai.embedded.arrange import arrange, shares, unsure
from leadline_plugins.ai.embedded.asked import Asked, asked
from leadline_plugins.ai.embedded.chains import chains, links, ratings, weights
from leadline_plugins.ai.embedded.choose import Rated, choose, choose_material, room
from leadline_plugins.ai.embedded.kinds import shows
from leadline_plugins.ai.embedded.serving import serving
from leadline_plugins.synthesizers.naming import naming
from leadline_plugins.tasks.sorting import Sorted, SortRequest

_OTHER_KIND = 0.7
"""What is kept of the rating of a sentence that shows nothing of the kind asked for."""

_WRITTEN = 10
"""Sections at most where a model writes each and the plan has one alone: as many calls as a whole plan takes."""


def sort(request: SortRequest) -> Sorted:
    """Choose the evidence within the length of the report and arrange it, the answer first; tell what is a toss-up."""
    question = asked(request.question.text)
    if request.material:  # whether its passages answer in other words is a writer's own to judge
        code = request.question.language or question.language
        return _arranged(request, question, choose_material(serving(request), request.material, code))
    pieces = links(question, request.evidence, request.sources)
    weight = weights(question, request.sources)
    ranked = chains(weight, pieces, gaining=question.account)
    if reason := unanswered(question, weight, pieces, ranked):
        return Sorted(sections=(), answers=False, reason=reason)
    rated = [
        Rated(piece.evidence, rating * (1.0 if shows(question.kind, piece.evidence.quote) else _OTHER_KIND))
        for piece, rating in zip(pieces, ratings(len(pieces), ranked), strict=True)
    ]
    size, wide = room(question, request.length), question.account or bool(question.parts)
    return _arranged(request, question, choose(rated, size, question.language, wide=wide))


def _arranged(request: SortRequest, question: Asked, chosen: Sequence[Rated]) -> Sorted:
    evidence = [item.evidence for item in chosen]
    parted = shares(request.plan.sections, evidence, request.sources, request.tasks)
    most = _WRITTEN if request.material else None
    open_ = {item.id for item in unsure(evidence, parted)} | _strange(request, evidence)
    return Sorted(
        sections=arrange(request.plan, chosen, request.sources, question, parted, most=most),
        unsure=tuple(item.id for item in evidence if item.id in open_),
    )


def _strange(request: SortRequest, evidence: Sequence[Evidence]) -> set[str]:
    """Return what is of pages that name nothing of what the question names: a model may find that it serves nothing."""
    if not request.material or len(request.plan.sections) < 2:
        return set()
    return {item.id for item in evidence} - naming(request.question.text, evidence, request.sources)
