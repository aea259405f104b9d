"""The critical path of a run, from its events: the sum of latencies along the longest chain of dependencies.

A call depends on those that ended before it began and stand before it in the pipeline: those of an earlier stage that
had to end, and within one stretch the search before the page before the model. Calls of one rank are side by side,
however they were paced: so waiting for one's turn is overhead here, and no dependency. A search that begins while a
plan or digest is streamed depends on the part of the reply that had come. Latencies are those the emulator was told to
have; whatever a run needs beyond them is its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

_RANKS = {"search": 0, "fetch": 1, "chat": 2}
_STREAMED = ("plan", "digest")


@dataclass(frozen=True)
class Leaf:
    """One outside request: when it began and ended (seconds), its place among the others, and its latency."""

    kind: str
    began: float
    ended: float
    rank: tuple[int, int]
    latency: float
    parts: tuple[float, ...] = ()
    """When the parts of its reply were there, in seconds from its beginning."""


def leaves(events: Iterable[Mapping[str, Any]], latencies: Mapping[str, float], book: Mapping[str, Any]) -> list[Leaf]:
    """Return the outside requests of a run; `latencies` by kind, those of chats by span in the emulator's book."""
    return list(_leaves(events, latencies, book["seconds"], book["parts"]))


def _leaves(
    events: Iterable[Mapping[str, Any]],
    latencies: Mapping[str, float],
    spans: Mapping[str, float],
    parts: Mapping[str, Sequence[float]],
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
            streamed = tuple(parts.get(event["span_id"], ())) if data["task"] in _STREAMED else ()
            yield Leaf(kind, began, when, (place, _RANKS[kind]), latency, streamed)


def critical(calls: Iterable[Leaf]) -> float:
    """Return the latency of the longest chain."""
    best: list[tuple[Leaf, float]] = []
    for call in sorted(calls, key=lambda call: call.began):
        before = [sum_ for other, sum_ in best if other.ended <= call.began and other.rank < call.rank]
        if call.kind == "search":
            before += [
                sum_ - other.latency + _had(other, call.began) for other, sum_ in best if other.ended > call.began
            ]
        best.append((call, call.latency + max(before, default=0.0)))
    return max((sum_ for _, sum_ in best), default=0.0)


def _had(chat: Leaf, when: float) -> float:
    """Return when the last part was there of what a streamed reply had brought by then."""
    return max((part for part in chat.parts if part <= when - chat.began), default=0.0)
