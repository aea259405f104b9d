"""The event bus of a run: sends each event to observers and subscribers, with secrets masked."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, TypeVarTuple

from leadline._hosting.faults import words
from leadline._runtime.task_groups import contain
from leadline._settings.secrets import Secrets
from leadline.contracts import Observer
from leadline.events import Subscription, utc_now
from leadline.records import Event, Notice

Ts = TypeVarTuple("Ts")
log = logging.getLogger(__name__)

# An observer that fails this often is disabled for the rest of the run.
MAX_FAILURES = 3


class Bus:
    """Sends the events of one run to its observers and subscribers; create it on the event loop of the run."""

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
        # Whether the run still belongs to this session: otherwise no observer writes of it.
        self.is_current: Callable[[], bool] = lambda: True
        self._watchers = [_Watcher(name, observer, self) for name, observer in observers.items()]
        self._subscriptions: list[Subscription] = []
        # The pieces of replies that are being streamed, by key of the call, for readers that come later.
        self._streaming: dict[Any, list[Event]] = {}
        self._closed = False
        # The first error of each observer that failed, and late observers, for the metadata: masked.
        self.faults: list[str] = []

    @property
    def follows_deltas(self) -> bool:
        """True if an observer or a reader receives the pieces of streamed replies."""
        watched = any(watcher.deltas and watcher.watching for watcher in self._watchers)
        return watched or any(subscription.read for subscription in self._subscriptions)

    async def emit(
        self, kind: str, data: Mapping[str, Any], *, span_id: str = "", parent_id: str | None = None
    ) -> None:
        """Send an event to every observer and subscriber, without waiting for any of them."""
        self._emit(kind, data, span_id, parent_id)

    def emit_soon(self, kind: str, data: Mapping[str, Any], *, span_id: str = "") -> None:
        """Send an event from any thread."""
        self.soon(self._emit, kind, data, span_id, None)

    def soon(self, do: Callable[[*Ts], object], *arguments: *Ts) -> None:
        """Call a function on the event loop from any thread."""
        if threading.get_ident() == self._thread:
            do(*arguments)
            return
        # A thread may outlive the run and its loop; nobody waits for its last events.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(do, *arguments)

    def subscribe(self, *, deltas: bool | None = None) -> Subscription:
        """Return a stream of the events from now on: with pieces of replies as soon as it is read, or without any.

        With `deltas` it begins with the pieces of the replies that are being streamed, as far as they were kept.
        """
        subscription = Subscription(self._drop, deltas=deltas is not False)
        subscription.read = bool(deltas)
        for event in (event for pieces in self._streaming.values() for event in pieces) if deltas else ():
            subscription.put(event)
        self._subscriptions.append(subscription)
        if self._closed:
            subscription.close()
        return subscription

    async def close(self, grace: float = 5.0) -> tuple[str, ...]:
        """End every stream after the observers received the queued events; return the names of those that were late.

        An error event names the late observers to the others. `grace` is in seconds.
        """
        if self._closed:
            return ()
        await asyncio.sleep(0)  # what threads sent before now
        slow = await self._late(self._watchers, grace)
        if slow:
            names = ", ".join(watcher.name for watcher in slow)
            text = f"observers that did not receive all events within {grace:g} s: {names}"
            log.warning(text)
            self._fault(text)
        # Those in time also receive what the last events brought: the errors of the other observers.
        await self._late([watcher for watcher in self._watchers if watcher not in slow], grace)
        self._closed = True
        for subscription in self._subscriptions:
            subscription.put(None)
        await asyncio.gather(*(watcher.stop(grace) for watcher in self._watchers))
        return tuple(watcher.name for watcher in slow)

    async def _late(self, watchers: list[_Watcher], grace: float) -> list[_Watcher]:
        in_time = await asyncio.gather(*(watcher.in_time(grace) for watcher in watchers))
        return [watcher for watcher, done in zip(watchers, in_time, strict=True) if not done]

    def _emit(self, kind: str, data: Mapping[str, Any], span_id: str, parent_id: str | None) -> None:
        if self._closed:
            return
        if isinstance(message := data.get("message"), Notice):
            data = {**data, **message.data()}
        is_delta = kind == "call.delta"
        event = Event(
            seq=max(0, self.next_seq - is_delta),
            time=self._now(),
            run_id=self.run_id,
            kind=kind,
            data=self._secrets.clean(dict(data)),
            trace_id=self.trace_id,
            span_id=span_id,
            parent_id=parent_id,
        )
        self.next_seq += not is_delta
        if is_delta:
            self._streaming.setdefault(event.data.get("key"), []).append(event)
        elif kind in ("call.restart", "call.finished"):
            self._streaming.pop(event.data.get("key"), None)
        for watcher in self._watchers:
            if watcher.deltas or not is_delta:
                watcher.put(event)
        for subscription in self._subscriptions:
            if subscription.read or not is_delta:
                subscription.put(event)

    def _drop(self, subscription: Subscription) -> None:
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)

    def _fault(self, text: str) -> None:
        self.faults.append(self._secrets.scrub(text))
        self._emit("error", {"message": text, "category": "BUSINESS", "step": ""}, "", None)

    def failed(self, name: str, failures: int, error: BaseException) -> None:
        """Report that an observer failed so many times."""
        log.info("observer %s failed", name, exc_info=error)  # the user sees the event
        if failures == 1:
            self._fault(f"observer {name}: {words(error)}")
        if failures == MAX_FAILURES:
            self._emit("notice", {"message": f"observer {name} failed {failures} times and is disabled"}, "", None)


class _Watcher:
    """One observer with its own queue and task, so that it can neither slow a run nor break it."""

    def __init__(self, name: str, observer: Observer, bus: Bus) -> None:
        self.name = name
        self.deltas = bool(getattr(observer, "deltas", True))
        self._observer = observer
        self._bus = bus
        self._queue: asyncio.Queue[Event | asyncio.Future[None]] = asyncio.Queue()
        self._failures = 0
        self._task: asyncio.Task[None] | None = None

    @property
    def watching(self) -> bool:
        """True until the observer failed too often."""
        return self._failures < MAX_FAILURES

    def put(self, item: Event | asyncio.Future[None]) -> None:
        """Queue an event, or a future that is resolved when everything queued before it has been observed."""
        if self.watching:
            self._queue.put_nowait(item)
            self._task = self._task or asyncio.create_task(self._watch(), name=f"observer {self.name}")

    async def in_time(self, grace: float) -> bool:
        """Wait until the queued events were observed; return False if that takes longer than `grace` seconds."""
        if self._task is None:
            return True
        mark: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.put(mark)
        done, _ = await asyncio.wait({mark, self._task}, timeout=grace, return_when=asyncio.FIRST_COMPLETED)
        return bool(done)

    async def stop(self, grace: float) -> None:
        """Cancel the task and wait at most `grace` seconds for its end."""
        if self._task:
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=grace)

    async def _watch(self) -> None:
        while self.watching:
            item = await self._queue.get()
            if isinstance(item, asyncio.Future):
                item.set_result(None)
            elif self._bus.is_current():
                await self._show(item)

    async def _show(self, event: Event) -> None:
        try:
            await contain(self._observer.observe(event))
        except Exception as error:  # noqa: BLE001 - an observer never harms its run
            self._failures += 1
            self._bus.failed(self.name, self._failures, error)
