"""The critical path of a run, from its events: the sum of latencies along the longest chain of dependencies.

A call depends on those that ended before it began and stand before it in the pipeline: those of an earlier stage that
had to end, and within one stretch the search before the page before the model. Calls of one rank are side by side,
however they were paced: so waiting for one's turn is overhead here, and no dependency. Latencies are those the
emulator was told to have; whatever a run needs beyond them is its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

_RANKS = {"search": 0, "fetch": 1, "chat": 2}


@dataclass(frozen=True)
class Leaf:
    """One outside request: when it began and ended (seconds), its place among the others, and its latency."""

    kind: str
    began: float
    ended: float
    rank: tuple[int, int]
    latency: float


def leaves(
    events: Iterable[Mapping[str, Any]], latencies: Mapping[str, float], spans: Mapping[str, float]
) -> list[Leaf]:
    """Return the outside requests of a run; `latencies` by kind, `spans` of single calls."""
    return list(_leaves(events, latencies, spans))


def _leaves(
    events: Iterable[Mapping[str, Any]], latencies: Mapping[str, float], spans: Mapping[str, float]
) -> Iterator[Leaf]:
    stretch, open_calls = 0, dict[str, tuple[float, int]]()
    for event in events:
        data, when = event["data"], datetime.fromisoformat(event["time"]).timestamp()
        if event["kind"] == "progress" and data["status"] == "finished":
            stretch += 1
        kind = data.get("kind")
        if kind in _RANKS and event["kind"] == "call.started":
            open_calls[event["span_id"]] = (when, stretch)
        elif kind in _RANKS and event["kind"] == "call.finished" and event["span_id"] in open_calls:
            began, place = open_calls.pop(event["span_id"])
            latency = spans.get(event["span_id"], latencies.get(kind, 0.0))
            yield Leaf(kind, began, when, (place, _RANKS[kind]), latency)


def critical(calls: Iterable[Leaf]) -> float:
    """Return the latency of the longest chain."""
    best: list[tuple[Leaf, float]] = []
    for call in sorted(calls, key=lambda call: call.began):
        before = (sum_ for other, sum_ in best if other.ended <= call.began and other.rank < call.rank)
        best.append((call, call.latency + max(before, default=0.0)))
    return max((sum_ for _, sum_ in best), default=0.0)
