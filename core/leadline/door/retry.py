"""Which errors are worth another attempt, and when.

A provider's error says by its class whether the same request may be sent again; errors of httpx and of the operating
system are read as one of those classes. Anything else a plugin raises is its own fault, and not repeated.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from json import JSONDecodeError
from typing import TYPE_CHECKING, Any

from leadline.door.faults import words
from leadline.errors import (
    BadReply,
    Denied,
    Disconnected,
    ProviderError,
    QuotaSpent,
    RateLimited,
    TooLong,
    Unavailable,
    Unsupported,
)

if TYPE_CHECKING:
    import httpx

BY_STATUS: Mapping[int, type[ProviderError]] = {
    401: Denied,
    402: QuotaSpent,
    403: Denied,
    408: Unavailable,
    413: TooLong,
    425: Unavailable,
    429: RateLimited,
}
"""What a status of HTTP means with everybody; a service's own ones come on top (`{**BY_STATUS, 414: TooLong}`)."""
TOO_FAST = re.compile(r"rate.?limit|too many requests", re.IGNORECASE)
"""How services say in words what 429 says."""


@dataclass(frozen=True)
class RetryPolicy:
    """Attempts in all, and the pauses between: `base`, then times `factor`, at most `maximum` (seconds)."""

    attempts: int = 3
    base: float = 2.0
    factor: float = 2.0
    maximum: float = 30.0
    sleep: Callable[[float], Awaitable[Any]] = asyncio.sleep

    def delay(self, attempt: int, error: ProviderError, *, once: bool = False) -> float | None:
        """Return the seconds to wait after the failed attempt (from 1), or None to give up.

        A server that asks for more than `maximum` is not waited for: another provider is there sooner. With `once`
        only one that asked for patience is tried again, or one that has to be entered anew for it.
        """
        if not error.retry or attempt >= self.attempts:
            return None
        if once and error.retry_after is None and not isinstance(error, RateLimited | Disconnected):
            return None
        if error.retry_after is not None:
            return error.retry_after if error.retry_after <= self.maximum else None
        return min(self.base * self.factor ** (attempt - 1), self.maximum)


def translate(error: BaseException) -> ProviderError | None:
    """Return the error as one of ours, or None where it is the plugin's own fault."""
    match error:
        case ProviderError():
            return error
        case BaseExceptionGroup(exceptions=[only]):  # a task group of the plugin's around its one error
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
    httpx = sys.modules.get("httpx")  # whoever raised its error has imported it
    if httpx is None:
        return None
    if isinstance(error, httpx.HTTPStatusError):
        return _of_status(error.response)
    if isinstance(error, httpx.DecodingError):
        return BadReply(words(error))
    if isinstance(error, httpx.UnsupportedProtocol | httpx.TooManyRedirects | httpx.InvalidURL):
        return Unsupported(words(error))
    return Unavailable(words(error)) if isinstance(error, httpx.TransportError) else None


def _of_status(response: httpx.Response) -> ProviderError:
    code = response.status_code
    cause = BY_STATUS.get(code, Unavailable if code >= 500 else Unsupported)
    url = response.request.url.copy_with(query=None)  # queries hold keys
    return cause(f"HTTP {code} from {url}", retry_after=retry_after(response.headers.get("retry-after", "")))


def retry_after(header: str) -> float | None:
    """Return the seconds that a Retry-After header asks for (RFC 9110: seconds or a date), None without one."""
    if header.strip().isdigit():
        return float(header)
    try:
        when = parsedate_to_datetime(header)
    except ValueError:
        return None
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(0.0, (when - datetime.now(UTC)).total_seconds())
