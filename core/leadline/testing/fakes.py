"""Fakes that stand where the outside would: scripted providers, a recorder of events, a door over a folder."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from leadline.contracts import Call, Run
from leadline.door.calls import Door
from leadline.door.retry import RetryPolicy
from leadline.door.secrets import Secrets
from leadline.events import Bus
from leadline.journal.journal import Journal
from leadline.records import Event, Hit, SearchPage, SearchRequest
from leadline.runs.budget import Budget, Limits


async def no_sleep(_: float) -> None:
    """Wait for nothing: the pause between the attempts of a test."""
    await asyncio.sleep(0)


@dataclass
class Recorder:
    """An observer that keeps every event."""

    events: list[Event] = field(default_factory=list)

    async def observe(self, event: Event, /) -> None:
        """Keep the event."""
        self.events.append(event)

    def of(self, kind: str) -> list[dict[str, Any]]:
        """Return the data of all events of this kind."""
        return [dict(event.data) for event in self.events if event.kind == kind]


@dataclass
class FakeSearch:
    """A search engine that gives one hit for every query, after the scripted errors of that query are used up.

    `asked` are the queries as they came; `pause` (seconds) slows it; `gate`, once cleared, holds every answer back.
    """

    name: str = "fake"
    errors: dict[str, list[Exception]] = field(default_factory=dict)
    pause: float = 0.0
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    asked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.gate.set()

    async def search(self, request: SearchRequest, call: Call, /) -> SearchPage:
        """Answer, or raise the next scripted error."""
        self.asked.append(request.query)
        await asyncio.sleep(self.pause)
        await self.gate.wait()
        if waiting := self.errors.get(request.query):
            raise waiting.pop(0)
        return SearchPage(hits=(Hit(url=f"https://example.org/{request.query}", title=request.query),))


@dataclass
class OpenDoor:
    """A door with what stands behind it."""

    door: Door
    journal: Journal
    budget: Budget
    bus: Bus
    seen: Recorder


@asynccontextmanager
async def open_door(
    folder: Path,
    *,
    limits: Limits | None = None,
    budget: Budget | None = None,
    secrets: Secrets | None = None,
    offline: bool = False,
    status: str = "complete",
    **options: Any,
) -> AsyncIterator[OpenDoor]:
    """Open the door of a run in this folder: one session, or with `offline` a replay that writes nothing.

    Pauses between attempts are not waited for.
    """
    journal = await Journal.open(folder / "journal.sqlite", mode="read" if offline else "write")
    seen, secrets = Recorder(), secrets or Secrets()
    budget = budget or Budget(limits or Limits())
    bus = Bus("run", "0" * 32, {"recorder": seen}, secrets=secrets)
    run = cast("Run", None)  # the door only hands it on
    options.setdefault("retry", RetryPolicy(sleep=no_sleep))
    door = Door(run, journal, budget, bus, secrets=secrets, offline=offline, **options)
    try:
        yield OpenDoor(door, journal, budget, bus, seen)
    finally:
        await door.close()
        await bus.close()
        await journal.close(status)
