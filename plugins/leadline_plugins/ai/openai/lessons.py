"""What the first refusal of a request teaches: the part of it that this endpoint does not understand."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from leadline_plugins.ai.openai.causes import GENERATED_WRONG
from leadline_plugins.ai.openai.failures import Refusal
from leadline_plugins.ai.openai.manner import Manner

_STATUSES = (400, 403, 404, 405, 415, 422, 500, 501)
"""A 500 too: some servers fail on what they do not know."""
_IMPATIENT = (408, 504, 524)
"""What gateways answer when a reply that comes whole is silent for longer than they wait."""
_UNFIT = (400, 422)


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
    r"|not a chat model|instead|incompatible|cannot be used|literal_error|input should be|missing field|must alternate"
)
_TELLS_NOTHING = _words(r"^(invalid_?request|bad_?request)")
"""The kind of every refusal by OpenAI is `invalid_request_error`, whatever it speaks of."""
_VALUE = _words(r"minimum|maximum value|below|above|between|range|too (large|small|high|low)|at (most|least)")
"""A refusal of the value, not of the field: nothing to learn from."""
_STREAM = _words(r"\bstream(ing)?\b")
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
    _Lesson(_STREAM, lambda body: bool(body.get("stream")), lambda manner: replace(manner, stream=False)),
    _Lesson(
        _words(r"temperature"), lambda body: "temperature" in body, lambda manner: replace(manner, temperature=False)
    ),
    _Lesson(
        _words(r"reasoning|effort|thinking"),
        lambda body: "reasoning_effort" in body or "reasoning" in body,
        lambda manner: replace(manner, effort=False),
    ),
    _Lesson(
        _words(r"tool_choice|allowed_tools"),
        lambda body: "tool_choice" in body,
        lambda manner: replace(manner, choice=False),
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
        _words(r"\bsystem\b|\broles?\b|developer instruction"),
        lambda body: any(message.get("role") == "system" for message in body.get("messages", ())),
        lambda manner: replace(manner, system=False),
    ),
)
_BAD_SCHEMA = _words(
    r"invalid_json_schema|invalid schema|schema (is )?invalid|compile (the )?grammar"
    r"|(specified|response_|generationconfig.{0,20})schema|too many states|nesting depth"
    r"|^request contains an invalid argument"
)
"""The last is all that Gemini says: it may be the schema, and costs one more request to find out."""


def learn(manner: Manner, said: Refusal, body: Mapping[str, Any], *, may_stream: bool = True) -> Manner | None:
    """Return the manner to ask in after this refusal of this request; None where it teaches nothing.

    `may_stream`: what was not streamed may be, if that is what is missing.
    """
    if may_stream and manner.stream and manner.patient and not body.get("stream") and _wants_a_stream(said):
        return replace(manner, patient=False)
    if said.status not in _STATUSES or said.code in GENERATED_WRONG or _VALUE.search(said.words):
        return None
    kind = "" if _TELLS_NOTHING.match(said.kind) else said.kind
    if not _UNKNOWN.search(f"{said.message} {said.code} {kind}"):
        return None
    for lesson in _LESSONS:
        if lesson.names.search(said.words) and lesson.sent(body):
            learnt = lesson.learn(manner)
            return learnt if learnt != manner else None
    return None


def _wants_a_stream(said: Refusal) -> bool:
    """Return whether a reply in one piece is what was refused."""
    return said.status in _IMPATIENT or (said.status in _UNFIT and bool(_STREAM.search(said.words)))


def loosen(manner: Manner, said: Refusal) -> Manner | None:
    """Return the manner for a schema that this endpoint does not take; it is for the one request only."""
    if said.status != 400 or not _BAD_SCHEMA.search(said.words) or manner.form != "schema":
        return None
    return replace(manner, strict=False) if manner.strict else replace(manner, form="object")
