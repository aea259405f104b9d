"""Searching ahead: a plan or a digest proposes searches, and each begins while the rest of the reply is being written.

What is asked here is what the stages `search` and `fetch` ask for afterwards, and they find it made or under way. A
reply that comes whole, or from the journal, has nothing to be ahead of.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from leadline.contracts import Run
from leadline.findings import Found, NextSearch, Query, Question, SearchTask
from leadline.records import Source
from leadline_plugins.stages.fetch import document_of, first, helping, known
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
        self._begun: set[str] = set()
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

    def _begin(self, queries: Sequence[Query]) -> None:
        """Begin those that the stage `query` will choose: the first so many that are new."""
        for task in fresh(queries, self._done, allowed(len(self._done), self._run)):
            if task.query not in self._begun:
                self._begun.add(task.query)
                self._run.ahead(self._through(task))

    async def _through(self, task: SearchTask) -> None:
        """Search, and read the first helping of what was found."""
        run = self._run
        page = await run.search(request_for(task.query, self._question.language, run))
        chosen = helping(Found(id=task.id, task=task, hits=page.hits), self._before, first(run))
        for hit in chosen:
            run.ahead(document_of(hit, run))


def whole_ones(text: str) -> Iterator[NextSearch]:
    """Yield the searches that a reply has proposed so far; what is no JSON is left to who reads the whole."""
    start = _LIST.search(text)
    place = start.end() if start else len(text)
    while True:
        between = _BETWEEN.match(text, place)
        place = between.end() if between else place
        try:
            found, place = _DECODER.raw_decode(text, place)
        except ValueError:
            return
        if query := _query(found):
            yield query


def _query(found: Any) -> NextSearch | None:
    if not isinstance(found, dict) or not isinstance(query := found.get("query"), str):
        return None
    return NextSearch(query=query, section=str(found.get("section") or ""))
