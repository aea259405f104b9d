"""Runs in tests: an observer that records events, and the comparison of two runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leadline._runtime.journal.journal import Journal, difference
from leadline.records import Event


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


async def _only_in(journal: Journal, other: Journal) -> list[str]:
    """Describe the calls of a journal that the other does not have, each beside its most similar one there."""
    ours, theirs = journal.keys(), other.keys()
    unmatched = [row for row in other.rows() if row.key not in ours]
    lines = []
    for row in (row for row in journal.rows() if row.key not in theirs):
        similar = [await other.request(candidate) for candidate in unmatched if candidate.kind == row.kind]
        reason = difference(await journal.request(row), similar) or "no similar call in the other run"
        lines.append(f"only in {journal.path}: {row.kind} by {row.provider}; {reason}")
    return lines
