"""Prefetching: searches start while the model still writes the plan or digest that proposes them.

The stages `search` and `fetch` make the same calls later and reuse these. Searches count against the budget: none
starts after a retry once the first attempt has proposed one, and none of a digest that ends the research. Queries stand
above the rest of a reply, so they start before its sections are known; a search was made in vain if the reply is then
rejected, or if the process is killed before the reply is complete and the model then proposes other searches.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError
from pydantic_core import from_json

from leadline.contracts import StageRun
from leadline.encoding import without_surrogates
from leadline.records import Source
from leadline.research_findings import Found, Query, Question, SearchTask
from leadline.tasks import TaskKind
from leadline_plugins.stages.fetch import fetch_document, first_pages, known_addresses, more_pages, pages_at_once
from leadline_plugins.stages.query import new_tasks, next_queries, query_limit
from leadline_plugins.stages.search import search_request

# What makes the calls that are made ahead. A custom stage among these may change the searches.
_STAGES = " plan query search fetch "


async def can_prefetch(task: TaskKind[Any, Any], run: StageRun) -> bool:
    """Return whether a chat model answers and the built-in stages use its queries directly."""
    return _STAGES in f" {' '.join(run.stages)} " and await run.by_chat(task.name, task.role)


class SearchPrefetch:
    """Starts the searches of one reply; `done` and `sources` are those of earlier rounds. Without `reads`, no pages."""

    def __init__(
        self,
        question: Question,
        run: StageRun,
        done: Sequence[SearchTask] = (),
        sources: Sequence[Source] = (),
        *,
        reads: bool = True,
    ) -> None:
        self._question = question
        self._run = run
        self._done = done
        self._reads = reads
        self._before = known_addresses(sources)
        self._searched: dict[str, asyncio.Future[Found]] = {}
        self._attempt, self._text, self._ended = 1, "", False
        self._proposed: list[Query] = []

    def search_question(self) -> asyncio.Future[Found]:
        """Start the search for the question itself, which comes first in the first round."""
        self._begin(next_queries(self._question, (), ()))
        return next(iter(self._searched.values()))

    def receive(self, attempt: int, piece: str) -> None:
        """Take a piece of the reply; a new attempt starts over and may propose other searches."""
        if attempt != self._attempt:
            self._attempt, self._text, self._ended = attempt, "", bool(self._proposed)
        if self._ended:
            return
        self._text += piece
        if "{" in piece or '"' in piece:  # only these begin what follows a query or the list
            self._look()

    def _look(self) -> None:
        """Begin the searches that the reply has proposed so far, unless it says that the research is sufficient."""
        parts = _parts(self._text[self._text.find("{") :])
        queries, is_closed = parts.get("queries"), next(reversed(parts), "") != "queries"
        if not isinstance(queries, list):
            return
        try:  # the last one of a list that is still open may be incomplete
            complete = queries if is_closed else queries[:-1]
            self._proposed = [Query.model_validate(without_surrogates(query)) for query in complete]
        except ValidationError:
            self._ended = True  # the reply will be rejected
            return
        self._ended = is_closed
        if parts.get("is_sufficient"):
            self._proposed, self._ended = [], True
            return
        self._begin(next_queries(self._question, self._proposed, self._done))
        if self._ended and self._proposed:
            self._run.prefetch(self._read_more(list(self._searched.values())))

    def _begin(self, queries: Sequence[Query]) -> None:
        """Start the queries that the stage `query` will choose."""
        for task in new_tasks(queries, self._done, query_limit(len(self._done), self._run)):
            if task.query not in self._searched:
                self._searched[task.query] = asyncio.get_running_loop().create_future()
                self._run.prefetch(self._search_and_read(task))

    async def _search_and_read(self, task: SearchTask) -> None:
        """Search, and read the first pages of the result."""
        run, result = self._run, Found(id=task.id, task=task)
        try:
            page = await run.search(search_request(task.query, self._question.language, run))
            result = result.model_copy(update={"hits": page.hits})
        finally:
            if not self._searched[task.query].done():  # already cancelled together with its waiter
                self._searched[task.query].set_result(result)
        for hit in first_pages(result, self._before, pages_at_once(run)) if self._reads else ():
            run.prefetch(fetch_document(hit, run))

    async def _read_more(self, searches: Sequence[asyncio.Future[Found]]) -> None:
        """When all searches have returned, read the next best pages."""
        for hit, _ in more_pages(await asyncio.gather(*searches), self._before, self._run):
            self._run.prefetch(fetch_document(hit, self._run))


def _parts(text: str) -> dict[str, Any]:
    """Return the fields of a reply that is still being written, as far as it can be read."""
    try:
        parts = from_json(text, allow_partial=True)
    except ValueError:
        return {}
    return parts if isinstance(parts, dict) else {}
