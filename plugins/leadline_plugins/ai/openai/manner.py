"""How an endpoint wants to be asked: what it was found not to understand is left out or said otherwise.

Nobody lists what the servers that speak this protocol leave out of it. So a request is sent in its full form; the first
400 that names a part of it is a lesson, kept by endpoint and model for the process and for a week on disk.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

_KEPT = 7 * 86400.0
"""Seconds; servers are updated."""


Streaming = bool | Literal["auto"]


@dataclass(frozen=True)
class Manner:
    """How one model of one endpoint is asked."""

    api: Literal["chat", "responses"] = "chat"
    form: Literal["schema", "object", "plain"] = "schema"
    """Of structured replies: held to the schema, to JSON, or only asked for."""
    strict: bool = True
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    stream: bool = True
    patient: bool = True
    """Whether a reply may come in one piece: some gateways take a minute of silence for a failure, and some models
    only stream."""
    usage: bool = True
    """Whether usage may be asked for in a stream."""
    temperature: bool = True
    effort: bool = True
    system: bool = True
    """Whether it has a system role; without, instructions stand in the first message of the user."""
    choice: bool = True
    """Whether it can be told which of the tools may be called."""
    include: bool = True
    """Whether encrypted reasoning may be asked for (responses)."""


def streams(wanted: Streaming, manner: Manner, *, followed: bool) -> bool:
    """Return whether a reply is streamed: reading an event a token was most of the CPU of a run."""
    return manner.stream and (followed or not manner.patient if wanted == "auto" else wanted)


class Manners:
    """What was learnt, by endpoint and model, shared by the processes of this user."""

    def __init__(self, path: Path, now: Callable[[], float] = time.time) -> None:
        self._path = path
        self._now = now
        self._known: dict[str, Manner] = {}

    def get(self, name: str, default: Manner) -> Manner:
        """Return how to ask: as it was learnt, else as `default` says."""
        if name not in self._known:
            kept = self._kept().get(name, {})
            learnt = {key: value for key, value in kept.get("learnt", {}).items() if key in asdict(default)}
            self._known[name] = replace(default, **learnt)
        return self._known[name]

    def put(self, name: str, manner: Manner) -> None:
        """Keep what was learnt, once it proved right; a folder that cannot be written costs another lesson."""
        self._known[name] = manner
        unlike = {key: value for key, value in asdict(manner).items() if value != getattr(Manner(), key)}
        kept = self._kept() | {name: {"learnt": unlike, "time": self._now()}}
        fresh = self._path.with_suffix(".new")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            fresh.write_text(json.dumps(kept, indent=1), encoding="utf-8")
            fresh.replace(self._path)
        except OSError:
            return

    def _kept(self) -> dict[str, dict[str, Any]]:
        try:
            kept = json.loads(self._path.read_text(encoding="utf-8"))
            return {name: one for name, one in kept.items() if self._now() - one["time"] < _KEPT}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return {}  # not there yet, or not ours: it is only a memory of what can be learnt again
