"""Refusals of OpenAI-compatible endpoints, and the provider errors that they mean.

Vendors share the form `{"error": {"message", "type", "code", "param"}}` and little else. The meaning of a refusal is in
its status, in its code, or only in its words.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

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
from leadline.http import ERRORS_BY_STATUS, RATE_LIMIT_WORDS, retry_after_seconds

# Codes of a 400 that is the model's fault: another attempt may succeed.
MODEL_FAULTS = ("tool_use_failed", "json_validate_failed", "output_parse_failed")
MODEL_SETTING = "ai.roles, ai.tasks or the section's model"
# Characters of a server's message that an error repeats.
_LONGEST_MESSAGE = 300


@dataclass(frozen=True)
class Refusal:
    """An answer that is an error; the status is 0 if it came inside a stream."""

    status: int
    message: str = ""
    code: str = ""
    kind: str = ""
    param: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """All text of the refusal."""
        return " ".join(filter(None, (self.message, self.code, self.kind, self.param)))


# --- reading a refusal -----------------------------------------------------------------------------------------------


def read_refusal(status: int, body: bytes, headers: Mapping[str, str]) -> Refusal:
    """Return the refusal in the body of an answer, in any form."""
    text = body.decode("utf-8", "replace").strip()
    try:
        data = json.loads(text)
    except ValueError:
        return Refusal(status, _without_html(text), headers=headers)
    return find_refusal(data, status, headers) or Refusal(status, text, headers=headers)


def find_refusal(data: Any, status: int = 0, headers: Mapping[str, str] | None = None) -> Refusal | None:
    """Return the refusal in decoded JSON, in the form of any vendor; None if the JSON is no error."""
    if isinstance(data, list) and len(data) == 1:  # Gemini wraps its errors in a list
        data = data[0]
    if not isinstance(data, dict):
        return None
    error = data.get("error") or data.get("detail") or (data if _is_error(data, status) else _minimax_error(data))
    if error is None:
        return None
    seconds = data.get("estimated_time")  # Hugging Face, while it loads a model
    headers = {"retry-after": str(seconds)} | dict(headers or {}) if isinstance(seconds, int | float) else headers or {}
    if not isinstance(error, dict):
        return Refusal(status, error if isinstance(error, str) else json.dumps(error), headers=headers)
    code = error.get("code")
    inner = code if isinstance(code, int) else error.get("status_code")
    return Refusal(
        status if status >= 400 else inner if isinstance(inner, int) and 400 <= inner < 600 else 0,
        _message(error),
        str(code or ""),
        str(error.get("type") or error.get("status") or ""),
        str(error.get("param") or ""),
        {**headers, **_inner_headers(error)},
    )


def _is_error(data: Mapping[str, Any], status: int) -> bool:
    """Return whether the object itself is the error: vLLM's, an event of responses, Z.ai's with status 200."""
    if data.get("object") == "error" or ("message" in data and (status >= 400 or data.get("type") == "error")):
        return True
    return "msg" in data and data.get("code") not in (None, 0, 200, "0", "200") and "choices" not in data


def _minimax_error(data: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the error that MiniMax adds to an empty reply with status 200."""
    base = data.get("base_resp")
    if not isinstance(base, dict) or not base.get("status_code"):
        return None
    return {"message": base.get("status_msg"), "code": str(base["status_code"])}


def _message(error: Mapping[str, Any]) -> str:
    message = error.get("message") or error.get("msg") or ""
    text = message if isinstance(message, str) else json.dumps(message)
    metadata = error.get("metadata")  # OpenRouter: the message of the vendor that it called
    raw = metadata.get("raw") if isinstance(metadata, dict) else None
    return f"{text}: {raw}" if isinstance(raw, str) and raw else text


def _inner_headers(error: Mapping[str, Any]) -> dict[str, str]:
    """Return the headers inside an error: OpenRouter's metadata, Gemini's details."""
    metadata, details = error.get("metadata"), error.get("details")
    headers = metadata.get("headers") if isinstance(metadata, dict) else None
    inner = {str(name).lower(): str(value) for name, value in headers.items()} if isinstance(headers, dict) else {}
    for detail in details if isinstance(details, list) else ():
        if isinstance(detail, dict) and "retryDelay" in detail:
            inner["retry-after"] = str(detail["retryDelay"])
    return inner


def _without_html(text: str) -> str:
    """Return the text of an answer that is not JSON; for a web page its title."""
    if not re.search(r"<html|<!doctype", text[:1000], re.IGNORECASE):
        return text
    title = re.search(r"<title[^>]*>(.*?)</title>", text, re.IGNORECASE | re.DOTALL)
    return f"a web page, {' '.join(title[1].split())!r}" if title else "a web page"


# --- the provider error that a refusal means -------------------------------------------------------------------------


def ignoring_case(pattern: str) -> re.Pattern[str]:
    """Compile a pattern that ignores case."""
    return re.compile(pattern, re.IGNORECASE)


