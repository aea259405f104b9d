"""What a language model is shown of a research in progress: what it can make use of, and nothing twice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

from leadline.contracts import Run
from leadline.findings import Found, Plan, Question, SearchTask
from leadline.records import Evidence, Source
from leadline_plugins.stages.material import BEST
from leadline_plugins.tasks.planning import Searched
from leadline_plugins.tasks.reading import Quoted, SourceShown

_FAR = 0.3
"""The share of its search's best score below which a passage is not shown."""


def asked(question: Question) -> Question:
    """Return a question with what holds of it, without why it was, or would be, asked back."""
    return question.model_copy(update={"needs_clarification": False, "reasons": (), "questions": ()})


def outline(plan: Plan) -> Plan:
    """Return a plan without its searches, which are told with what came of them, and without what its sections say."""
    return plan.model_copy(update={"queries": (), "domains": ()})


def today(run: Run) -> str:
    """Return the day on which the run began (ISO 8601): a model knows none, and a resumed run asks the same again."""
    return run.now().date().isoformat()


def quoted(evidence: Iterable[Evidence], sources: Sequence[Source], count: int = BEST) -> tuple[SourceShown, ...]:
    """Return the best passages by their sources, of each search in turn: else one rich page would be all of them."""
    titles = {source.id: source.hit.title for source in sources}
    by_source: defaultdict[str, list[Evidence]] = defaultdict(list)
    for item in list(_in_turn(evidence))[:count]:
        by_source[item.source_id].append(item)
    return tuple(
        SourceShown(
            title=titles.get(source, ""),
            quotes=tuple(Quoted(id=item.id, quote=item.quote, under=item.under) for item in items),
        )
        for source, items in by_source.items()
    )


def _in_turn(evidence: Iterable[Evidence]) -> Iterator[Evidence]:
    searches: defaultdict[str, list[Evidence]] = defaultdict(list)
    for item in sorted(evidence, key=lambda item: -item.score):
        best = searches[item.task_id]
        if not best or item.score >= _FAR * best[0].score:
            best.append(item)
    return (item for turn in zip_longest(*searches.values()) for item in turn if item is not None)


def searched(found: Iterable[Found], sources: Iterable[Source], evidence: Iterable[Evidence]) -> tuple[Searched, ...]:
    """Return all searches with what came of each: pages that no search before had found, and passages."""
    pages, passages = [source.task_id for source in sources], [item.task_id for item in evidence]
    return tuple(_searched(one.task, one.failure, pages, passages) for one in found)


def _searched(task: SearchTask, failure: str, pages: Sequence[str], passages: Sequence[str]) -> Searched:
    return Searched(
        query=task.query,
        section=task.section,
        pages=pages.count(task.id),
        passages=passages.count(task.id),
        failure=failure,
    )
