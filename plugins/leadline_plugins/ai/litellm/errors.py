"""The exceptions of litellm as ours: by what they stand for, by their class, and by their words."""

from __future__ import annotations

import ast
import json
import os
import re
from collections.abc import Iterable, Iterator
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
from leadline_plugins.ai.litellm.settings import LitellmSettings
from leadline_plugins.ai.openai.causes import error_of
from leadline_plugins.ai.openai.failures import Refusal, told
from leadline_plugins.ai.openai.proxies import proxy_between, proxy_fault

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
_UNANSWERED = ("APIConnectionError", "Timeout")
"""Whose status is made up, unless there are headers of an answer."""
_HEADERS = "litellm_response_headers"
"""Where newer versions keep those of the vendor's answer; their `response` is made up."""
_PREFIX = re.compile(r"^((litellm\.)?(\w+Error|Timeout): *|\w+Exception( \w+Error)? - *)")
_NO_VENDOR = re.compile(r"LLM Provider NOT provided", re.IGNORECASE)
_SECRET_NAMES = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD)$")
_SHORTEST_SECRET = 8
_NO_MODULE = re.compile(r"No module named '([\w.]+)'")
_INSTALL = re.compile(r"pip3? install (?:-\S+ )*[\"'`]?([\w.\[\]-]+)")
_DECODER = json.JSONDecoder()
"""An answer may be followed by words of litellm's."""
_LONGEST = 100_000
"""Characters of an error within which an answer is looked for."""


def is_of_litellm(error: BaseException) -> bool:
    """Tell whether litellm raised this: its exceptions stand in for those of every vendor."""
    return any(kind.__module__.startswith(("litellm.", "openai.")) for kind in type(error).__mro__)


def refusal_of(error: Exception) -> Refusal:
    """Return what the vendor answered, as far as litellm kept it; without status where none came."""
    code = getattr(error, "status_code", 0)
    status = code if isinstance(code, int) else 0
    answer = getattr(error, "response", None)
    kept = (getattr(answer, "headers", None), getattr(error, "headers", None), getattr(error, _HEADERS, None))
    headers = {name: value for some in kept for name, value in (some or {}).items()}
    plain = {str(name).lower(): str(value) for name, value in headers.items()}
    if not plain and type(error).__name__ in _UNANSWERED:
        status = 0
    words = _words(error)
    if inside := _inside(words):  # the vendor's own answer, as text
        return replace(inside, status=status or inside.status, headers={**plain, **inside.headers})
    return Refusal(status, words, headers=plain)


def _inside(words: str) -> Refusal | None:
    """Return the answer that stands in an exception's text: as JSON, as the `repr` of a dict, or of its bytes."""
    words = words[:_LONGEST]
    for begin in re.finditer(r"b['\"]|\{", words):
        text = words[begin.start() :]
        try:
            return told(json.loads(_bytes(text)) if begin[0] != "{" else _DECODER.raw_decode(text)[0])
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            pass
        if begin[0] == "{":
            return _of_repr(text)
    return None


def _bytes(text: str) -> bytes:
    end = text.rindex(text[1])
    value = ast.literal_eval(text[: end + 1])
    if not isinstance(value, bytes):
        raise ValueError("no bytes")
    return value


def _of_repr(text: str) -> Refusal | None:
    try:
        return told(ast.literal_eval(text[: text.rindex("}") + 1]))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


def translated(error: Exception, model: str, settings: LitellmSettings) -> ProviderError:
    """Return our error; no secret of the settings or of the environment stands in its text."""
    vendor = vendor_of(model) or str(getattr(error, "llm_provider", "") or "litellm")
    if _NO_VENDOR.search(_words(error)):
        return Unsupported(
            f"litellm: {model!r} names no vendor that it knows: set plugins.litellm.model = VENDOR/MODEL"
        )
    told = _unsent(error, vendor, settings) or _refused(error, vendor, model)
    return type(told)(masked(str(told), settings.secrets), retry_after=told.retry_after)


def vendor_of(model: str) -> str:
    """Return the vendor that a model's name begins with."""
    vendor, slash, _ = model.partition("/")
    return vendor if slash else ""


def _refused(error: Exception, vendor: str, model: str) -> ProviderError:
    said = refusal_of(error)
    found = error_of(said, vendor, model, address="api_base")
    kind = next((_CLASSES[one.__name__] for one in type(error).__mro__ if one.__name__ in _CLASSES), None)
    if kind is None or kind is type(found) or isinstance(found, QuotaSpent | RateLimited | TooLong):
        return found
    if said.status == 413 or (isinstance(found, Denied) and kind is Unavailable):
        return found
    return kind(f"{vendor}: {said.message}"[:400])


def _unsent(error: Exception, vendor: str, settings: LitellmSettings) -> ProviderError | None:
    """Return what kept the vendor from answering at all: a package that is missing, the connection, or silence."""
    import httpx

    for one in _behind(error):
        match one:
            case ImportError() if "SOCKS" in str(one):
                return Unsupported(f"{vendor}: {proxy_fault('') or one}")
            case ImportError():
                return _missing(one, vendor)
            case UnicodeEncodeError():
                return Unsupported(f"{vendor}: the key or a header holds a character that no HTTP header can carry")
            case httpx.ConnectTimeout():
                return Unavailable(f"{vendor}: no connection within {settings.connect_timeout:g} s (connect_timeout)")
            case httpx.TimeoutException():
                return Unavailable(f"{vendor}: connected, then silent for {settings.read_timeout:g} s (read_timeout)")
            case httpx.ConnectError() | httpx.ProxyError():
                between = proxy_between("", settings.api_base or "https://")
                return Unavailable(f"{vendor}: no connection{between and f' to {between}'}: {one}")
            case httpx.TransportError():
                return Unavailable(f"{vendor}: the connection broke off: {one}")
    return _missing(error, vendor) if _NO_MODULE.search(_words(error)) else None


def _missing(error: Exception, vendor: str) -> Unsupported:
    words = _words(error)
    if found := _INSTALL.search(words):
        package = found[1]
    else:
        named = getattr(error, "name", None) or (_NO_MODULE.search(words) or ("", ""))[1]
        package = "google-cloud-aiplatform" if str(named).startswith("google") else str(named).partition(".")[0]
    install = f": pip install {package}" if package else ""
    return Unsupported(
        f"{vendor}: litellm asks this vendor by a package that is not installed{install} ({words[:200]})"
    )


def _behind(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and those it was made of, the last first; each once."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop(0)
        if not isinstance(one, BaseException) or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        waiting += [getattr(one, "original_exception", None), one.__cause__, one.__context__]


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
