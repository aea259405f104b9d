"""Sort: which evidence stands in the report, in which section, in which order."""

from __future__ import annotations

from leadline_plugins.ai.embedded.answers import unanswered
from leadline_plugins.ai.embedded.arrange import arrange, shares, unsure
from leadline_plugins.ai.embedded.asked import asked
from leadline_plugins.ai.embedded.chains import chains, links, ratings, weights
from leadline_plugins.ai.embedded.choose import Rated, choose, room
from leadline_plugins.ai.embedded.elsewhere import rated_elsewhere
from leadline_plugins.ai.embedded.kinds import shows
from leadline_plugins.tasks import Sorted, SortRequest

_OTHER_KIND = 0.7
"""What is kept of the rating of a sentence that shows nothing of the kind asked for."""

_WRITTEN = 10
"""Sections at most where a model writes each and the plan has one alone: as many calls as a whole plan takes."""


def sort(request: SortRequest) -> Sorted:
    """Choose the evidence within the length of the report and arrange it, the answer first; tell what is a toss-up."""
    question = asked(request.question.text)
    pieces = links(question, request.evidence, request.sources)
    weight = weights(question, request.sources)
    ranked = chains(weight, pieces, gaining=question.account)
    # Where a model writes, whether its passages answer in other words is its own to judge.
    if not request.material and (reason := unanswered(question, weight, pieces, ranked)):
        return Sorted(sections=(), answers=False, reason=reason)
    rated = [
        Rated(piece.evidence, rating * (1.0 if shows(question.kind, piece.evidence.quote) else _OTHER_KIND))
        for piece, rating in zip(pieces, ratings(len(pieces), ranked), strict=True)
    ]
    if request.material:
        rated = rated_elsewhere(rated, question.language, request.sources, request.tasks)
        chosen = choose(rated, request.material, request.question.language or question.language, material=True)
    else:
        chosen = choose(rated, room(question, request.length), question.language)
    evidence = [item.evidence for item in chosen]
    parted = shares(request.plan.sections, evidence, request.tasks)
    return Sorted(
        sections=arrange(
            request.plan, chosen, request.sources, question, parted, most=_WRITTEN if request.material else None
        ),
        unsure=tuple(item.id for item in unsure(evidence, parted)),
    )
