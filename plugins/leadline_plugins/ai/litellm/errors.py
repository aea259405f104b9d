"""The exceptions of litellm as ours: by their class, and by their words where a class says too little."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from dataclasses import replace
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
from leadline_plugins.ai.openai.causes import error_of
from leadline_plugins.ai.openai.failures import Refusal, told

_CLASSES: dict[str, type[ProviderError]] = {
    "AuthenticationError": Denied,
    "BudgetExceededError": QuotaSpent,
    "PaymentRequiredError": QuotaSpent,
    "ContextWindowExceededError": TooLong,
    "NotFoundError": Unsupported,
    "UnsupportedParamsError": Unsupported,
    "ContentPolicyViolationError": Unsupported,
    "Timeout": Unavailable,
    "APIConnectionError": Unavailable,
    "ServiceUnavailableError": Unavailable,
    "InternalServerError": Unavailable,
    "BadGatewayError": Unavailable,
    "MidStreamFallbackError": Unavailable,
    "APIResponseValidationError": BadReply,
    "JSONSchemaValidationError": BadReply,
}
"""Those whose class says all; the others are read like the answer of a server."""
_HEADERS = "litellm_response_headers"
"""Where newer versions keep those of the vendor's answer; their `response` is made up."""
_PREFIX = re.compile(r"^(litellm\.)?(\w+Error|Timeout): *")
_SECRET_NAMES = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD)$")
_SHORTEST_SECRET = 8


def is_of_litellm(error: BaseException) -> bool:
    """Tell whether litellm raised this: its exceptions stand in for those of every vendor."""
    return any(kind.__module__.startswith(("litellm.", "openai.")) for kind in type(error).__mro__)


def refusal_of(error: Exception) -> Refusal:
    """Return what the vendor answered, as far as litellm kept it."""
    code = getattr(error, "status_code", 0)
    status = code if isinstance(code, int) else 0
    answer = getattr(error, "response", None)
    kept = (getattr(answer, "headers", None), getattr(error, "headers", None), getattr(error, _HEADERS, None))
    headers = {name: value for some in kept for name, value in (some or {}).items()}
    plain = {str(name).lower(): str(value) for name, value in headers.items()}
    words = _words(error)
    if inside := _inside(words):  # the vendor's own answer, as text
        return replace(inside, status=status, headers={**plain, **inside.headers})
    return Refusal(status, words, headers=plain)


def _inside(words: str) -> Refusal | None:
    try:
        return told(json.loads(words[words.index("{") :]))
    except ValueError:
        return None


def translated(error: Exception, model: str, secrets: Iterable[str]) -> ProviderError:
    """Return our error; `secrets` and all keys of the environment are left out of its text."""
    vendor = str(getattr(error, "llm_provider", "") or model.partition("/")[0] or "litellm")
    found = error_of(refusal_of(error), vendor, model)
    kind = next((_CLASSES[one.__name__] for one in type(error).__mro__ if one.__name__ in _CLASSES), None)
    if kind is None or kind is type(found) or isinstance(found, QuotaSpent | RateLimited | TooLong):
        return type(found)(masked(str(found), secrets), retry_after=found.retry_after)
    return kind(masked(f"{vendor}: {_words(error)}"[:400], secrets))


def masked(text: str, secrets: Iterable[str]) -> str:
    """Return the text without secrets: keys that litellm reads from the environment are known to nobody else."""
    kept = [value for name, value in os.environ.items() if _SECRET_NAMES.search(name)]
    for secret in sorted({*kept, *secrets}, key=len, reverse=True):
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, "[secret]")
    return text


def _words(error: Any) -> str:
    text = str(getattr(error, "message", "") or error).partition("Traceback (most recent call last)")[0]
    text = " ".join(text.split())
    while found := _PREFIX.match(text):
        text = text[found.end() :]
    return text
