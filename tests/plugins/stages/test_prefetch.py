"""Nothing is begun ahead that the stages will not ask for, whatever a model says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Iterable
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from leadline.errors import CallFailed
from leadline.records import Evidence, Failure, Hit, SearchPage, SearchRequest
from leadline.research_findings import DIGEST as DIGESTED
from leadline.research_findings import EVIDENCE, QUESTION, TASKS, Digest, Plan, Query, Question, SearchTask
from leadline.research_findings import PLAN as PLAN_KEY
from leadline_plugins.prompting.research_tasks import Queries
from leadline_plugins.stages.digest import TASK as DIGEST
from leadline_plugins.stages.digest import DigestStage
from leadline_plugins.stages.plan import TASK as PLAN
from leadline_plugins.stages.prefetch import SearchPrefetch, can_prefetch
from leadline_plugins.stages.query import QueryStage

ASKED = Question(text="How deep is the harbour of Boulogne?", language="en")
BUILT_IN = ["clarify", "plan", "query", "search", "fetch", "extract", "digest", "review", "synthesize"]
SECTION = {"id": "1", "title": "The depth of the harbour", "goal": "Say how deep the harbour is", "questions": []}
HEAD = {"title": "The harbour of Boulogne and how deep it is", "sections": [SECTION]}
DONE = (SearchTask(id="q1.1", query="harbour"),)


class FakeRun:
    """Keeps what is searched and read; a search finds two pages of its own and one that all find."""

    def __init__(self, stages: Iterable[str] = BUILT_IN) -> None:
        self.stages = tuple(stages)
        research = SimpleNamespace(first_queries=4, followup_queries=3, max_queries=20, pages_per_query=3)
        research.section_tokens, research.evidence_tokens = 1_700, 24_000
        self.settings = SimpleNamespace(research=research, search=SimpleNamespace(results_per_query=10))
        self.searched: list[str] = []
        self.read: list[str] = []
        self.tasks: list[asyncio.Task[Any]] = []

    async def by_chat(self, task: str, role: str = "task") -> bool:
        return True

    def now(self) -> datetime:
        return datetime(2026, 3, 1, tzinfo=UTC)

    async def search(self, request: SearchRequest, /) -> SearchPage:
        self.searched.append(request.query)
        names = [f"{request.query.replace(' ', '-')}/{number}" for number in range(4)]
        return SearchPage(hits=tuple(Hit(url=f"https://example.org/{name}") for name in names))

    async def fetch(self, request: Any, /) -> Any:
        self.read.append(request.url)

    def prefetch(self, work: Coroutine[Any, Any, object], /) -> None:
        self.tasks.append(asyncio.ensure_future(work))

    async def through(self) -> list[str]:
        """Return what was searched beside the question, once all that was begun is through."""
        while left := [task for task in self.tasks if not task.done()]:
            await asyncio.gather(*left)
        for task in self.tasks:
            task.result()
        return [query for query in self.searched if query != ASKED.text]


def plan_of(*queries: Any, **parts: Any) -> str:
    proposed = [{"query": query} if isinstance(query, str) else query for query in queries]
    return json.dumps({"title": HEAD["title"], "queries": proposed} | HEAD | parts)


def of_plan(run: FakeRun) -> SearchPrefetch:
    ahead = SearchPrefetch(ASKED, run)  # type: ignore[arg-type]
    ahead.search_question()
    return ahead


def tell(ahead: SearchPrefetch, text: str, attempt: int = 1, size: int = 7) -> None:
    for place in range(0, len(text), size):
        ahead.receive(attempt, text[place : place + size])


@pytest.mark.parametrize("size", [1, 7, 10_000])
async def test_searches_begin_as_the_stage_will_choose_them(size: int) -> None:
    run = FakeRun()
    tell(of_plan(run), plan_of("a", "b", "A", "c", "d"), size=size)
    assert await run.through() == ["a", "b", "c"]
    assert run.searched[0] == ASKED.text
    assert len(run.read) == len(set(run.read)) == 12


HALF = plan_of("a", "b").partition('"b"')[0]
OPEN = plan_of("a", "b").partition('"sections"')[0] + '"sections": '


@pytest.mark.parametrize(
    ("attempts", "searched"),
    [
        ([HALF], ["a"]),
        ([HALF, plan_of("c", "d")], ["a"]),  # begun anew, it proposes nothing more
        ([plan_of("a")[:30], plan_of("c")], ["c"]),  # unless it had proposed nothing
        ([OPEN + "[" * 100_000], ["a", "b"]),
        ([OPEN + '{"a":' * 100_000], ["a", "b"]),
        ([plan_of("a", {"query": "x\ud800y"})], ["a"]),
    ],
    ids=["half", "anew", "anew before a proposal", "lists without end", "objects without end", "half a character"],
)
async def test_searches_begin_while_the_reply_arrives(attempts: list[str], searched: list[str]) -> None:
    run = FakeRun()
    ahead = of_plan(run)
    for attempt, text in enumerate(attempts, start=1):
        tell(ahead, text, attempt, size=25)
    assert await run.through() == searched


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(HEAD | {"sections": [SECTION | {"queries": [{"query": "a"}]}]}),
        plan_of({"goal": "a query without its words"}, "a"),
        "The queries are listed below.",
    ],
)
async def test_nothing_begins_that_is_no_query_of_the_plan(text: str) -> None:
    run = FakeRun()
    tell(of_plan(run), text)
    assert await run.through() == []


@pytest.mark.parametrize(
    ("review", "searched"),
    [({"is_sufficient": False}, ["a"]), ({"is_sufficient": True}, []), ({}, ["a"])],
)
async def test_a_digest_after_which_no_round_follows_begins_nothing(review: Any, searched: list[str]) -> None:
    run = FakeRun()
    ahead = SearchPrefetch(ASKED, run, DONE)  # type: ignore[arg-type]
    tell(ahead, json.dumps(review | {"queries": [{"query": "a"}], "synthesis": "deep"}))
    assert await run.through() == searched


async def test_waiting_for_all_searches_can_be_cancelled_with_them() -> None:
    run = FakeRun()
    never = asyncio.Event()

    async def search(request: SearchRequest, /) -> SearchPage:
        await never.wait()
        raise AssertionError

    run.search = search  # type: ignore[method-assign]
    tell(of_plan(run), plan_of("a"))
    await asyncio.sleep(0)
    for task in reversed(run.tasks):
        task.cancel()
    ends = await asyncio.gather(*run.tasks, return_exceptions=True)
    assert all(isinstance(end, asyncio.CancelledError) for end in ends)


@pytest.mark.parametrize(
    ("stages", "expected"),
    [
        (" ".join(BUILT_IN), True),
        ("plan query search fetch digest weigh review", True),
        ("plan approve query search fetch digest review", False),
        ("plan query search triage fetch digest review", False),
        ("plan write", False),
    ],
)
async def test_no_search_is_made_ahead_of_a_custom_stage_that_may_change_it(stages: str, expected: bool) -> None:
    run: Any = FakeRun(stages.split())
    assert [await can_prefetch(task, run) for task in (PLAN, DIGEST)] == [expected, expected]


async def test_a_plan_without_searches_is_followed_by_that_of_the_question() -> None:
    """It was begun before the plan was there, and would be in vain."""
    proposed = Queries(queries=(Query(query="sounding"), Query(query="boulogne")))

    class Proposing(FakeRun):
        async def perform(self, task: Any, /) -> Any:
            return proposed

    findings: Any = Findings({QUESTION: ASKED, PLAN_KEY: Plan.model_validate(HEAD)})
    await QueryStage().run(findings, Proposing())  # type: ignore[arg-type]
    assert [task.query for task in findings[TASKS]] == [ASKED.text, "sounding", "boulogne"]


class Findings(dict[Any, Any]):
    """Findings of which those that grow are empty at first."""

    def __missing__(self, key: Any) -> Any:
        return ()


async def test_a_round_that_was_not_digested_repeats_no_old_review() -> None:
    """The next searches are asked for anew: those of the last digest were made."""

    class Failing(FakeRun):
        rounds_left = 1
        question = ASKED.text

        def __init__(self) -> None:
            super().__init__()
            self.settings.ai = SimpleNamespace(embedder="", reranker="")

        async def each(self, items: Any, do: Any) -> Any:
            return [await do(item) for item in items]

        async def perform(self, task: Any, /) -> Any:
            raise CallFailed(Failure(kind="chat", provider="m", category="LLM", type="BadReply", message="no JSON"))

        async def emit(self, kind: str, data: Any) -> None:
            assert kind == "notice"

    last = Digest.model_validate({"review": {}, "queries": [{"query": "a"}], "synthesis": "deep", "round": 0})
    new = Evidence(id="e", source_id="s", quote="Deep.", span=(0, 5), task_id=DONE[-1].id)
    known = {QUESTION: ASKED, PLAN_KEY: Plan.model_validate(HEAD), DIGESTED: last, TASKS: DONE, EVIDENCE: (new,)}
    findings: Any = Findings(known)
    await DigestStage().run(findings, Failing())  # type: ignore[arg-type]
    assert findings[DIGESTED] == Digest(synthesis="deep", round=DONE[-1].round)
