"""Stage `query`: what to search for next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from leadline.contracts import Run
from leadline.findings import (
    DIGEST,
    EVIDENCE,
    FOUND,
    PLAN,
    QUESTION,
    REVIEW,
    SOURCES,
    TASKS,
    Findings,
    NextSearch,
    Plan,
    Priority,
    Query,
    Question,
    SearchTask,
)
from leadline.hookspecs import PluginSettings, StageOffer, hookimpl
from leadline.task_kinds import TaskKind
from leadline_plugins import expect
from leadline_plugins.prompts import template
from leadline_plugins.shrinking import less_shown
from leadline_plugins.stages.degrade import perform_or
from leadline_plugins.stages.material import BEST
from leadline_plugins.stages.rounds import section_ids
from leadline_plugins.stages.showing import Serving, asked, by_source, outline, searched, serving, today
from leadline_plugins.tasks.planning import Queries, QueryRequest

ASK = TaskKind("query", QueryRequest, Queries, template("query"), shrink=less_shown, expects=expect.query)
BEST_EVIDENCE = 40
N = TypeVar("N", NextSearch, Query)
_ORDER: dict[Priority, int] = {"high": 0, "medium": 1, "low": 2}


class NextQueries:
    """Proposes the round's search tasks: the first from the plan, later ones from the gaps; never one twice."""

    async def run(self, findings: Findings, run: Run, /) -> None:
        """Add search tasks, high priority first; where none is new the round is the last."""
        done = findings[TASKS]
        findings[TASKS] = new = await chosen(findings, run)
        if done and not new:
            findings.end_loop("no new search was proposed")


async def chosen(findings: Findings, run: Run) -> tuple[SearchTask, ...]:
    """Return the next search tasks; the findings hold all that the stage `query` declares."""
    done = findings[TASKS]
    limit = allowed(len(done), run)
    return fresh(await _proposed(findings, run, limit), done, limit) if limit > 0 else ()


async def _proposed(findings: Findings, run: Run, limit: int) -> tuple[Query, ...]:
    question, plan, done = findings[QUESTION], findings[PLAN], findings[TASKS]
    digest = findings.get(DIGEST)
    if ready := (digest.queries if digest else ()) if done else plan.queries:
        # Proposed with the plan or the digest, in one reply, and begun while that was still being written.
        return next_queries(question, serving_sections(plan, ready), done, {one.id: one.goal for one in plan.sections})
    if done and digest and digest.review and "queries" in digest.model_fields_set:
        return ()  # it was asked for them, and said that there are none
    request = await _request(findings, run, limit)
    # Without any there would be no report; the question itself can be searched for whatever was refused.
    reply = await perform_or(run, ASK.of(request), Queries(), "no queries were proposed", closing=not done)
    queries = tuple(serving_sections(plan, reply.queries))
    if done:
        return queries
    # The first round begins with the question: its search is under way since the plan was asked for.
    own = (query for query in queries if _folded(query.query) == _folded(question.text))
    return (next(own, whole(question)), *queries)


def serving_sections(plan: Plan, proposed: Iterable[N]) -> Iterator[N]:
    """Yield proposed searches with the id of the section that each serves, however it is named."""
    meant = section_ids(plan)
    return (one.model_copy(update={"section": meant(one.section)}) for one in proposed)


async def _request(findings: Findings, run: Run, limit: int) -> QueryRequest:
    """Return what a model or an algorithm is asked with: each is shown what it can make use of."""
    done, found, review = findings[TASKS], findings[FOUND], findings.get(REVIEW)
    evidence, sources, chat = findings[EVIDENCE], findings[SOURCES], await run.by_chat(ASK.name)
    known = await serving(done, evidence, sources) if chat else Serving((), (), ())
    return QueryRequest(
        question=asked(findings[QUESTION]),
        plan=outline(findings[PLAN]),
        round=done[-1].round + 1 if done else 1,
        limit=limit,
        past=searched(found, sources, evidence, known),
        gaps=review.priority_gaps if review else (),
        evidence=() if chat else tuple(sorted(evidence, key=lambda item: -item.score)[:BEST_EVIDENCE]),
        sources=by_source(known.in_turn([task.id for task in done])[:BEST], sources),
        today=today(run),
    )


def allowed(done: int, run: Run) -> int:
    """Return how many queries the next round may have."""
    research = run.settings.research
    wanted = research.followup_queries if done else research.first_queries
    return min(wanted, research.max_queries - done)


def whole(question: Question) -> Query:
    """Return the question itself as a query."""
    return Query(query=question.text, goal=question.text, priority="high")


def next_queries(
    question: Question, ready: Iterable[NextSearch], done: Sequence[SearchTask], goals: Mapping[str, str]
) -> tuple[Query, ...]:
    """Return proposed searches as queries, their goals those of their sections; the question itself comes first."""
    proposed = (Query(query=one.query, goal=goals.get(one.section, ""), section=one.section) for one in ready)
    return tuple(proposed) if done else (whole(question), *proposed)


def fresh(proposed: Iterable[Query], done: Sequence[SearchTask], limit: int) -> tuple[SearchTask, ...]:
    """Return at most `limit` tasks for queries that were not searched before, high priority first."""
    seen = {_folded(task.query) for task in done}
    number = done[-1].round + 1 if done else 1
    new = []
    for query in proposed:
        folded = _folded(query.query)
        if folded and folded not in seen:
            seen.add(folded)
            new.append(query)
    new = sorted(new[:limit], key=lambda query: _ORDER[priority(query.priority)])
    return tuple(
        SearchTask(
            id=f"q{number}.{place}",
            query=" ".join(query.query.split()),
            goal=query.goal,
            priority=priority(query.priority),
            section=query.section,
            round=number,
        )
        for place, query in enumerate(new, start=1)
    )


def _folded(query: str) -> str:
    return " ".join(query.casefold().split())


def priority(said: str | int) -> Priority:
    """Read a priority: a word, or 1-2, 3, 4-5 for high, medium, low; anything else is medium."""
    text = str(said).strip().lower()
    if text in ("high", "1", "2"):
        return "high"
    return "low" if text in ("low", "4", "5") else "medium"


@hookimpl
def leadline_stages() -> Iterator[StageOffer[Any]]:
    """Offer the stage."""
    yield StageOffer(
        lambda settings, context: NextQueries(),
        PluginSettings,
        "Proposes search queries: first from the plan, then from the gaps",
        needs=(QUESTION, PLAN),
        wants=(TASKS, FOUND, SOURCES, EVIDENCE, DIGEST, REVIEW),
        gives=(TASKS,),
        tasks=(ASK,),
        ends_loop=True,
    )
