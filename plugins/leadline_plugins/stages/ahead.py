"""Searching ahead: a plan or a digest proposes searches, and each begins while the rest of the reply is being written.

What is asked here is what the stages `search` and `fetch` ask for afterwards, and they find it made or under way: every
search counts, and one in vain would be missing later. So nothing begins before what stands in front of the searches is
known to be taken, and of a reply that is begun anew nothing is asked once the first had proposed a search. What follows
the searches may still spoil the reply; that is rare, and known to be the price. A reply that comes whole, or from the
journal, has nothing to be ahead of.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from pydantic import ValidationError

from leadline.contracts import Run
from leadline.errors import BadReply
from leadline.findings import Found, Query, Question, SearchTask
from leadline.journal.wire import without_surrogates
from leadline.records import Record, Source
from leadline.tasks import Task, checked
from leadline_plugins.stages.fetch import document_of, first, helping, known, second_helping
from leadline_plugins.stages.query import allowed, fresh, next_queries
from leadline_plugins.stages.search import request_for

R = TypeVar("R", bound=Record)
_NEXT = {"plan": ("plan query search fetch",), "digest": ("query search fetch", "digest review")}
"""By task: the stages that must follow each other, for one of somebody else's may change what is searched or read."""
_LIST = re.compile(r'(?<!\\)"queries"\s*:\s*\[')
_BETWEEN = re.compile(r"[\s,]*")
_DECODER = json.JSONDecoder()


async def can_be_ahead(task: Task[Any], run: Run) -> bool:
    """Return whether a chat is asked, and whether what it proposes is what is searched and read next."""
    row = f" {' '.join(run.stages)} "
    return all(f" {part} " in row for part in _NEXT[task.name]) and await run.by_chat(task.name, task.role)


class Ahead:
    """Begins the searches of one reply, the question's own first; `done` and `sources` are of earlier rounds.

    `fits` tells of the part of the reply before its searches whether they will be made.
    """

    def __init__(
        self,
        question: Question,
        run: Run,
        fits: Callable[[Any], bool],
        done: Sequence[SearchTask] = (),
        sources: Sequence[Source] = (),
    ) -> None:
        self._question = question
        self._run = run
        self._fits = fits
        self._done = done
        self._before = known(sources)
        self._searched: dict[str, asyncio.Future[Found]] = {}
        self._attempt, self._text, self._place, self._ended = 1, "", 0, False
        self._proposed: list[Query] = []
        self._deaf = False

    def heard(self, attempt: int, piece: str) -> None:
        """Take a piece of the reply; another attempt begins it anew, and may propose something else.

        The question's own search begins with the first piece: where no model answers, nothing is searched.
        """
        if not self._done and not self._searched:
            self._begin(next_queries(self._question, (), ()))
        if attempt != self._attempt:
            self._attempt, self._ended = attempt, bool(self._proposed)
            self._deaf = self._ended
            if not self._deaf:
                self._text, self._place = "", 0
        if self._deaf:
            return
        self._text += piece
        if self._ended:
            return
        if "}" in piece or "]" in piece:  # only then can a search have come to its end, or their list
            self._look()

    def _look(self) -> None:
        if not self._place and not self._at_the_list():
            return
        found, self._place, self._ended = proposed(self._text, self._place, Query)
        self._proposed += found
        self._begin(next_queries(self._question, self._proposed, self._done))
        if self._ended and self._proposed:
            self._run.ahead(self._fill_up(list(self._searched.values())))

    def _at_the_list(self) -> bool:
        """Find the list of searches; where it stands behind something that will not be taken, hear no more."""
        if found := before_searches(self._text):
            head, self._place = found
            self._ended = not self._fits(head)
        return bool(self._place) and not self._ended

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
            if not self._searched[task.query].done():  # it is cancelled with who waits for it
                self._searched[task.query].set_result(found)
        for hit in helping(found, self._before, first(run)):
            run.ahead(document_of(hit, run))

    async def _fill_up(self, searches: Sequence[asyncio.Future[Found]]) -> None:
        """Once all searches are through, read the next best pages of all of them."""
        for hit, _ in second_helping(await asyncio.gather(*searches), self._before, self._run):
            self._run.ahead(document_of(hit, self._run))


def fitting(task: Task[R], wanted: Callable[[R], bool]) -> Callable[[Any], bool]:
    """Return a check of the part of a reply before its searches: that it parses, passes its check and is wanted."""

    def fits(head: Any) -> bool:
        try:
            return wanted(checked(task.reply.model_validate(without_surrogates(head)), task))
        except (ValidationError, BadReply, OverflowError, RecursionError):
            return False

    return fits


def before_searches(text: str) -> tuple[Any, int] | None:
    """Return what a reply says before its searches, and the place where these begin; None where they do not yet."""
    start = text.find("{")
    for match in _LIST.finditer(text, max(start, 0)):
        try:
            return json.loads(f"{text[start : match.end()]}]}}"), match.end()
        except (ValueError, RecursionError):
            continue  # words of something else, or a list deeper within
    return None


def proposed(text: str, place: int, kind: type[R]) -> tuple[list[R], int, bool]:
    """Return what stands whole of a list from a place on, the place behind it, and whether the list ends there."""
    found: list[R] = []
    while True:
        between = _BETWEEN.match(text, place)
        place = between.end() if between else place
        try:
            one, place = _DECODER.raw_decode(text, place)
            found.append(kind.model_validate(without_surrogates(one)))
        except ValidationError:
            return found, place, True  # the whole will not be taken as it is
        except (ValueError, RecursionError):
            return found, place, text.startswith("]", place)
