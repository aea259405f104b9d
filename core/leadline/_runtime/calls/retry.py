"""Retries: which errors are worth another attempt, and when.

The class of a provider's error says whether the same request may be sent again; errors of httpx and of the operating
system are translated into these classes. Any other error of a plugin is a bug, and is not retried.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from json import JSONDecodeError
from typing import TYPE_CHECKING, Any

from leadline._hosting.faults import words
from leadline.errors import (
    BadReply,
    Denied,
    Disconnected,
    ProviderError,
    RateLimited,
    Unavailable,
    Unsupported,
)
from leadline.http import untrusted
from leadline.http_errors import ERRORS_BY_STATUS, retry_after_seconds

if TYPE_CHECKING:
    import httpx


@dataclass(frozen=True)
class RetryPolicy:
    """The number of attempts, and the pauses between them: `base`, then times `factor`, at most `maximum` seconds."""

    attempts: int = 3
    base: float = 2.0
    factor: float = 2.0
    maximum: float = 30.0
    sleep: Callable[[float], Awaitable[Any]] = asyncio.sleep

    def delay(self, attempt: int, error: ProviderError, *, single_attempt: bool = False) -> float | None:
        """Return the seconds to wait after the failed attempt (from 1), or None to give up.

        A server that asks for more than `maximum` gets no other attempt: another provider is faster. With
        `single_attempt` only a server that asked for a pause gets one, or a plugin that must be entered again.
        """
        if not error.retry or attempt >= self.attempts:
            return None
        if single_attempt and error.retry_after is None and not isinstance(error, RateLimited | Disconnected):
            return None
        if error.retry_after is not None:
            return error.retry_after if error.retry_after <= self.maximum else None
        return self.backoff(attempt)

    def backoff(self, attempt: int) -> float:
        """Return the seconds to wait after an attempt (from 1), unless the server asked for a time."""
        return min(self.base * self.factor ** (attempt - 1), self.maximum)


def translate(error: BaseException) -> ProviderError | None:
    """Return the error as a ProviderError, or None if it is a bug of the plugin."""
    match error:
        case ProviderError():
            return error
        case BaseExceptionGroup(exceptions=[only]):  # a task group of the plugin, with a single error
            return translate(only)
        case JSONDecodeError():
            return BadReply(f"the body is not JSON: {error}")
        case FileNotFoundError():
            return Unsupported(words(error))
        case PermissionError():
            return Denied(words(error))
        case OSError():  # TimeoutError is one
            return Unavailable(words(error))
    return _of_httpx(error)


def _of_httpx(error: BaseException) -> ProviderError | None:
    httpx = sys.modules.get("httpx")  # imported if one of its errors was raised
    if httpx is None:
        return None
    if isinstance(error, httpx.HTTPStatusError):
        return _of_status(error.response)
    if isinstance(error, httpx.DecodingError):
        return BadReply(words(error))
    if isinstance(error, httpx.UnsupportedProtocol | httpx.TooManyRedirects | httpx.InvalidURL):
        return Unsupported(words(error))
    if not isinstance(error, httpx.TransportError):
        return None
    return Unsupported(reason) if (reason := untrusted(error)) else Unavailable(words(error))


def _of_status(response: httpx.Response) -> ProviderError:
    code = response.status_code
    cause = ERRORS_BY_STATUS.get(code, Unavailable if code >= 500 else Unsupported)
    url = response.request.url.copy_with(query=None)  # the query may hold a key
    return cause(f"HTTP {code} from {url}", retry_after=retry_after_seconds(response.headers.get("retry-after", "")))