_TOO_LONG = ignoring_case(
    r"context[ _-]?(length|window|size|limit)|maximum context|(prompt|input)( token)?( length)? (is )?too long"
    r"|too many (input )?tokens|exceed_context|exceeds? the (available|maximum|model'?s?) (context|input|token)"
    r"|request too large|too large for model|reduce the (length|input)|maximum (prompt|model) length"
    r"|exceeds? (the )?(max(imum)?|model) (length|token limit)|exceeded model token limit"
    r"|exceeds the maximum number of tokens|model only supports up to|range of input length"
    r"|`inputs` (tokens \+ `max_new_tokens` must be|must have less)"
)
# The limit counts tokens per minute: the same request succeeds later (Bedrock).
_FOR_NOW = ignoring_case(r"please wait|try again")
# The limit is on the reply, so a shorter request would not help.
_REPLY_TOO_LONG = ignoring_case(
    r"(?<!\+ )(?<!\+ `)\bmax_(completion_|new_|output_)?tokens`? must be (less|at most|smaller)"
)
_QUOTA_SPENT = ignoring_case(
    r"insufficient[ _](quota|balance|credits?|funds)|billing|exceeded[ _](your[ _])?current[ _](token[ _])?quota"
    r"|out of credits|(doesn't|does not|don't) have any credits|used all (of )?(your )?available credits"
    r"|key limit exceeded|spending limit|payment required|arrearage|free (tier|quota)[^.]{0,40}(exhausted|only)"
)
_BAD_KEY = ignoring_case(
    r"(incorrect|invalid|wrong|missing|expired) (api[ _-]?)?key|api[ _-]?key (is )?(not valid|invalid|expired|required)"
    r"|api_key_invalid|invalid_api_key|invalid authorization|login fail|authentication (fail|error)"
)
# A dot within a name (`qwen2.5:7b`) does not end the sentence; `model: x` is all that Anthropic sends.
_NO_MODEL = ignoring_case(
    r"model(?:[^.]|\.(?=\S)){0,120}?(not found|does(n't| not) exist|not exist|not_available)"
    r"|model[^.]{0,80}(not available|not served|not supported|is invalid)|not found the model|access to (the )?model"
    r"|(no such|unknown|invalid|not a valid) model|model_not_found|no endpoints found for|deploymentnotfound"
    r"|^model: \S+"
)
_NO_ADDRESS = ignoring_case(r"unexpected endpoint|(unknown|invalid) (url|endpoint|route)|no (such )?route")
_INACTIVE = ignoring_case(r"account[^.]{0,40}(not active|inactive|deactivated|disabled)")
# A 403 for the content of one request, not for the key.
_FORBIDDEN = ignoring_case(r"moderation|flagged|usage (guidelines|polic)|content.?(policy|filter|violates)|safety")
# OpenRouter has the model, but none of its vendors supports the parameters of this request.
_NO_ENDPOINT = ignoring_case(r"no endpoints found")
_BY_STATUS: Mapping[int, type[ProviderError]] = {
    **ERRORS_BY_STATUS,
    404: Unsupported,
    409: Unavailable,
    424: Unavailable,
    498: Unavailable,
    499: Unavailable,
    501: Unsupported,
}
# Codes and types that are more precise than the status.
_BY_CODE: dict[str, type[ProviderError]] = {
    "insufficient_quota": QuotaSpent,
    "1113": QuotaSpent,  # Zhipu, with 429
    "1261": TooLong,
    "request_too_large": TooLong,  # Anthropic
}
# Types of errors in a stream, which have no status.
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


def provider_error(
    refusal: Refusal, host: str, model: str, *, address: str = "base_url", setting: str = MODEL_SETTING
) -> ProviderError:
    """Return the error that a refusal means; `address` and `setting` name where the user sets address and model."""
    wait = wait_seconds(refusal.headers, refusal.message, limited=refusal.status in (0, 429))
    kind = _error_class(refusal, wait)
    message = _error_message(refusal, kind, host, model, address, setting)
    return kind(message, retry_after=wait if kind.retry else None)


def _error_class(refusal: Refusal, wait: float | None) -> type[ProviderError]:
    if refusal.code in MODEL_FAULTS:
        return BadReply
    if known := _BY_CODE.get(refusal.code) or _BY_CODE.get(refusal.kind):
        return known
    return _class_by_words(refusal, wait) or _class_by_status(refusal)


def _class_by_words(refusal: Refusal, wait: float | None) -> type[ProviderError] | None:
    status, words = refusal.status, refusal.words
    for_now = status in (0, 429) and _FOR_NOW.search(words)
    too_long = _TOO_LONG.search(words) and not _REPLY_TOO_LONG.search(words) and not for_now
    if status in (0, 400, 403, 413, 422, 429, 500) and too_long:
        return TooLong
    if status in (0, 400, 402, 403, 429) and wait is None and _QUOTA_SPENT.search(words):
        return QuotaSpent
    if status in (0, 400) and _BAD_KEY.search(words):
        return Denied
    if status == 403 and (_FORBIDDEN.search(words) or _NO_MODEL.search(words)):
        return Unsupported
    if status == 0 and _NO_ADDRESS.search(words):
        return Unsupported
    return None


