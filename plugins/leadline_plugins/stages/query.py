"""Stage `query`: the search tasks of a round."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from leadline.contracts import StageRun
from leadline.findings import Findings
from leadline.plugin import stage
from leadline.records import Notice
from leadline.research_findings import (
    DIGEST,
    FOUND,
    PLAN,
    QUESTION,
    REVIEW,
    SOURCES,
    TASKS,
    Digest,
    Plan,
    Priority,
    Query,
    Question,
    SearchTask,
)
from leadline.tasks import TaskKind
from leadline_plugins.prompting import estimates
from leadline_plugins.prompting.fallback import perform_or
from leadline_plugins.prompting.inputs import (
    past_searches,
    question_input,
    single_section_plan,
    start_date,
    template,
)
from leadline_plugins.prompting.research_tasks import QUERY_EXAMPLE, Queries, QueryRequest

TASK = TaskKind(
    "query",
    QueryRequest,
    Queries,
    template("query"),
    example=QUERY_EXAMPLE,
    show=QueryRequest.as_text,
    expects=estimates.query,
)


@stage(
    "Proposes search queries: first from the plan, then from the gaps",
    needs=(QUESTION,),
    wants=(PLAN, TASKS, FOUND, SOURCES, DIGEST, REVIEW),
    gives=(TASKS,),
    ends_loop=True,
    uses=(TASK,),
)
class QueryStage:
    """Sets the search tasks of a round: first from the plan, later from the gaps; no query twice."""

    async def run(self, findings: Findings, run: StageRun, /) -> None:
        """Add search tasks, high priority first; without new ones the loop ends."""
        done = findings[TASKS]
        findings[TASKS] = new = await next_tasks(findings, run)
        if not new:
            findings.end_loop("no new search was proposed" if done else "earlier sources answer the question")


async def next_tasks(findings: Findings, run: StageRun) -> tuple[SearchTask, ...]:
    done = findings[TASKS]
    if not done and answered(findings.get(DIGEST)):
        return ()
    limit = query_limit(len(done), run)
    return new_tasks(await _proposed_queries(findings, run, limit), done, limit) if limit > 0 else ()


async def _proposed_queries(findings: Findings, run: StageRun, limit: int) -> list[Query]:
    """Return the queries of the plan or the last digest; if they have none, those of the task `query`.

    Before the first round, a digest has the searches that earlier turns left open.
    """
    question, done, digest = findings[QUESTION], findings[TASKS], findings.get(DIGEST)
    plan = findings.get(PLAN) or single_section_plan(question)
    if digest and digest.queries:
        return list(with_sections(plan, digest.queries))
    if not done and limit == 1:
        return next_queries(question, (), done)  # the only query is the question itself
    if ready := () if done else plan.queries:
        return next_queries(question, with_sections(plan, ready), done)
    if done and digest and digest.review:
        return []  # the digest proposed none
    # In the first round, one query is the question itself.
    request = _request(findings, plan, run, limit if done else max(1, limit - 1))
    # A refused call must not end the run: the question itself can always be searched.
    notice = Notice("no queries were proposed", "no_queries")
    reply = await perform_or(run, TASK.of(request), Queries(), notice, closing=not done)
    return next_queries(question, with_sections(plan, reply.queries), done)


def _request(findings: Findings, plan: Plan, run: StageRun, limit: int) -> QueryRequest:
    review = findings.get(REVIEW)
    return QueryRequest(
        question=question_input(findings[QUESTION]),
        plan=plan.model_copy(update={"queries": ()}),
        limit=limit,
        past=past_searches(findings[FOUND], findings[SOURCES]),
        gaps=review.priority_gaps if review else (),
        today=start_date(run),
    )


def with_sections(plan: Plan, proposed: Iterable[Query]) -> Iterator[Query]:
    """Yield the queries with the ids of their sections, whatever the model calls them."""
    meant = section_ids(plan)
    return (query.model_copy(update={"section": meant(query.section)}) for query in proposed)


def answered(digest: Digest | None) -> bool:
    """Return whether earlier sources answer the question, so that the first round needs no search.

    Stages that search read the finding DIGEST before their first search: `queries` are the searches that are missing.
    """
    return digest is not None and not digest.round and digest.review is not None and digest.review.is_sufficient


def query_limit(done: int, run: StageRun) -> int:
    """Return the maximum number of queries in the next round."""
    research = run.settings.research
    wanted = research.followup_queries if done else research.first_queries
    return min(wanted, research.max_queries - done)


def next_queries(question: Question, proposed: Iterable[Query], done: Sequence[SearchTask]) -> list[Query]:
    """Return the proposed queries; in the first round the question itself comes first."""
    queries = list(proposed)
    if done:
        return queries
    own = next((query for query in queries if _folded(query.query) == _folded(question.topic)), None)
    return [own or Query(query=question.topic, goal=question.text, priority="high"), *queries]


def new_tasks(proposed: Iterable[Query], done: Sequence[SearchTask], limit: int) -> tuple[SearchTask, ...]:
    """Return at most `limit` tasks for queries that were not searched before, high priority first.

    A gap, which is the goal of a query of a later round, is searched for once.
    """
    seen = {_folded(task.query) for task in done}
    gaps = {_folded(task.goal) for task in done if task.goal and task.round > 1}
    number = done[-1].round + 1 if done else 1
    new = []
    for query in proposed:
        folded = _folded(query.query)
        if folded and folded not in seen and _folded(query.goal) not in gaps:
            seen.add(folded)
            new.append(query)
    new = sorted(new[:limit], key=lambda query: _rank(query.priority))
    return tuple(
        SearchTask(
            id=f"q{number}.{position}",
            query=" ".join(query.query.split()),
            goal=query.goal,
            priority=priority(query.priority),
            section=query.section,
            category=query.category,
            round=number,
        )
        for position, query in enumerate(new, start=1)
    )


def section_ids(plan: Plan) -> Callable[[str], str]:
    """Return a function that maps a model's name for a section (`Section 3`, its title) to the section's id.

    Unknown names are returned unchanged.
    """
    forms = ("{title}", "{id}. {title}", "section {id}: {title}", "section {id}", "{id}")
    ids = {
        _section_key(form.format(id=section.id, title=section.title)): section.id
        for form in forms
        for section in plan.sections
    }
    return lambda name: ids.get(_section_key(name), name)


def _section_key(name: str) -> str:
    return name.casefold().strip(" .:#")


def _folded(query: str) -> str:
    return " ".join(query.casefold().split())


def priority(value: str | int) -> Priority:
    """Parse a priority: a word, or 1-2, 3, 4-5 for high, medium, low; anything else is medium."""
    rank = _rank(value)
    return "high" if rank < 3 else "low" if rank > 3 else "medium"


def _rank(value: str | int) -> int:
    """Return a priority as a number from 1 to 5."""
    text = str(value).strip().lower()
    return {"high": 1, "1": 1, "2": 2, "low": 4, "4": 4, "5": 5}.get(text, 3)
