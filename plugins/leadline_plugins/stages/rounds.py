"""What the stages of the research loop share: the date, the question, past searches, the passages of a round."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from leadline.contracts import Run
from leadline.findings import Found, Plan, Question, Review, SearchTask, SectionReview
from leadline.records import Evidence, Source
from leadline_plugins.prompting.inputs import PastSearch


def asked(question: Question) -> Question:
    """Return a question as tasks are given it: without the record of how it was clarified."""
    return question.model_copy(update={"needs_clarification": False, "reasons": (), "questions": ()})


def today(run: Run) -> str:
    """Return the day on which the run began (ISO 8601): the same again when it is resumed."""
    return run.now().date().isoformat()


async def writes(run: Run) -> bool:
    """Return whether a language model writes the sections."""
    return await run.by_chat("synthesize", "thinking")


def titles(sources: Iterable[Source]) -> dict[str, str]:
    """Return the titles of sources by their ids."""
    return {source.id: source.hit.title or source.document.title for source in sources}


def past_searches(found: tuple[Found, ...], sources: tuple[Source, ...]) -> tuple[PastSearch, ...]:
    """Return all searches, each with the number of pages that no search before it had found."""
    pages = [source.task_id for source in sources]
    return tuple(
        PastSearch(query=one.task.query, section=one.task.section, pages=pages.count(one.task.id), failure=one.failure)
        for one in found
    )


def of_last_round(evidence: tuple[Evidence, ...], tasks: Sequence[SearchTask]) -> list[Evidence]:
    """Return the passages of the pages that the last round found."""
    last = {task.id for task in tasks if task.round == tasks[-1].round}
    return [item for item in evidence if item.task_id in last]


def whole_review(review: Review, plan: Plan) -> Review:
    """Return a review of every section of the plan: a section that the reply does not name is covered."""
    meant = section_ids(plan)
    named = {meant(one.id): one.model_copy(update={"id": meant(one.id)}) for one in review.sections}
    covered = (SectionReview(id=section.id, coverage="covered", depth=1.0) for section in plan.sections)
    return review.model_copy(update={"sections": tuple(named.get(one.id, one) for one in covered)})


def section_ids(plan: Plan) -> Callable[[str], str]:
    """Return a function from a name that a model uses for a section (`Section 3`, its title) to the section's id.

    A name of none of them is returned as it is.
    """
    forms = ("{title}", "{id}. {title}", "section {id}: {title}", "section {id}", "{id}")
    ids = {_folded(form.format(id=one.id, title=one.title)): one.id for form in forms for one in plan.sections}
    return lambda name: ids.get(_folded(name), name)


def _folded(name: str) -> str:
    return name.casefold().strip(" .:#")