def _class_by_status(refusal: Refusal) -> type[ProviderError]:
    if refusal.status in _BY_STATUS:
        return _BY_STATUS[refusal.status]
    if refusal.status:
        return Unavailable if refusal.status >= 500 else Unsupported
    limited = RateLimited if RATE_LIMIT_WORDS.search(refusal.words) else None
    return _BY_KIND.get(refusal.code) or _BY_KIND.get(refusal.kind) or limited or BadReply


def _error_message(
    refusal: Refusal, kind: type[ProviderError], host: str, model: str, address: str, setting: str
) -> str:
    status = f" (HTTP {refusal.status})" if refusal.status else ""
    message = " ".join(refusal.message.split()) or "no explanation"
    if len(message) > _LONGEST_MESSAGE:
        message = f"{message[:_LONGEST_MESSAGE]}…"
    clause = message.rstrip(".")  # followed by advice
    if kind is TooLong:
        return f"{host}: the request is too long for {model!r}{status}: {message}"
    if kind in (Denied, QuotaSpent) and _INACTIVE.search(refusal.words):
        return f"{host}: the account is not active{status}: {message}"
    if kind is Denied and refusal.status == 403 and not _BAD_KEY.search(refusal.words):
        return f"{host} denies access{status}: {clause}; check that your account, country and network may use it"
    if kind is Denied:
        return f"{host} does not accept the key{status}: {clause}; check api_key in the plugin's section"
    if kind is QuotaSpent:
        return f"{host}: the account has no quota or credit left{status}: {message}"
    if kind is RateLimited:
        return f"{host}: rate limit reached{status}: {message}"
    if kind is Unsupported and _NO_MODEL.search(refusal.words):
        return f"{host} has no model {model!r}{status}: {clause}; set another in {setting}"
    no_address = _NO_ADDRESS.search(refusal.words) or (refusal.status == 404 and not _NO_ENDPOINT.search(refusal.words))
    if kind is Unsupported and no_address:
        return f"{host} has no such address{status}: {message}; check {address}"
    if kind is Unsupported and 300 <= refusal.status < 400:
        target = re.split(r"[?#]", refusal.headers.get("location", message), maxsplit=1)[0]  # a query may hold a token
        return f"{host} redirects{status} to {target}; check {address}"
    verb = {Unavailable: "is not available", BadReply: "did not finish the reply"}.get(kind, "refuses the request")
    return f"{host} {verb}{status}: {message}"


# --- how long to wait ------------------------------------------------------------------------------------------------

_UNITS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|[dhms])")
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|[dhms]))+")
_TRY_AGAIN = ignoring_case(
    r"(?:try again|retry|available) (?:in|after) ((?:\d+(?:\.\d+)?\s*(?:ms|seconds?|minutes?|[dhms])\s*)+)"
)
# A larger number is a moment since 1970, not a duration.
_EPOCH = 1e9


def wait_seconds(headers: Mapping[str, str], message: str = "", *, limited: bool = True) -> float | None:
    """Return the seconds to wait by Retry-After, the message, or the reset of the rate limit; None if unknown.

    `headers` have lower-case names. The reset counts only if a limit was the cause (`limited`): vendors send it with
    every answer, and it does not tell when a server that failed recovers.
    """
    if (milliseconds := _number(headers.get("retry-after-ms", ""))) is not None:
        return milliseconds / 1000
    if header := headers.get("retry-after", "").strip():
        return parse_duration(header) if (seconds := retry_after_seconds(header)) is None else seconds
    if again := _TRY_AGAIN.search(message):
        return parse_duration(re.sub(r"\s|econds?|inutes?", "", again[1].lower()))
    return _reset_seconds(headers) if limited else None


def _reset_seconds(headers: Mapping[str, str]) -> float | None:
    """Return when an exhausted limit resets; OpenAI and Groq limit requests and tokens separately."""
    remaining = {part: headers.get(f"x-ratelimit-remaining{part}") for part in ("", "-requests", "-tokens")}
    exhausted = [part for part, left in remaining.items() if left == "0"]
    parts = exhausted or [part for part, left in remaining.items() if left is None]
    resets = [parse_duration(headers[name]) for part in parts if (name := f"x-ratelimit-reset{part}") in headers]
    known = [seconds for seconds in resets if seconds is not None]
    return max(known) if known and exhausted else min(known, default=None)


def parse_duration(text: str) -> float | None:
    """Return the seconds of `6m0s`, `20ms` or `1.5`, or until a moment in seconds or milliseconds since 1970."""
    text = text.strip()
    if (number := _number(text)) is not None:
        if number < _EPOCH:
            return number
        return max(0.0, (number / 1000 if number > 1000 * _EPOCH else number) - time.time())
    if not _DURATION.fullmatch(text):
        return None
    return sum(float(amount) * _UNITS[unit] for amount, unit in _AMOUNT.findall(text))


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None
