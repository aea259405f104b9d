"""Stage `query`: the search tasks of a round."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from leadline.computing import compute
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
    Plan,
    Priority,
    Query,
    Question,
    SearchTask,
)
from leadline.hookspecs import PluginSettings, StageOffer, hookimpl
from leadline.records import Evidence
from leadline.task_kinds import TaskKind
from leadline_plugins import expect
from leadline_plugins.passages.rank import KeyQuestion, by_words
from leadline_plugins.prompts import template
from leadline_plugins.stages.degrade import perform_or
from leadline_plugins.stages.rounds import asked, past_searches, section_ids, titles, today
from leadline_plugins.tasks.planning import QUERY_EXAMPLE, QUERY_SCHEMA, Queries, QueryRequest

ASK = TaskKind(
    "query",
    QueryRequest,
    Queries,
    template("query"),
    schema=QUERY_SCHEMA,
    example=QUERY_EXAMPLE,
    show=QueryRequest.as_text,
    expects=expect.query,
)
_FOR_ALGORITHM = 60
"""Passages that an algorithm is given to propose queries from."""
_ORDER: dict[Priority, int] = {"high": 0, "medium": 1, "low": 2}


class NextQueries:
    """Sets the round's search tasks: the first from the plan, later ones from the gaps; no query twice."""

    async def run(self, findings: Findings, run: Run, /) -> None:
        """Add search tasks, high priority first; a round without new ones is the last."""
        done = findings[TASKS]
        findings[TASKS] = new = await chosen(findings, run)
        if done and not new:
            findings.end_loop("no new search was proposed")


async def chosen(findings: Findings, run: Run) -> tuple[SearchTask, ...]:
    """Return the next search tasks; the findings hold all that the stage `query` declares."""
    done = findings[TASKS]
    limit = allowed(len(done), run)
    return fresh(await _proposed(findings, run, limit), done, limit) if limit > 0 else ()


async def _proposed(findings: Findings, run: Run, limit: int) -> list[Query]:
    """Return the queries of the plan or the last digest; where these have none, those of a task of its own."""
    question, plan, done, digest = findings[QUESTION], findings[PLAN], findings[TASKS], findings.get(DIGEST)
    if ready := (digest.queries if digest else ()) if done else plan.queries:
        return next_queries(question, with_sections(plan, ready), done)
    if done and digest and digest.review:
        return []  # the digest was asked for queries and proposed none
    request = await _request(findings, run, limit)
    # A refusal must not end the run here: the question itself can always be searched for.
    reply = await perform_or(run, ASK.of(request), Queries(), "no queries were proposed", closing=not done)
    return next_queries(question, with_sections(plan, reply.queries), done)


async def _request(findings: Findings, run: Run, limit: int) -> QueryRequest:
    done, sources, review = findings[TASKS], findings[SOURCES], findings.get(REVIEW)
    request = QueryRequest(
        question=asked(findings[QUESTION]),
        plan=findings[PLAN].model_copy(update={"queries": ()}),
        round=done[-1].round + 1 if done else 1,
        limit=limit,
        past=past_searches(findings[FOUND], sources),
        gaps=review.priority_gaps if review else (),
        today=today(run),
    )
    if await run.by_chat(ASK.name) or not findings[EVIDENCE]:
        return request
    by_id = titles(sources)
    best = await compute(_best, findings[EVIDENCE], by_id, findings[QUESTION].text)
    named = {item.source_id: by_id.get(item.source_id, "") for item in best}
    return request.model_copy(update={"evidence": best, "titles": named})


def _best(evidence: tuple[Evidence, ...], by_id: dict[str, str], question: str) -> tuple[Evidence, ...]:
    scores = by_words(evidence, by_id, [KeyQuestion(question)])[0]
    places = sorted(scores, key=lambda place: (-scores[place], place))[:_FOR_ALGORITHM]
    return tuple(evidence[place].model_copy(update={"score": scores[place]}) for place in places)


def with_sections(plan: Plan, proposed: Iterable[Query]) -> Iterator[Query]:
    """Yield proposed queries with the id of the section that each serves, however the model names it."""
    meant = section_ids(plan)
    return (one.model_copy(update={"section": meant(one.section)}) for one in proposed)


def allowed(done: int, run: Run) -> int:
    """Return how many queries the next round may have."""
    research = run.settings.research
    wanted = research.followup_queries if done else research.first_queries
    return min(wanted, research.max_queries - done)


def next_queries(question: Question, proposed: Iterable[Query], done: Sequence[SearchTask]) -> list[Query]:
    """Return proposed queries; in the first round the question itself comes first."""
    queries = list(proposed)
    if done:
        return queries
    own = next((one for one in queries if _folded(one.query) == _folded(question.text)), None)
    return [own or Query(query=question.text, goal=question.text, priority="high"), *queries]


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


def priority(value: str | int) -> Priority:
    """Parse a priority: a word, or 1-2, 3, 4-5 for high, medium, low; anything else is medium."""
    text = str(value).strip().lower()
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
