"""Which of our errors an endpoint's refusal is, and its sentence for people.

What a refusal means stands in the status, in the code, or only in the words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from leadline.door.retry import BY_STATUS, TOO_FAST
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

NAMED_BY = "ai.roles, ai.tasks or the section's model"
"""Where the model of a chat is named."""
_SHOWN = 300
"""Characters of a server's own words that an error repeats."""
_TOO_LONG = re.compile(
    r"context[ _-]?(length|window|size|limit)|maximum context|(prompt|input)( token)?( length)? (is )?too long"
    r"|too many (input )?tokens|exceed_context|exceeds? the (available|maximum|model'?s?) (context|input|token)"
    r"|request too large|too large for model|reduce the (length|input)|maximum (prompt|model) length"
    r"|exceeds? (the )?(max(imum)?|model) (length|token limit)|exceeded model token limit"
    r"|exceeds the maximum number of tokens|model only supports up to|range of input length"
    r"|`inputs` (tokens \+ `max_new_tokens` must be|must have less)",
    re.IGNORECASE,
)
_FOR_NOW = re.compile(r"please wait|try again", re.IGNORECASE)
"""Of a limit that counts tokens by the minute: the request would be taken later as it is (Bedrock)."""
_REPLY_TOO_LONG = re.compile(
    r"(?<!\+ )(?<!\+ `)\bmax_(completion_|new_|output_)?tokens`? must be (less|at most|smaller)", re.IGNORECASE
)
"""What is asked of the reply, and not the request, is over a limit: to shrink the request would not help."""
_SPENT = re.compile(
    r"insufficient[ _](quota|balance|credits?|funds)|billing|exceeded[ _](your[ _])?current[ _](token[ _])?quota"
    r"|out of credits|(doesn't|does not|don't) have any credits|used all (of )?(your )?available credits"
    r"|key limit exceeded|spending limit|payment required|arrearage|free (tier|quota)[^.]{0,40}(exhausted|only)",
    re.IGNORECASE,
)
_BAD_KEY = re.compile(
    r"(incorrect|invalid|wrong|missing|expired) (api[ _-]?)?key|api[ _-]?key (is )?(not valid|invalid|expired|required)"
    r"|api_key_invalid|invalid_api_key|invalid authorization|login fail|authentication (fail|error)",
    re.IGNORECASE,
)
_NO_MODEL = re.compile(
    r"model(?:[^.]|\.(?=\S)){0,120}?(not found|does(n't| not) exist|not exist|not_available)"
    r"|model[^.]{0,80}(not available|not served|not supported|is invalid)|not found the model|access to (the )?model"
    r"|(no such|unknown|invalid|not a valid) model|model_not_found|no endpoints found for|deploymentnotfound"
    r"|^model: \S+",  # all that Anthropic says
    re.IGNORECASE,
)
"""A dot within a name (`qwen2.5:7b`) ends no sentence."""
_NO_ADDRESS = re.compile(r"unexpected endpoint|(unknown|invalid) (url|endpoint|route)|no (such )?route", re.IGNORECASE)
_INACTIVE = re.compile(r"account[^.]{0,40}(not active|inactive|deactivated|disabled)", re.IGNORECASE)
_FORBIDDEN = re.compile(
    r"moderation|flagged|usage (guidelines|polic)|content.?(policy|filter|violates)|safety", re.IGNORECASE
)
"""What a 403 says of one request: the key is none the worse for it."""
_NO_ENDPOINT = re.compile(r"no endpoints found", re.IGNORECASE)
"""OpenRouter: the model is there, and none of its vendors does what this request asks for."""
GENERATED_WRONG = ("tool_use_failed", "json_validate_failed", "output_parse_failed")
"""Codes that come with 400 though the fault is the model's: another attempt may do."""
_BY_CODE: dict[str, type[ProviderError]] = {
    "insufficient_quota": QuotaSpent,
    "1113": QuotaSpent,  # Zhipu, with 429
    "1261": TooLong,
    "request_too_large": TooLong,  # Anthropic
}
"""Codes that say more than the status they come with."""
_BY_STATUS: Mapping[int, type[ProviderError]] = {
    **BY_STATUS,
    404: Unsupported,
    409: Unavailable,
    424: Unavailable,
    498: Unavailable,
    499: Unavailable,
    501: Unsupported,
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


def error_of(
    said: Refusal, host: str, model: str, *, address: str = "base_url", setting: str = NAMED_BY
) -> ProviderError:
    """Return the error that a refusal amounts to; `address` is the setting that says where to ask, `setting` what."""
    wait = wait_for(said.headers, said.message, limited=said.status in (0, 429))
    cause = _cause(said, wait)
    return cause(_sentence(said, cause, host, model, address, setting), retry_after=wait if cause.retry else None)


def _cause(said: Refusal, wait: float | None) -> type[ProviderError]:
    if said.code in GENERATED_WRONG:
        return BadReply
    if known := _BY_CODE.get(said.code) or _BY_CODE.get(said.kind):
        return known
    return _by_words(said, wait) or _by_status(said)


def _by_words(said: Refusal, wait: float | None) -> type[ProviderError] | None:
    status, words = said.status, said.words
    passing = status in (0, 429) and _FOR_NOW.search(words)
    too_long = _TOO_LONG.search(words) and not _REPLY_TOO_LONG.search(words) and not passing
    if status in (0, 400, 403, 413, 422, 429, 500) and too_long:
        return TooLong
    if status in (0, 400, 402, 403, 429) and wait is None and _SPENT.search(words):
        return QuotaSpent
    if status in (0, 400) and _BAD_KEY.search(words):
        return Denied
    if status == 403 and (_FORBIDDEN.search(words) or _NO_MODEL.search(words)):
        return Unsupported
    if status == 0 and _NO_ADDRESS.search(words):
        return Unsupported
    return None


def _by_status(said: Refusal) -> type[ProviderError]:
    if said.status in _BY_STATUS:
        return _BY_STATUS[said.status]
    if said.status:
        return Unavailable if said.status >= 500 else Unsupported
    limited = RateLimited if TOO_FAST.search(said.words) else None
    return _BY_KIND.get(said.code) or _BY_KIND.get(said.kind) or limited or BadReply


def _sentence(said: Refusal, cause: type[ProviderError], host: str, model: str, address: str, setting: str) -> str:
    status = f" (HTTP {said.status})" if said.status else ""
    words = _short(said.message) or "no word of explanation"
    bare = words.rstrip(".")  # before what is to be done about it
    if cause is TooLong:
        return f"{host}: the request is longer than {model!r} takes{status}: {words}"
    if cause in (Denied, QuotaSpent) and _INACTIVE.search(said.words):
        return f"{host}: the account is not active{status}: {words}"
    if cause is Denied and said.status == 403 and not _BAD_KEY.search(said.words):
        return f"{host} denies access{status}: {bare}; see whether the account, and this country or network, may use it"
    if cause is Denied:
        return f"{host} does not accept the key{status}: {bare}; check api_key in the plugin's section"
    if cause is QuotaSpent:
        return f"{host}: the account has no quota or credit left{status}: {words}"
    if cause is RateLimited:
        return f"{host} asks to slow down{status}: {words}"
    if cause is Unsupported and _NO_MODEL.search(said.words):
        return f"{host} has no model {model!r}{status}: {bare}; set another in {setting}"
    lost = _NO_ADDRESS.search(said.words) or (said.status == 404 and not _NO_ENDPOINT.search(said.words))
    if cause is Unsupported and lost:
        return f"{host} knows no such address{status}: {words}; check {address}"
    if cause is Unsupported and 300 <= said.status < 400:
        return f"{host} sends elsewhere{status}: {_bare(said.headers.get('location', words))}; check {address}"
    doing = {Unavailable: "is not available", BadReply: "gave up the reply"}.get(cause, "refuses the request")
    return f"{host} {doing}{status}: {words}"


def _bare(address: str) -> str:
    """Return where a redirect leads without its query, which may hold a token."""
    return re.split(r"[?#]", address, maxsplit=1)[0]


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"
