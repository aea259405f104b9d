"""The progress of a run, collected from its events, and its steps in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from leadline.display import one_line, plural, shortened
from leadline.records import Event, Notice

# The words for the counts of a finished stage, by finding.
_WORDS = {
    "tasks": ("query", "queries"),
    "found": ("search", "searches"),
    "sources": ("source", "sources"),
    "unread": ("page not readable", "pages not readable"),
    "evidence": ("passage", "passages"),
    "sections": ("section", "sections"),
}
# A wait is reported again only if it lasts this many seconds longer.
_LONGER = 5.0
# Findings that every round adds to.
_PER_ROUND = ("tasks", "found", "sources", "evidence")


@dataclass
class RunProgress:
    """The state of a run; `steps` maps names, in order, to pending, started, finished or failed."""

    question: str = ""
    choices: tuple[str, ...] = ()
    steps: dict[str, str] = field(default_factory=dict)
    rounds: int = 0
    source: str = ""
    status: str = "running"
    reason: str = ""
    _urls: set[str] = field(default_factory=set)
    # By step and round, because a resumed run repeats them.
    _counts: dict[tuple[str, int], Mapping[str, Any]] = field(default_factory=dict)
    # By call, for the same reason.
    _usage: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    _messages: list[str] = field(default_factory=list)
    # When the wait for a provider ends.
    _waits: dict[str, float] = field(default_factory=dict)
    # The failures of calls that were reported.
    _failures: list[str] = field(default_factory=list)

    def update(self, event: Event) -> None:
        """Add an event."""
        data = event.data
        match event.kind:
            case "run.started":
                self.question = shortened(data["question"])
                self.choices = tuple(map(one_line, _listed(data["choices"])))
                self.steps = dict.fromkeys(map(str, _listed(data.get("steps"))), "pending")
            case "route":
                self.steps |= dict.fromkeys(map(str, _listed(data.get("steps"))), "pending")
            case "progress":
                self._progress(str(data["step"]), str(data["status"]), data["data"])
            case "source":
                self._urls.add(str(data["url"]))
                self.source = one_line(data.get("title") or data["url"])
            case "message" if data.get("kind") == "index":
                self.source = one_line(data["text"])
            case "call.finished" if usage := _table(data.get("usage")):
                self._usage[str(data["key"])] = usage
            case "run.finished":
                self.status, self.reason = str(data["status"]), shortened(data["reason"], 1_000)

    def _progress(self, step: str, status: str, data: Any) -> None:
        if _table(data).get("idle") and not any(step == name for name, _ in self._counts):
            self.steps.pop(step, None)
            return
        self.steps[step] = status
        number = int(_table(data).get("round", 0))
        if status == "finished":
            self._counts[step, number] = _table(data)
            if _table(data).get("tasks"):
                self.rounds = max(self.rounds, number, 1)  # a round without a search does not count

    def counts(self) -> Mapping[str, int]:
        """Return the counts of the whole run; sources are counted as they arrive."""
        counts: Counter[str] = Counter(sources=len(self._urls))
        for data in self._counts.values():
            counts.update({key: int(data[key]) for key in ("tasks", "evidence") if key in data})
        return counts

    def new_message(self, event: Event) -> str:
        """Return the message of a notice or error on one line; empty if it repeats an earlier one.

        A failed engine fails the search around it, and a failed chat its task, each with the same message. A notice
        whose reason is a failure that was reported omits the reason.
        """
        notice = Notice.read(event.data)
        message, about, is_error = one_line(notice), notice.parameters, event.kind == "error"
        if any(message.endswith(earlier) for earlier in self._messages):
            return ""
        if is_error and "failure" in about:
            # Without its kind, since a chat and its task have different ones.
            self._messages.append(message.removeprefix(str(about.get("kind"))))
            self._failures.append(one_line(about["failure"]))
            return message
        if is_error and any(f": {failure}" in message for failure in self._failures):
            return ""  # the end of the run tells it whole
        self._messages.append(message)
        reason = one_line(about.get("reason", ""))
        parts = [one_line(part) for part in Notice.read(about.get("reason")).parts]
        known = all(any(failure in part for failure in self._failures) for part in parts)
        return message.removesuffix(f" ({reason})").removesuffix(f": {reason}") if known else message

    def wait_message(self, event: Event) -> str:
        """Return how long the run waits for a provider; empty if that was reported for another of its calls."""
        who, seconds = str(event.data["provider"]), float(str(event.data["seconds"]))
        until = event.time.timestamp() + seconds
        if until < self._waits.get(who, 0.0) + _LONGER:
            return ""
        self._waits[who] = until
        return f"{one_line(who)} is rate limited: waiting {seconds:.0f} s"

    def totals(self) -> Iterator[str]:
        """Yield the counts of rounds, queries, sources, passages, tokens and cost; zeros are omitted."""
        if self.rounds:
            yield plural(self.rounds, "round")
        counts = self.counts()
        yield from (plural(counts[key], *_WORDS[key]) for key in ("tasks", "sources", "evidence") if counts[key])
        usages = self._usage.values()
        if tokens := sum(map(_tokens, usages)):
            yield plural(tokens, "token")
        if money := sum(float(usage.get("cost") or 0) for usage in usages):
            unpriced = sum(_tokens(usage) for usage in usages if usage.get("cost") is None)
            yield f"${money:.4f}" + (f" and {unpriced:,} tokens at an unknown price" if unpriced else "")


def _tokens(usage: Mapping[str, Any]) -> int:
    return int(usage.get("input_tokens", 0)) + int(usage.get("output_tokens", 0))


def format_counts(data: Any) -> str:
    """Return the counts of a finished step as text: `18 sources, 1 page not readable`."""
    counts = _table(data)
    return ", ".join(plural(int(counts[key]), *_WORDS[key]) for key in _WORDS if counts.get(key))


def format_step(event: Event) -> str:
    """Return a finished step as text: `search (round 1): 5 searches`; empty if it was idle."""
    data = event.data["data"]
    assert isinstance(data, dict)
    ended = f"no further round: {one_line(data['loop_end'])}" if data.get("loop_end") else ""
    if event.data["status"] == "started" or (data.get("idle") and not ended):
        return ""
    number = f" (round {data['round']})" if data.get("round") and any(key in data for key in _PER_ROUND) else ""
    failed = event.data["status"] == "failed"
    outcome = f"not done: {one_line(data.get('reason', ''))}" if failed else format_counts(data) or ended
    return f"{event.data['step']}{number}" + (f": {outcome}" if outcome else "")


def format_review(event: Event) -> str:
    """Return a review as text: `review (round 1): 3 of 5 sections covered; open: How deep in winter?`."""
    sections = _listed(event.data["sections"])
    covered = sum(_table(section).get("coverage") == "covered" for section in sections)
    parts = [f"{covered} of {plural(len(sections), 'section')} covered"]
    for title, key in (("open", "gaps"), ("sources disagree", "conflicts")):
        if items := _listed(event.data[key]):
            parts.append(f"{title}: {shortened('; '.join(map(str, items)))}")
    return f"review (round {event.data['round']}): {'; '.join(parts)}"


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
