"""How an endpoint wants to be asked: what it was found not to understand is left out or said otherwise.

Nobody lists what the servers that speak this protocol leave out of it. So a request is sent in its full form; the first
400 that names a part of it is a lesson, kept by endpoint and model for the process and for a week on disk.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from leadline_plugins.ai.openai.failures import Refusal

_KEPT = 7 * 86400.0
"""Seconds; servers are updated."""
_STATUSES = (400, 403, 404, 405, 415, 422, 500, 501)
"""A 500 too: some servers fail on what they do not know."""


@dataclass(frozen=True)
class Manner:
    """How one model of one endpoint is asked."""

    api: Literal["chat", "responses"] = "chat"
    form: Literal["schema", "object", "plain"] = "schema"
    """Of structured replies: held to the schema, to JSON, or only asked for."""
    strict: bool = True
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    stream: bool = True
    usage: bool = True
    """Whether usage may be asked for in a stream."""
    temperature: bool = True
    effort: bool = True
    system: bool = True
    """Whether it has a system role; without, instructions stand in the first message of the user."""
    include: bool = True
    """Whether encrypted reasoning may be asked for (responses)."""


@dataclass(frozen=True)
class _Lesson:
    names: re.Pattern[str]
    """What the refusal speaks of."""
    sent: Callable[[Mapping[str, Any]], bool]
    learn: Callable[[Manner], Manner]


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_UNKNOWN = _words(
    r"n[o']t[ _](\w+ )?(support|allow|permit|available|exist|recogni|implement|enabled|valid)|unsupport|unrecogni"
    r"|unknown"
    r"|unexpected|unavailable|extra (inputs|fields)|invalid|must be|only (supports?|available)|do(es)?n.t support"
    r"|not a chat model|instead|incompatible|cannot be used"
)
_VALUE = _words(r"minimum|maximum value|below|above|between|range|too (large|small|high|low)|at (most|least)")
"""A refusal of the value, not of the field: nothing to learn from."""
_LESSONS = (
    _Lesson(
        _words(r"v1/responses|responses api"),
        lambda body: "messages" in body,
        lambda manner: replace(manner, api="responses"),
    ),
    _Lesson(
        _words(r"max_completion_tokens|max_tokens"),
        lambda body: "max_tokens" in body,
        lambda manner: replace(manner, limit="max_completion_tokens"),
    ),
    _Lesson(
        _words(r"max_completion_tokens"),
        lambda body: "max_completion_tokens" in body,
        lambda manner: replace(manner, limit="max_tokens"),
    ),
    _Lesson(
        _words(r"stream_options|include_usage"),
        lambda body: "stream_options" in body,
        lambda manner: replace(manner, usage=False),
    ),
    _Lesson(
        _words(r"\bstream(ing)?\b"), lambda body: bool(body.get("stream")), lambda manner: replace(manner, stream=False)
    ),
    _Lesson(
        _words(r"temperature"), lambda body: "temperature" in body, lambda manner: replace(manner, temperature=False)
    ),
    _Lesson(
        _words(r"reasoning|effort|thinking"),
        lambda body: "reasoning_effort" in body or "reasoning" in body,
        lambda manner: replace(manner, effort=False),
    ),
    _Lesson(
        _words(r"include|encrypted"), lambda body: "include" in body, lambda manner: replace(manner, include=False)
    ),
    _Lesson(
        _words(r"response[_ ]?format|json[_ ]?schema|json[_ ]?object|text\.format|structured output|json mode|grammar"),
        lambda body: "response_format" in body or "format" in body.get("text", {}),
        lambda manner: replace(manner, form="object" if manner.form == "schema" else "plain"),
    ),
    _Lesson(
        _words(r"system|role|developer instruction"),
        lambda body: any(message.get("role") == "system" for message in body.get("messages", ())),
        lambda manner: replace(manner, system=False),
    ),
)
_BAD_SCHEMA = _words(r"invalid_json_schema|invalid schema|schema (is )?invalid|compile (the )?grammar")


def learn(manner: Manner, said: Refusal, body: Mapping[str, Any]) -> Manner | None:
    """Return the manner to ask in after this refusal of this request; None where it teaches nothing."""
    if said.status not in _STATUSES or not _UNKNOWN.search(said.words) or _VALUE.search(said.words):
        return None
    for lesson in _LESSONS:
        if lesson.names.search(said.words) and lesson.sent(body):
            learnt = lesson.learn(manner)
            return learnt if learnt != manner else None
    return None


def loosen(manner: Manner, said: Refusal) -> Manner | None:
    """Return the manner for a schema that this endpoint does not take; it is for the one request only."""
    if said.status != 400 or not _BAD_SCHEMA.search(said.words) or manner.form != "schema":
        return None
    return replace(manner, strict=False) if manner.strict else replace(manner, form="object")


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
        """Keep a lesson; a folder that cannot be written costs another lesson in the next process."""
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
