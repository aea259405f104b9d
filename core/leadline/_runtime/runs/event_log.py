"""The events of a run for a reader that comes late or comes back: first those on disk, then live ones.

The file is the truth: a numbered event is delivered once it is on disk, so that a reader that reconnects after a crash
neither misses one nor gets one twice. Pieces of streamed replies (`call.delta`) have no numbers and are only live; from
another process they come through a socket.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

from leadline._runtime.runs.interprocess import LiveReader
from leadline.events import Subscription
from leadline.records import Event
from leadline.stores import EventLog, store_of

# Seconds between two looks at the file: while this process runs the run, and while another one does. Looks at a file
# that has not grown cost next to nothing, so that many readers can wait for events of other processes.
_LIVE_INTERVAL, _REMOTE_INTERVAL = 0.03, 0.1
# Looks at an unchanged file after which it is checked whether the run goes on.
_QUIET_LOOKS = 5
# Seconds until an event that does not reach the file is delivered all the same: the observer is off or has failed.
_PATIENCE = 2.0


class EventFile:
    """The complete lines of an `events.jsonl`, read from where the last read ended.

    Lines up to the number `after` are skipped. Long texts are read from their segments.
    """

    def __init__(self, path: Path, after: int = -1) -> None:
        self.last = after
        self._path = path
        self._position = 0
        self._seen = -1

    def has_grown(self) -> bool:
        """Return whether there is more than what was read."""
        try:
            return self._path.stat().st_size != self._seen
        except OSError:
            return False

    def read(self) -> list[Event]:
        """Return the new events; a damaged line is skipped. Raises `OSError`."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._position)
                data = file.read()
        except FileNotFoundError:
            return []
        self._seen = self._position + len(data)
        complete = data[: data.rfind(b"\n") + 1]
        self._position += len(complete)
        return [*self._events(complete)]

    def _events(self, lines: bytes) -> Iterator[Event]:
        for line in lines.splitlines():
            try:
                stored = json.loads(line)
                if stored["seq"] > self.last:
                    event = Event.model_validate({**stored, "data": self._whole(stored["data"])})
                    self.last = event.seq
                    yield event
            except (ValueError, KeyError, TypeError):
                continue

    def _whole(self, value: Any) -> Any:
        """Return event data with the texts of its segments; what is missing of a text is left out."""
        if isinstance(value, list):
            return [self._whole(item) for item in value]
        if not isinstance(value, dict):
            return value
        if value.keys() != {"beginning", "segments"}:
            return {key: self._whole(item) for key, item in value.items()}
        try:
            parts = [(self._path.parent / Path(part["file"]).name).read_bytes() for part in value["segments"]]
        except OSError:
            return value["beginning"]
        return b"".join(parts).decode("utf-8", "replace")


async def follow(
    path: Path,
    after: int,
    subscribe: Callable[[], Subscription] | None,
    is_active: Callable[[], bool],
    *,
    deltas: bool = True,
) -> AsyncIterator[Event]:
    """Yield the events of a run with numbers above `after`, until its session ends.

    `path` is its `events.jsonl`. `subscribe` is given if the run is one of this process; otherwise the file is watched
    while `is_active()`. Missing numbers are announced by an event `gap` {after, before}.
    """
    store, last = store_of(path), after
    file = store.events(path.parent, after) if store else EventFile(path, after)
    finished: set[Any] = set()
    reader = LiveReader(path.parent) if deltas else None
    async for event in _live(file, subscribe()) if subscribe else _watched(file, is_active, reader):
        if event.kind == "call.delta":
            if not deltas or event.data.get("key") in finished:  # older than what was read from the file
                continue
        else:
            if event.seq > last + 1:
                gap: Any = {"after": last, "before": event.seq}
                yield event.model_copy(update={"seq": event.seq - 1, "kind": "gap", "data": gap, "span_id": ""})
            if event.kind == "call.finished":
                finished.add(event.data.get("key"))
            last = event.seq
        yield event


async def _watched(file: EventLog, is_active: Callable[[], bool], pieces: LiveReader | None) -> AsyncIterator[Event]:
    def look() -> tuple[bool, list[Event]]:
        active = is_active()
        return active, file.read()

    quiet = _QUIET_LOOKS
    try:
        while True:
            active, events = True, list[Event]()
            if quiet >= _QUIET_LOOKS or file.has_grown():
                active, events = await asyncio.to_thread(look)
                quiet = _QUIET_LOOKS if events and events[-1].kind == "run.finished" else 0
            for event in pieces.among(events, file.last) if pieces else events:
                yield event
            if not active:
                return
            quiet += 1
            await asyncio.sleep(_REMOTE_INTERVAL)
    finally:
        if pieces:
            pieces.close()


async def _live(file: EventLog, live: Subscription) -> AsyncIterator[Event]:
    is_logged = True
    try:
        for event in await asyncio.to_thread(file.read):
            yield event
        async for event in live:
            if event.kind == "call.delta":
                yield event
                continue
            patience = _PATIENCE if is_logged else 0.0
            while event.seq > file.last and patience >= 0:
                await asyncio.sleep(_LIVE_INTERVAL)
                patience -= _LIVE_INTERVAL
                for logged in await asyncio.to_thread(file.read):
                    yield logged
            is_logged = event.seq <= file.last
            if not is_logged:
                file.last = event.seq
                yield event
    finally:
        live.close()
