"""What belongs to a round of the research."""

from __future__ import annotations

from collections.abc import Callable

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
    meant = section_ids(plan)
    known = [one.model_copy(update={"id": meant(one.id)}) for one in review.sections]
    named = {one.id: one for one in known}
    if not named.keys() <= {part.id for part in plan.sections} or not (named or review.is_sufficient):
        return review.model_copy(update={"sections": tuple(known)})
    covered = (SectionReview(id=part.id, coverage="covered", depth=1.0) for part in plan.sections)
    return review.model_copy(update={"sections": tuple(named.get(one.id, one) for one in covered)})


def section_ids(plan: Plan) -> Callable[[str], str]:
    """Return what gives the id of the section of a plan that a model names by `Section 3`, or by its title.

    What names none of them stays as it is.
    """
    forms = ("{title}", "{id}. {title}", "section {id}: {title}", "section {id}", "{id}")
    ids = {_folded(form.format(id=one.id, title=one.title)): one.id for form in forms for one in plan.sections}
    return lambda name: ids.get(_folded(name), name)


def _folded(name: str) -> str:
    return name.casefold().strip(" .:#")
