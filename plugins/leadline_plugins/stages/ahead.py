"""Searching ahead: a plan or a digest proposes searches, and each begins while the rest of the reply is being written.

What is asked here is what the stages `search` and `fetch` ask for afterwards, and they find it made or under way. A
reply that comes whole, or from the journal, has nothing to be ahead of.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from leadline.contracts import Run
from leadline.findings import Found, NextSearch, Query, Question, SearchTask
from leadline.records import Source
from leadline_plugins.stages.fetch import document_of, first, helping, known, second_helping
from leadline_plugins.stages.query import allowed, fresh, next_queries
from leadline_plugins.stages.search import request_for

_LIST = re.compile(r'(?<!\\)"queries"\s*:\s*\[')
_BETWEEN = re.compile(r"[\s,]*")
_DECODER = json.JSONDecoder()


class Ahead:
    """Begins the searches of one reply, the question's own at once; `done` and `sources` are of earlier rounds."""

    def __init__(
        self, question: Question, run: Run, done: Sequence[SearchTask] = (), sources: Sequence[Source] = ()
    ) -> None:
        self._question = question
        self._run = run
        self._done = done
        self._before = known(sources)
        self._searched: dict[str, asyncio.Future[Found]] = {}
        self._attempt, self._text = 1, ""
        if not done:
            self._begin(next_queries(question, (), done, {}))

    def heard(self, attempt: int, piece: str) -> None:
        """Take a piece of the reply; another attempt begins it anew."""
        if attempt != self._attempt:
            self._attempt, self._text = attempt, ""
        self._text += piece
        if "}" in piece:  # only then can a query have come to its end
            self._begin(next_queries(self._question, whole_ones(self._text), self._done, {}))
        if "]" in piece and self._searched and _ended(self._text):
            self._run.ahead(self._fill_up(list(self._searched.values())))

    def _begin(self, queries: Sequence[Query]) -> None:
        """Begin those that the stage `query` will choose: the first so many that are new."""
        for task in fresh(queries, self._done, allowed(len(self._done), self._run)):
            if task.query not in self._searched:
                self._searched[task.query] = asyncio.get_running_loop().create_future()
                self._run.ahead(self._through(task))

    async def _through(self, task: SearchTask) -> None:
        """Search, and read the first helping of what was found."""
        run, found = self._run, Found(id=task.id, task=task)
        try:
            page = await run.search(request_for(task.query, self._question.language, run))
            found = found.model_copy(update={"hits": page.hits})
        finally:
            self._searched[task.query].set_result(found)
        for hit in helping(found, self._before, first(run)):
            run.ahead(document_of(hit, run))

    async def _fill_up(self, searches: Sequence[asyncio.Future[Found]]) -> None:
        """Once all searches are through, read the next best pages of all of them."""
        for hit, _ in second_helping(await asyncio.gather(*searches), self._before, self._run):
            self._run.ahead(document_of(hit, self._run))


def whole_ones(text: str) -> Iterator[NextSearch]:
    """Yield the searches that a reply has proposed so far; what is no JSON is left to who reads the whole."""
    return (query for found, _ in _found(text) if (query := _query(found)))


def _ended(text: str) -> bool:
    """Return whether the list of searches has come to its end."""
    places = [place for _, place in _found(text)]
    return bool(places) and text[places[-1] :].lstrip().startswith("]")


def _found(text: str) -> Iterator[tuple[Any, int]]:
    """Yield what stands whole in the list so far, each with the place behind it."""
    start = _LIST.search(text)
    place = start.end() if start else len(text)
    while True:
        between = _BETWEEN.match(text, place)
        place = between.end() if between else place
        try:
            found, place = _DECODER.raw_decode(text, place)
        except ValueError:
            return
        yield found, place


def _query(found: Any) -> NextSearch | None:
    if not isinstance(found, dict) or not isinstance(query := found.get("query"), str):
        return None
    return NextSearch(query=query, section=str(found.get("section") or ""))
