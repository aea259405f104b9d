"""Events: the one stream that tells everybody what a run does.

The kinds, and their `data`:

    run.started     {folder, question, pipeline, steps, choices, replay}
    run.finished    {status, reason}
    progress        {step, status: started | finished | failed, data}
    message         {kind: plan | learning | report, text, source}: `source` is the address of a learning's page
    reasoning       {text}
    source          {id, url, title, engine, tier}
    question        {id, message, schema}
    usage           {kind, provider, task, usage, spent}
    error           {message, category, step, kind, provider, attempts, replayed}
    notice          {message}
    call.started    {kind, provider, task, key}
    call.delta      {kind: text | reasoning, text, attempt, key, task, said}: `said` is what people read of the piece,
                    where the reply is JSON and its task names fields for them: titles of a plan, the text of a section
    call.restart    {attempt, key, task}: what the attempts before streamed is void
    call.held       {kind, provider, task, key, seconds}: it is sent so much later, for its provider asks for patience
    call.finished   {kind, provider, task, key, outcome: reply | failure | refusal,
                    from: live | journal | cache | shared, seconds, attempts, usage}

A call answered from the journal, the cache across runs, or another's flight has no `call.started`; its text comes as
one `call.delta`. Deltas go to those who take them: observers without `deltas = False`, and readers from when they begin
to read; where nobody does, replies may come whole. Spans are calls: `span_id` is the call's, `parent_id` that of the
composite call around it. `seq` rises by one, over all sessions of a run; who takes no deltas sees gaps. Secrets are
masked in every text.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, TypeVarTuple

from leadline.contracts import Observer
from leadline.door.faults import words
from leadline.door.secrets import Secrets
from leadline.records import Event
from leadline.runs.watching import FAILURES, Watcher

Ts = TypeVarTuple("Ts")
log = logging.getLogger(__name__)


def utc_now() -> datetime:
    """Return the time, in UTC."""
    return datetime.now(UTC)


class Subscription:
    """Events from now on, as an async iterator; it ends when the bus closes or it is closed.

    Unbounded: a reader may lag behind, and loses nothing; a run is finite. Not an async generator: one left by `break`
    would hold its resources until collected.
    """

    def __init__(self, leave: Callable[[Subscription], None]) -> None:
        self._queue: asyncio.Queue[Event | None] = asyncio.Queue()
        self._leave = leave
        self._ended = False
        self.read = False
        """Whether somebody reads it: a run's own stream is often left alone, and then holds no pieces of replies."""

    def __aiter__(self) -> Subscription:
        self.read = True
        return self

    async def __anext__(self) -> Event:
        self.read = True
        event = None if self._ended else await self._queue.get()
        if event is None:
            self._ended = True
            raise StopAsyncIteration
        return event

    def put(self, event: Event | None) -> None:
        """Add an event; None ends the stream after what is queued."""
        self._queue.put_nowait(event)

    def close(self) -> None:
        """Stop: a reader that waits gets the end."""
        self._leave(self)
        self._ended = True
        self.put(None)


class Bus:
    """The stream of one run; made on its event loop."""

    def __init__(
        self,
        run_id: str,
        trace_id: str,
        observers: Mapping[str, Observer],
        *,
        first_seq: int = 0,
        secrets: Secrets | None = None,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self.run_id = run_id
        self.trace_id = trace_id
        self.next_seq = first_seq
        self._secrets = secrets or Secrets()
        self._now = now
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._watchers = [Watcher(name, observer, self._failed) for name, observer in observers.items()]
        self._subscriptions: list[Subscription] = []
        self._closed = False

    @property
    def follows_deltas(self) -> bool:
        """Whether an observer or a reader takes the pieces of streamed replies."""
        watched = any(one.deltas and one.watching for one in self._watchers)
        return watched or any(one.read for one in self._subscriptions)

    async def emit(
        self, kind: str, data: Mapping[str, Any], *, span_id: str = "", parent_id: str | None = None
    ) -> None:
        """Send an event to every observer and subscriber; waits for none of them."""
        self._emit(kind, data, span_id, parent_id)

    def emit_soon(self, kind: str, data: Mapping[str, Any], *, span_id: str = "") -> None:
        """Send an event, from any thread."""
        self.soon(self._emit, kind, data, span_id, None)

    def soon(self, do: Callable[[*Ts], object], *arguments: *Ts) -> None:
        """Do something on the loop, from any thread."""
        if threading.get_ident() == self._thread:
            do(*arguments)
            return
        # A thread may outlive the run, and its loop: what it still has to say, nobody waits for.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(do, *arguments)

    def subscribe(self) -> Subscription:
        """Return a stream of the events from now on."""
        subscription = Subscription(self._drop)
        self._subscriptions.append(subscription)
        if self._closed:
            subscription.close()
        return subscription

    async def close(self, grace: float = 5.0) -> tuple[str, ...]:
        """End every stream, once the observers took in what is queued; returns those that did not in time.

        An error event names them to the others.
        """
        if self._closed:
            return ()
        await asyncio.sleep(0)  # what threads sent before now
        slow = await self._late(self._watchers, grace)
        if slow:
            names = ", ".join(watcher.name for watcher in slow)
            text = f"observers that did not take in all events within {grace:g} s: {names}"
            log.warning(text)
            self._emit("error", {"message": text, "category": "BUSINESS", "step": ""}, "", None)
            await self._late([watcher for watcher in self._watchers if watcher not in slow], grace)
        self._closed = True
        for subscription in self._subscriptions:
            subscription.put(None)
        await asyncio.gather(*(watcher.stop(grace) for watcher in self._watchers))
        return tuple(watcher.name for watcher in slow)

    async def _late(self, watchers: list[Watcher], grace: float) -> list[Watcher]:
        in_time = await asyncio.gather(*(watcher.in_time(grace) for watcher in watchers))
        return [watcher for watcher, well in zip(watchers, in_time, strict=True) if not well]

    def _emit(self, kind: str, data: Mapping[str, Any], span_id: str, parent_id: str | None) -> None:
        if self._closed:
            return
        event = Event(
            seq=self.next_seq,
            time=self._now(),
            run_id=self.run_id,
            kind=kind,
            data=self._secrets.clean(dict(data)),
            trace_id=self.trace_id,
            span_id=span_id,
            parent_id=parent_id,
        )
        self.next_seq += 1
        piece = kind == "call.delta"
        for watcher in self._watchers:
            if watcher.deltas or not piece:
                watcher.put(event)
        for subscription in self._subscriptions:
            if subscription.read or not piece:
                subscription.put(event)

    def _drop(self, subscription: Subscription) -> None:
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)

    def _failed(self, name: str, failures: int, error: BaseException) -> None:
        log.info("observer %s failed", name, exc_info=error)  # people are told by the event
        if failures == 1:
            text = f"observer {name}: {words(error)}"
            self._emit("error", {"message": text, "category": "BUSINESS", "step": ""}, "", None)
        if failures == FAILURES:
            self._emit("notice", {"message": f"observer {name} failed {failures} times and is left out"}, "", None)
