"""Runs in tests: a call path over a folder, and the comparison of two runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from leadline._runtime.calls.budget import Budget, Limits
from leadline._runtime.calls.call_path import CallPath
from leadline._runtime.calls.retry import RetryPolicy
from leadline._runtime.event_bus import Bus
from leadline._runtime.journal.journal import Journal
from leadline._runtime.journal.missing import difference
from leadline._runtime.journal.rows import Row
from leadline._settings.secrets import Secrets
from leadline.contracts import Run
from leadline.records import Event


async def no_sleep(_: float) -> None:
    """Do not wait between the attempts of a call."""
    await asyncio.sleep(0)


@dataclass
class Recorder:
    """An observer that records every event."""

    events: list[Event] = field(default_factory=list)

    async def observe(self, event: Event, /) -> None:
        """Record the event."""
        self.events.append(event)

    def of(self, kind: str) -> list[dict[str, Any]]:
        """Return the data of all events of this kind."""
        return [dict(event.data) for event in self.events if event.kind == kind]


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
    run = cast("Run", None)  # the call path only passes it on
    options.setdefault("retry", RetryPolicy(sleep=no_sleep))
    calls = CallPath(run, journal, budget, bus, secrets=secrets, offline=offline, **options)
    try:
        yield OpenCallPath(calls, journal, budget, bus, seen)
    finally:
        await calls.close()
        await bus.close()
        await journal.close(status)


async def assert_same_calls(one: Path, other: Path) -> None:
    """Check that two journals contain the same calls; the AssertionError names the differences and their places.

    Equal questions must make equal calls, in any folder and at any time. A difference means that a request contains the
    time, a folder, an `id()` or the order of a set; such a run cannot be resumed.
    """
    first, second = await Journal.open(one, mode="read"), await Journal.open(other, mode="read")
    try:
        apart = [*await _only_in(first, second), *await _only_in(second, first)]
    finally:
        await first.close()
        await second.close()
    assert not apart, "the runs made different calls:\n" + "\n".join(apart)


async def _only_in(one: Journal, other: Journal) -> list[str]:
    strangers = _unmatched(other, one)
    lines = []
    for row in _unmatched(one, other):
        alike = [await other.request(stranger) for stranger in strangers if stranger.kind == row.kind]
        place = difference(await one.request(row), alike) or "no similar call in the other run"
        lines.append(f"only in {one.path}: {row.kind} by {row.provider}; {place}")
    return lines


def _unmatched(one: Journal, other: Journal) -> list[Row]:
    matched = other.keys()
    return [row for row in one.rows() if row.key not in matched]
