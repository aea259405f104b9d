"""The answer of a vendor inside an exception of litellm, and the reasons why there was none."""

from __future__ import annotations

import ast
import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

from leadline.errors import ProviderError, Unsupported
from leadline_plugins.ai.litellm.settings import LitellmSettings
from leadline_plugins.ai.openai.endpoint import KEY_SETTING, MODEL_SETTING
from leadline_plugins.ai.openai.settings import proxy_fault, proxy_for
from leadline_plugins.service_errors import Refusal, find_refusal, transport_error

# Exceptions whose status is invented unless they have headers of an answer.
_UNANSWERED = ("APIConnectionError", "Timeout")
# The attribute of newer versions with the headers of the vendor; their `response` is invented.
_HEADERS = "litellm_response_headers"
_PREFIX = re.compile(r"^((litellm\.)?(\w+Error|Timeout): *|\w+Exception( \w+Error)? - *)")
_NO_VENDOR = re.compile(r"LLM Provider NOT provided", re.IGNORECASE)
_SECRET_NAMES = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD)$")
_SHORTEST_SECRET = 8
_NO_MODULE = re.compile(r"No module named '([\w.]+)'")
_INSTALL = re.compile(r"pip3? install (?:-\S+ )*[\"'`]?([\w.\[\]-]+)")
_DECODER = json.JSONDecoder()
# Characters of an error that are searched for the answer.
_LONGEST = 100_000


def is_of_litellm(error: BaseException) -> bool:
    """Return whether litellm raised the exception; its classes cover the errors of all vendors."""
    return any(kind.__module__.startswith(("litellm.", "openai.")) for kind in type(error).__mro__)


def refusal_of(error: Exception) -> Refusal:
    """Return the vendor's answer as far as litellm kept it; the status is 0 if there was none."""
    code = getattr(error, "status_code", 0)
    status = code if isinstance(code, int) else 0
    answer = getattr(error, "response", None)
    sources = (getattr(answer, "headers", None), getattr(error, "headers", None), getattr(error, _HEADERS, None))
    headers = {name: value for source in sources for name, value in (source or {}).items()}
    plain = {str(name).lower(): str(value) for name, value in headers.items()}
    if not plain and type(error).__name__ in _UNANSWERED:
        status = 0
    words = _words(error)
    if inside := _inside(words):  # the vendor's own answer, as text
        kind = inside.kind or type(error).__name__
        return replace(inside, status=status or inside.status, kind=kind, headers={**plain, **inside.headers})
    return Refusal(status, words, kind=type(error).__name__, headers=plain)


def _inside(words: str) -> Refusal | None:
    """Return the answer inside an exception's text: JSON, or the `repr` of a dict; text of litellm may follow it."""
    text = words[words.find("{") : _LONGEST]
    with suppress(ValueError, RecursionError):
        return find_refusal(_DECODER.raw_decode(text)[0])
    with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
        return find_refusal(ast.literal_eval(text[: text.rindex("}") + 1]))
    return None


def translated(error: Exception, model: str, settings: LitellmSettings) -> ProviderError:
    """Return the provider error, without secrets of the settings or the environment."""
    vendor = vendor_of(model) or str(getattr(error, "llm_provider", "") or "litellm")
    if _NO_VENDOR.search(_words(error)):
        return Unsupported(f"litellm: {model!r} does not name a known vendor: set plugins.litellm.model = VENDOR/MODEL")
    if unsent := _unsent(error, vendor, settings):
        return type(unsent)(masked(str(unsent), settings.secrets))
    refusal = refusal_of(error).masked(lambda text: masked(text, settings.secrets))
    return refusal.error(vendor, model=model, key=KEY_SETTING, address="api_base", model_setting=MODEL_SETTING)


def vendor_of(model: str) -> str:
    """Return the vendor at the beginning of a model's name."""
    vendor, slash, _ = model.partition("/")
    return vendor if slash else ""


def _unsent(error: Exception, vendor: str, settings: LitellmSettings) -> ProviderError | None:
    """Return the error if the vendor never answered: a missing package, no connection, or silence."""
    import httpx

    for cause in _causes(error):
        match cause:
            case ImportError() if "SOCKS" in str(cause):
                return Unsupported(f"{vendor}: {proxy_fault('') or cause}")
            case ImportError():
                return _missing(cause, vendor)
            case UnicodeEncodeError():
                return Unsupported(f"{vendor}: the key or a header contains a character that HTTP headers do not allow")
            case httpx.TransportError():
                proxy, seconds = proxy_for(settings.api_base or "https://", ""), settings.connect_timeout
                return transport_error(
                    cause, vendor, address="api_base", proxy=proxy, connect=seconds, silence=settings.read_timeout
                )
    return _missing(error, vendor) if _NO_MODULE.search(_words(error)) else None


def _missing(error: Exception, vendor: str) -> Unsupported:
    words = _words(error)
    if match := _INSTALL.search(words):
        package = match[1]
    else:
        named = getattr(error, "name", None) or (_NO_MODULE.search(words) or ("", ""))[1]
        package = "google-cloud-aiplatform" if str(named).startswith("google") else str(named).partition(".")[0]
    install = f": pip install {package}" if package else ""
    return Unsupported(
        f"{vendor}: litellm needs a package for this vendor that is not installed{install} ({words[:200]})"
    )


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and its causes, the latest first, each once."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        current = waiting.pop(0)
        if not isinstance(current, BaseException) or id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        waiting += [getattr(current, "original_exception", None), current.__cause__, current.__context__]


def masked(text: str, secrets: Iterable[str]) -> str:
    """Return the text without secrets, including the keys that litellm reads from the environment."""
    keys = [value for name, value in os.environ.items() if _SECRET_NAMES.search(name)]
    for secret in sorted({*keys, *secrets}, key=len, reverse=True):
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, "[secret]")
    return text


def _words(error: Any) -> str:
    text = str(getattr(error, "message", "") or error).partition("Traceback (most recent call last)")[0]
    text = " ".join(text.split())
    while match := _PREFIX.match(text):
        text = text[match.end() :]
    return text
