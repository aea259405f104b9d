"""Parts of a request that an endpoint does not support, learned from its refusals.

No list exists of what OpenAI-compatible servers leave out. A request is sent in its full form; the first refusal that
names a part of it shows which part to leave out. The provider remembers this by model, as long as it lives.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from leadline_plugins.ai.openai.settings import Streaming
from leadline_plugins.service_errors import Refusal


def _ignoring_case(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


# 500 is included because some servers fail on parameters that they do not know.
_STATUSES = (400, 403, 404, 405, 415, 422, 500, 501)
# Statuses of gateways that do not wait for a reply in one piece.
_GATEWAY_TIMEOUTS = (408, 504, 524)


@dataclass(frozen=True)
class Quirks:
    """The form in which one model of one endpoint takes requests."""

    api: Literal["chat", "responses"] = "chat"
    # How a structured reply is requested: with the schema, as any JSON object, or only in words.
    form: Literal["schema", "object", "plain"] = "schema"
    strict: bool = True
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    stream: bool = True
    # Whether a reply may come in one piece: some gateways time out during the silence, some models only stream.
    patient: bool = True
    # Whether a stream can report usage.
    usage: bool = True
    temperature: bool = True
    effort: bool = True
    # Without a system role, the first user message starts with the instructions.
    system: bool = True
    # Whether the tools that may be called can be restricted.
    choice: bool = True
    # Whether encrypted reasoning can be requested (responses).
    include: bool = True


def streams(setting: Streaming, quirks: Quirks, *, followed: bool) -> bool:
    """Return whether to stream a reply; by default only if somebody follows it or the endpoint needs it."""
    return quirks.stream and (followed or not quirks.patient if setting == "auto" else setting)


@dataclass(frozen=True)
class _Lesson:
    """A part of a request: the words that name it, whether it was sent, and the form without it."""

    words: re.Pattern[str]
    sent: Callable[[Mapping[str, Any]], bool]
    apply: Callable[[Quirks], Quirks]


def _lesson(pattern: str, sent: str | Callable[[Mapping[str, Any]], bool], **changes: Any) -> _Lesson:
    field = sent
    return _Lesson(
        _ignoring_case(pattern),
        (lambda body: bool(body.get(field))) if isinstance(field, str) else field,
        lambda quirks: replace(quirks, **changes),
    )


_NOT_SUPPORTED = _ignoring_case(
    r"n[o']t[ _](\w+ )?(support|allow|permit|available|exist|recogni|implement|enabled|valid)|unsupport|unrecogni"
    r"|unknown"
    r"|unexpected|unavailable|extra (inputs|fields)|invalid|must be|only (supports?|available)|do(es)?n.t support"
    r"|not a chat model|instead|incompatible|cannot be used|literal_error|input should be|missing field|must alternate"
)
# The type of every refusal of OpenAI, whatever its cause.
_GENERIC_KIND = _ignoring_case(r"^(invalid_?request|bad_?request)")
# The value was refused, not the field.
_VALUE = _ignoring_case(r"minimum|maximum value|below|above|between|range|too (large|small|high|low)|at (most|least)")
_STREAM = _ignoring_case(r"\bstream(ing)?\b")
# The first lesson that matches counts, so their order matters.
_LESSONS = (
    _lesson(r"v1/responses|responses api", "messages", api="responses"),
    _lesson(r"max_completion_tokens|max_tokens", "max_tokens", limit="max_completion_tokens"),
    _lesson(r"max_completion_tokens", "max_completion_tokens", limit="max_tokens"),
    _lesson(r"stream_options|include_usage", "stream_options", usage=False),
    _lesson(_STREAM.pattern, "stream", stream=False),
    _lesson(r"temperature", lambda body: "temperature" in body, temperature=False),
    _lesson(r"reasoning|effort|thinking", lambda body: "reasoning_effort" in body or "reasoning" in body, effort=False),
    _lesson(r"tool_choice|allowed_tools", "tool_choice", choice=False),
    _lesson(r"include|encrypted", "include", include=False),
    _Lesson(
        _ignoring_case(
            r"response[_ ]?format|json[_ ]?schema|json[_ ]?object|text\.format|structured output|json mode|grammar"
        ),
        lambda body: "response_format" in body or "format" in body.get("text", {}),
        lambda quirks: replace(quirks, form="object" if quirks.form == "schema" else "plain"),
    ),
    _lesson(
        r"\bsystem\b|\broles?\b|developer instruction",
        lambda body: any(message.get("role") == "system" for message in body.get("messages", ())),
        system=False,
    ),
)
# The last alternative is all that Gemini sends: it may mean the schema, and one more request shows whether it does.
_BAD_SCHEMA = _ignoring_case(
    r"invalid_json_schema|invalid schema|schema (is )?invalid|compile (the )?grammar"
    r"|(specified|response_|generationconfig.{0,20})schema|too many states|nesting depth"
    r"|^request contains an invalid argument"
)


def learn(quirks: Quirks, refusal: Refusal, body: Mapping[str, Any], *, may_stream: bool = True) -> Quirks | None:
    """Return the form for the next attempt after a refusal of `body`; None if the refusal does not show one.

    `may_stream`: the settings allow streaming a reply that nobody follows.
    """
    if may_stream and quirks.stream and quirks.patient and not body.get("stream") and _requires_stream(refusal):
        return replace(quirks, patient=False)
    if refusal.status not in _STATUSES or refusal.fault == "bad_reply" or _VALUE.search(refusal.words):
        return None
    kind = "" if _GENERIC_KIND.match(refusal.kind) else refusal.kind
    if not _NOT_SUPPORTED.search(f"{refusal.message} {refusal.code} {kind}"):
        return None
    for lesson in _LESSONS:
        if lesson.words.search(refusal.words) and lesson.sent(body):
            learned = lesson.apply(quirks)
            return learned if learned != quirks else None
    return None


def _requires_stream(refusal: Refusal) -> bool:
    return refusal.status in _GATEWAY_TIMEOUTS or (refusal.status in (400, 422) and bool(_STREAM.search(refusal.words)))


def relax_schema(quirks: Quirks, refusal: Refusal) -> Quirks | None:
    """Return the form for a schema that the endpoint refuses; it applies to this request only."""
    if refusal.status != 400 or not _BAD_SCHEMA.search(refusal.words) or quirks.form != "schema":
        return None
    return replace(quirks, strict=False) if quirks.strict else replace(quirks, form="object")
