"""What belongs to a round of the research."""

from __future__ import annotations

from leadline.findings import Plan, Review, SearchTask, SectionReview
from leadline.records import Evidence


def fresh(evidence: tuple[Evidence, ...], tasks: tuple[SearchTask, ...]) -> list[Evidence]:
    """Return the evidence that the last round brought."""
    last = tasks[-1].round if tasks else 0
    of_last = {task.id for task in tasks if task.round == last}
    return [item for item in evidence if item.task_id in of_last]


def rated(review: Review, plan: Plan) -> Review:
    """Return a review of every section of the plan: those that a reply does not name are covered.

    Most are, and what follows a review waits for its last word. Nothing is filled in where silence tells nothing: the
    reply names what is no section, or finds the research insufficient and no section in want.
    """
    ids = {_folded(name): part.id for part in plan.sections for name in (part.title, f"section {part.id}", part.id)}
    known = [one.model_copy(update={"id": ids.get(_folded(one.id), one.id)}) for one in review.sections]
    named = {one.id: one for one in known}
    if not named.keys() <= set(ids.values()) or not (named or review.is_sufficient):
        return review.model_copy(update={"sections": tuple(known)})
    covered = (SectionReview(id=part.id, coverage="covered", depth=1.0) for part in plan.sections)
    return review.model_copy(update={"sections": tuple(named.get(one.id, one) for one in covered)})


def _folded(name: str) -> str:
    return name.casefold().strip(" .:#")
