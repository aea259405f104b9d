"""Provider errors for the answers of HTTP services; plugins add the statuses and words of their own service."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from leadline.errors import Denied, ProviderError, QuotaSpent, RateLimited, TooLong, Unavailable

# Statuses that mean the same at every service. A plugin adds its own: `{**ERRORS_BY_STATUS, 414: TooLong}`.
ERRORS_BY_STATUS: Mapping[int, type[ProviderError]] = {
    401: Denied,
    402: QuotaSpent,
    403: Denied,
    408: Unavailable,
    413: TooLong,
    425: Unavailable,
    429: RateLimited,
}
# Words that services use in place of status 429.
RATE_LIMIT_WORDS = re.compile(r"rate.?limit|too many requests", re.IGNORECASE)


def retry_after_seconds(header: str) -> float | None:
    """Return the seconds that a Retry-After header asks for (RFC 9110: seconds or a date); None if it has neither."""
    if header.strip().isdigit():
        return float(header)
    try:
        date = parsedate_to_datetime(header)
    except ValueError:
        return None
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0.0, (date - datetime.now(UTC)).total_seconds())
