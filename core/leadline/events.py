"""Events: one stream that reports everything a run does.

The kinds of events and their `data`:

    run.started     {folder, question, pipeline, steps, choices, replay, principal, previous}: `previous` is the last
                    session of a resumed run, {span_id, began, ended}; `ended` is null if it was killed
    run.finished    {status, reason, claims}: `claims` are the numbers of claims by verdict
    progress        {step, status: started | finished | failed, data}: with `idle` in `data` it had nothing to do;
                    `loop_end` is the reason why no further round follows
    route           {pipeline, reason, by: rules | model | default, steps}: the run continues with this pipeline
    message         {kind: plan | learning | report | index, text}: a plan also has {sections}, each {id, title,
                    questions}; the learning from a page that was cut into passages {source, passages}: its URL and
                    their number; `index`: how many files of the user's documents are read so far
    review          {round, sections, gaps, conflicts}: what a round left open; `sections` are {id, coverage, depth,
                    questions}, `gaps` the questions to search for, `conflicts` where sources disagree
    query           {id, query, goal, section, round}: a search begins; `section` is the id of a section of the plan
    found           {id, hits, failure}: it has ended with so many hits, or failed
    source          {id, url, title, engine, tier, query}: a page was read; `query` is the id of the search
    unread          {url, reason, query}: a page could not be read
    question        {id, message, schema, seconds}: answered by `Run.answer` within so many seconds; the
                    `call.finished` with this `key` tells that it is closed
    usage           {kind, provider, task, key, usage, spent}
    error           {message, category, step}; that of a call also has {kind, provider, task, key, code, parameters},
                    {attempts, replayed} and {type}, the class of the failure, as RateLimited
    notice          {message, code, parameters}; the last two only if the message has a code
    call.started    {kind, provider, task, key}; a chat also has {model}, the model that is asked
    call.delta      {kind: text | reasoning, text, attempt, key, task, provider, said}: `said` is the readable part of
                    the piece if the reply is JSON and its task names readable fields, such as the titles of a plan;
                    with {answers} it is the answer of the run
    call.retried    {kind, provider, task, key, attempt, category, type, seconds}: an attempt failed, and the next one
                    follows after so many seconds
    call.restart    {attempt, key, task}: discard what earlier attempts streamed
    call.held       {kind, provider, task, key, seconds}: the provider asked to wait this long before the next request
    call.finished   {kind, provider, task, key, outcome: reply | failure | refusal,
                    from: live | journal | cache | shared, seconds, attempts, usage}; a reply of a model also has
                    {model, finish_reason}
    knowledge       {done, total, problems}: files of an addition of documents, which is no run
    gap             {after, before}: the events between these numbers are lost; only `Client.events` reports it

A call that is answered by the journal, by the cache across runs or by an identical call in flight has no
`call.started`; its text arrives as one `call.delta`. Deltas are sent to observers without `deltas = False` and to
readers from the moment they begin to read; without either, replies need not be streamed. Readers in other processes get
them through a socket, if the run was published (`Run.publish`), in their order among the other events. Append
them by `key`: `call.started` and `call.restart` begin the text of a call anew, `call.finished` ends it. They are not
stored and not sent again: who reads again gets the replies in flight from their beginning.

Sessions, stages and calls are spans of one trace per run. `span_id` of `run.started` and `run.finished` is that of the
session; of `progress` that of the stage, from `started` to `finished` or `failed` (empty if it could not start); of a
call's events that of the call. `parent_id` of a call is the composite call around it or else its stage; what has none
is below the session. `seq` increases by one over all sessions of a run; a delta has the number of the event before it.
Secrets are masked in every text.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime

from leadline.records import Event


def utc_now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


class Subscription:
    """An async iterator over the events from now on; it ends when the run ends or `close` is called.

    The queue is unbounded: a slow reader loses nothing, and a run is finite.
    """

    # Not an async generator: one that is left by `break` would keep its resources until it is collected.

    def __init__(self, leave: Callable[[Subscription], None], *, deltas: bool = True) -> None:
        self._queue: asyncio.Queue[Event | None] = asyncio.Queue()
        self._leave, self._deltas = leave, deltas
        self._ended = False
        # Many callers never read a run's own stream. Until somebody does, it stores no pieces of replies.
        self.read = False

    def __aiter__(self) -> Subscription:
        self.read = self._deltas
        return self

    async def __anext__(self) -> Event:
        self.read = self._deltas
        event = None if self._ended else await self._queue.get()
        if event is None:
            self._ended = True
            raise StopAsyncIteration
        return event

    def put(self, event: Event | None) -> None:
        """Add an event; None ends the stream after the queued events."""
        self._queue.put_nowait(event)

    def close(self) -> None:
        """End the stream, also for a reader that is waiting."""
        self._leave(self)
        self._ended = True
        self.put(None)
