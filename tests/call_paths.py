"""A call path over a folder, and an engine with scripted errors."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from leadline._runtime.calls.budget import Budget, Limits
from leadline._runtime.calls.call_path import CallPath, CallRules
from leadline._runtime.calls.retry import RetryPolicy
from leadline._runtime.event_bus import Bus
from leadline._runtime.journal.journal import Journal
from leadline._settings.secrets import Secrets
from leadline.contracts import Call, StageRun
from leadline.records import Hit, SearchPage, SearchRequest
from leadline.testing.runs import Recorder


@dataclass
class FakeSearch:
    """A search engine that returns one hit per query, after the scripted errors of that query.

    `asked` has the queries; `pause` (seconds) delays each answer; `gate`, while cleared, holds all answers back.
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


async def no_sleep(_: float) -> None:
    """Do not wait between the attempts of a call."""
    await asyncio.sleep(0)


class NoRun:
    """Stands in for a run, which the call path only passes on."""


@dataclass
class OpenCallPath:
    """A call path with its journal, budget and events."""

    calls: CallPath
    journal: Journal
    budget: Budget
    bus: Bus
    seen: Recorder


@asynccontextmanager
async def open_call_path(
    folder: Path,
    *,
    limits: Limits | None = None,
    budget: Budget | None = None,
    secrets: Secrets | None = None,
    offline: bool = False,
    status: str = "complete",
    **options: Any,
) -> AsyncIterator[OpenCallPath]:
    """Open the call path of a run in this folder: one session, or with `offline` a replay that writes nothing.

    There are no pauses between attempts.
    """
    journal = await Journal.open(folder / "journal.sqlite", mode="read" if offline else "write")
    seen, secrets = Recorder(), secrets or Secrets()
    budget = budget or Budget(limits or Limits())
    bus = Bus("run", "0" * 32, {"recorder": seen}, secrets=secrets)
    run = cast("StageRun", NoRun())
    rules = replace(CallRules(RetryPolicy(sleep=no_sleep), secrets), **options)
    calls = CallPath(run, journal, budget, bus, rules)
    try:
        yield OpenCallPath(calls, journal, budget, bus, seen)
    finally:
        await calls.in_flight.close()
        await bus.close()
        await journal.close(status)
