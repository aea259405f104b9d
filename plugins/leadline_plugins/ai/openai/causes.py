"""Which of our errors an endpoint's refusal is, and its sentence for people.

What a refusal means stands in the status, in the code, or only in the words.
"""

from __future__ import annotations

import re

from leadline.errors import (
    BadReply,
    Denied,
    ProviderError,
    QuotaSpent,
    RateLimited,
    TooLong,
    Unavailable,
    Unsupported,
)
from leadline_plugins.ai.openai.failures import Refusal
from leadline_plugins.ai.openai.waiting import wait_for

_SHOWN = 300
"""Characters of a server's own words that an error repeats."""
_TOO_LONG = re.compile(
    r"context[ _-]?(length|window|size)|maximum context|prompt is too long|too many (input )?tokens|exceed_context"
    r"|exceeds? the (available|maximum|model'?s?) (context|input|token)|input (is )?too long|request too large"
    r"|too large for model|reduce the length",
    re.IGNORECASE,
)
_SPENT = re.compile(
    r"insufficient[ _](quota|balance|credits?|funds)|billing|exceeded your current quota|out of credits"
    r"|used all (of )?(your )?available credits|key limit exceeded|spending limit|payment required",
    re.IGNORECASE,
)
_NO_MODEL = re.compile(
    r"model[^.]{0,80}(not found|does(n't| not) exist|not available|not served|not supported|is invalid)"
    r"|(no such|unknown|invalid|not a valid) model|model_not_found|no endpoints found|deploymentnotfound",
    re.IGNORECASE,
)
_GENERATED_WRONG = ("tool_use_failed", "json_validate_failed", "output_parse_failed")
"""Codes that come with 400 though the fault is the model's: another attempt may do."""
_BY_STATUS: dict[int, type[ProviderError]] = {
    401: Denied,
    402: QuotaSpent,
    403: Denied,
    404: Unsupported,
    408: Unavailable,
    409: Unavailable,
    413: TooLong,
    425: Unavailable,
    429: RateLimited,
    498: Unavailable,
}
_BY_KIND: dict[str, type[ProviderError]] = {
    "insufficient_quota": QuotaSpent,
    "rate_limit_exceeded": RateLimited,
    "rate_limit_error": RateLimited,
    "server_error": Unavailable,
    "overloaded_error": Unavailable,
    "authentication_error": Denied,
    "invalid_api_key": Denied,
    "model_not_found": Unsupported,
    "context_length_exceeded": TooLong,
    "exceed_context_size_error": TooLong,
    "invalid_request_error": Unsupported,
}
"""For errors in a stream, which have no status of their own."""


def error_of(said: Refusal, host: str, model: str) -> ProviderError:
    """Return the error that a refusal amounts to."""
    wait = wait_for(said.headers, said.message)
    cause = _cause(said, wait)
    return cause(_sentence(said, cause, host, model), retry_after=wait if cause.retry else None)


def _cause(said: Refusal, wait: float | None) -> type[ProviderError]:
    if said.code in _GENERATED_WRONG:
        return BadReply
    if said.code == "insufficient_quota" or said.kind == "insufficient_quota":
        return QuotaSpent
    if said.status in (0, 400, 413, 422, 429, 500) and _TOO_LONG.search(said.words):
        return TooLong
    if said.status in (400, 402, 403, 429) and wait is None and _SPENT.search(said.words):
        return QuotaSpent
    if said.status in _BY_STATUS:
        return _BY_STATUS[said.status]
    if said.status:
        return Unavailable if said.status >= 500 else Unsupported
    return _BY_KIND.get(said.code) or _BY_KIND.get(said.kind) or BadReply


def _sentence(said: Refusal, cause: type[ProviderError], host: str, model: str) -> str:
    status = f" (HTTP {said.status})" if said.status else ""
    words = _short(said.message) or "no word of explanation"
    if cause is TooLong:
        return f"{host}: the request is longer than {model!r} takes{status}: {words}"
    if cause is Denied:
        return f"{host} does not accept the key{status}: {words}; check api_key in the plugin's section"
    if cause is QuotaSpent:
        return f"{host}: the account has no quota or credit left{status}: {words}"
    if cause is RateLimited:
        return f"{host} asks to slow down{status}: {words}"
    if cause is Unsupported and _NO_MODEL.search(said.words):
        return (
            f"{host} has no model {model!r}{status}: {words}; set another in ai.roles, ai.tasks or the section's model"
        )
    if cause is Unsupported and said.status == 404:
        return f"{host} knows no such address{status}: {words}; check base_url"
    if cause is Unsupported and 300 <= said.status < 400:
        return f"{host} sends elsewhere{status}: {said.headers.get('location', words)}; check base_url"
    doing = {Unavailable: "is not available", BadReply: "gave up the reply"}.get(cause, "refuses the request")
    return f"{host} {doing}{status}: {words}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"
