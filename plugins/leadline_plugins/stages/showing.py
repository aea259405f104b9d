"""What a language model is shown of a research in progress: what it can make use of, and nothing twice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest

from leadline.computing import compute
from leadline.contracts import Run
from leadline.findings import Digest, Found, Plan, Question, SearchTask
from leadline.records import Evidence, Source
from leadline_plugins.tasks.planning import Quoted, Searched, SourceShown
from leadline_plugins.text.sought import enough, shares_of

_SOME = 0.1
"""The share of what a search asks for from which a passage that it brought is shown behind the best."""
_FAR = 0.33
"""The share of the best score of what a search brought below which a passage is not shown."""


def asked(question: Question) -> Question:
    """Return a question with what holds of it, without why it was, or would be, asked back."""
    return question.model_copy(update={"needs_clarification": False, "reasons": (), "questions": ()})


def outline(plan: Plan) -> Plan:
    """Return a plan without its searches, which are told with what came of them, and without what its sections say."""
    return plan.model_copy(update={"queries": (), "domains": ()})


def said(digest: Digest) -> Digest:
    """Return what a digest says, without what the stages keep in it for themselves."""
    return digest.model_copy(update={"round": 0, "shown": ()})


def today(run: Run) -> str:
    """Return the day on which the run began (ISO 8601): a model knows none, and a resumed run asks the same again."""
    return run.now().date().isoformat()


class Serving:
    """What of all that is known serves each search, best first, whoever found it; and what its search brought beside.

    That is rated by the search's words: `shares` are how much of each search stands in each passage. A passage that
    holds few of them is of use where none holds enough.
    """

    def __init__(
        self, tasks: Sequence[SearchTask], evidence: Sequence[Evidence], shares: Iterable[Mapping[int, float]]
    ) -> None:
        own: defaultdict[str, list[Evidence]] = defaultdict(list)
        for item in sorted(evidence, key=lambda item: -item.score):
            own[item.task_id].append(item)
        self.best: dict[str, list[Evidence]] = {}
        self._rest: dict[str, list[Evidence]] = {}
        for task, share_of in zip(tasks, shares, strict=True):
            self.best[task.id] = best = _best_first(enough(task.query, share_of), evidence)
            held = {evidence[place].id for place, share in share_of.items() if share >= _SOME}
            self._rest[task.id] = [item for item in _not_far(own[task.id]) if not best or item.id in held]

    def in_turn(self, searches: Sequence[str], but: Container[str] = ()) -> list[Evidence]:
        """Return the best passages of each search in turn, `but` for some; behind them what the searches brought."""
        rows = (_in_turn([row[name] for name in searches if name in row]) for row in (self.best, self._rest))
        return list({item.id: item for row in rows for item in row if item.id not in but}.values())


async def serving(tasks: Sequence[SearchTask], evidence: Sequence[Evidence], sources: Iterable[Source] = ()) -> Serving:
    """Return what serves searches; nothing but texts is handed over to be rated."""
    titles = titled(sources)
    texts = [(item.quote, f"{item.under} {titles.get(item.source_id, '')}") for item in evidence]
    return Serving(tasks, evidence, await compute(shares_of, [task.query for task in tasks], texts))


def _best_first(shares: Mapping[int, float], evidence: Sequence[Evidence]) -> list[Evidence]:
    best = sorted((-share, -evidence[place].score, place) for place, share in shares.items())
    return [evidence[place] for _, _, place in best]


def _not_far(best: Sequence[Evidence]) -> list[Evidence]:
    return [item for item in best if item.score >= _FAR * best[0].score]


def _in_turn(rows: Iterable[Sequence[Evidence]]) -> Iterator[Evidence]:
    return (item for turn in zip_longest(*rows) for item in turn if item is not None)


def titled(sources: Iterable[Source]) -> dict[str, str]:
    """Return the titles of sources by their ids."""
    return {source.id: source.hit.title for source in sources}


def by_source(evidence: Iterable[Evidence], sources: Sequence[Source]) -> tuple[SourceShown, ...]:
    """Return passages as they are shown: by the page they are from."""
    titles = titled(sources)
    pages: defaultdict[str, list[Evidence]] = defaultdict(list)
    for item in evidence:
        pages[item.source_id].append(item)
    return tuple(
        SourceShown(
            title=titles.get(source, ""),
            quotes=tuple(Quoted(id=item.id, quote=item.quote, under=item.under) for item in items),
        )
        for source, items in pages.items()
    )


def searched(
    found: Iterable[Found], sources: Iterable[Source], evidence: Iterable[Evidence], serving: Serving
) -> tuple[Searched, ...]:
    """Return all searches with what came of each, that no search before had found, and how much of all serves it."""
    pages, passages = [source.task_id for source in sources], [item.task_id for item in evidence]
    return tuple(
        Searched(
            query=one.task.query,
            section=one.task.section,
            pages=pages.count(one.task.id),
            passages=passages.count(one.task.id),
            known=len(serving.best.get(one.task.id, ())),
            failure=one.failure,
        )
        for one in found
    )
