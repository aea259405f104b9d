"""Where a run stands, gathered from its events, in words: what both forms of the terminal's progress show."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from leadline.printable import one_line, shortened
from leadline.records import Event

_WORDS = {
    "tasks": ("query", "queries"),
    "found": ("search", "searches"),
    "sources": ("source", "sources"),
    "unread": ("page not readable", "pages not readable"),
    "evidence": ("passage", "passages"),
    "sections": ("section", "sections"),
}
"""What a stage gave, by the name of the finding."""
_FAILURE = re.compile(r"\w+ by (?P<who>[^\s:]+): (?P<why>.+)", re.DOTALL)
"""A failure as its call tells it: `draw by data: no points`."""
_MORE = 5.0
"""Seconds by which a wait is longer than the one that was told, to be told too."""
IN_ROUNDS = ("tasks", "found", "sources", "evidence")
"""What is given once a round."""


@dataclass
class Standing:
    """A run as it stands. `steps` by name, in their order: pending, started, finished, failed."""

    question: str = ""
    choices: tuple[str, ...] = ()
    steps: dict[str, str] = field(default_factory=dict)
    rounds: int = 0
    source: str = ""
    status: str = "running"
    reason: str = ""
    _urls: set[str] = field(default_factory=set)
    _given: dict[tuple[str, int], Mapping[str, Any]] = field(default_factory=dict)
    """By step and round: a run taken up again goes through them once more."""
    _used: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """By call, for the same reason. What a call may use counts in the budget alone, until it is known."""
    _told: list[str] = field(default_factory=list)
    _waited_for: dict[str, float] = field(default_factory=dict)
    """Until when, by provider."""
    _failures: list[tuple[str, str]] = field(default_factory=list)
    """Who failed, and why, of those told."""

    def take(self, event: Event) -> None:
        """Take an event in."""
        data = event.data
        match event.kind:
            case "run.started":
                self.question = shortened(data["question"])
                self.choices = tuple(map(one_line, _listed(data["choices"])))
                self.steps = dict.fromkeys(map(str, _listed(data.get("steps"))), "pending")
            case "progress":
                self._progress(str(data["step"]), str(data["status"]), data["data"])
            case "source":
                self._urls.add(str(data["url"]))
                self.source = one_line(data.get("title") or data["url"])
            case "call.finished" if usage := _table(data.get("usage")):
                self._used[str(data["key"])] = usage
            case "run.finished":
                self.status, self.reason = str(data["status"]), shortened(data["reason"], 1_000)

    def _progress(self, step: str, status: str, data: Any) -> None:
        self.steps[step] = status
        number = int(_table(data).get("round", 0))
        if status == "finished":
            self._given[step, number] = _table(data)
            if _table(data).get("tasks"):
                self.rounds = max(self.rounds, number, 1)  # in which nothing was searched is none

    def counts(self) -> Mapping[str, int]:
        """Return what the whole run has so far; sources are counted as they come."""
        given: Counter[str] = Counter(sources=len(self._urls))
        for data in self._given.values():
            given.update({key: int(data[key]) for key in ("tasks", "evidence") if key in data})
        return given

    def news(self, event: Event) -> str:
        """Return the message of a notice or error on one line; empty where it repeats one inside another's words.

        A failed engine fails the search around it, and a failed chat the task that it was for, which say the same once
        more; of a note on what became of a failure that stands above, the failure is left out.
        """
        message = one_line(event.data["message"])
        if any(message.endswith(told) for told in self._told):
            return ""
        self._told.append(message)
        if not (failure := _FAILURE.fullmatch(message)):
            return self._without_failure(message)
        told = failure["who"], failure["why"]
        if told in self._failures:
            return ""
        self._failures.append(told)
        return message

    def held(self, event: Event) -> str:
        """Return for how long a provider is waited for; empty where that was told: its calls are held together."""
        who, seconds = str(event.data["provider"]), float(str(event.data["seconds"]))
        until = event.time.timestamp() + seconds
        if until < self._waited_for.get(who, 0.0) + _MORE:
            return ""
        self._waited_for[who] = until
        return f"{one_line(who)} asks for patience: waiting {seconds:.0f} s"

    def _without_failure(self, note: str) -> str:
        """Return a note without the failure it ends with, and whose that was, where that stands above."""
        for who, why in self._failures:
            if note.endswith(f": {why}"):
                return note.removesuffix(f": {why}")
            if note.endswith(f" by {who}: {why})"):
                return note.removesuffix(f" by {who}: {why})").rpartition(" (")[0]
        return note

    def totals(self) -> Iterator[str]:
        """Yield how far the run is: rounds, queries, sources, passages, tokens, cost; what is none is left out."""
        if self.rounds:
            yield plural(self.rounds, "round", "rounds")
        counts = self.counts()
        yield from (plural(counts[key], *_WORDS[key]) for key in ("tasks", "sources", "evidence") if counts[key])
        used = self._used.values()
        if tokens := sum(map(_tokens, used)):
            yield plural(tokens, "token", "tokens")
        if money := sum(float(one.get("cost") or 0) for one in used):
            unpriced = sum(_tokens(one) for one in used if one.get("cost") is None)
            yield f"${money:.4f}" + (f" and {unpriced:,} tokens at an unknown price" if unpriced else "")


def _tokens(usage: Mapping[str, Any]) -> int:
    return int(usage.get("input_tokens", 0)) + int(usage.get("output_tokens", 0))


def given(data: Any) -> str:
    """Return what a finished step gave, in words: `18 sources, 1 page not readable`."""
    counts = _table(data)
    return ", ".join(plural(int(counts[key]), *_WORDS[key]) for key in _WORDS if counts.get(key))


def plural(count: int, one: str, many: str) -> str:
    """Return a count with its noun."""
    return f"{count:,} {one if count == 1 else many}"


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
