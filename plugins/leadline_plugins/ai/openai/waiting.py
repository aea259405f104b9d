"""How long a server asks to wait: headers and sentences, each vendor in its own form, all in seconds."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping

from leadline.door.retry import retry_after

_UNITS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|[dhms])")
_SPAN = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|[dhms]))+")
_AGAIN = re.compile(
    r"(?:try again|retry|available) (?:in|after) ((?:\d+(?:\.\d+)?\s*(?:ms|seconds?|minutes?|[dhms])\s*)+)",
    re.IGNORECASE,
)
_EPOCH = 1e9
"""Above it a number is a moment, not a span."""
_RESETS = ("", "-requests", "-tokens")


def wait_for(headers: Mapping[str, str], message: str = "", *, limited: bool = True) -> float | None:
    """Return the seconds to wait: by Retry-After, by the sentence, by the rate limit's reset; None where nothing says.

    `headers` have lower-case names. `limited`: a limit is what refused. Vendors send its state with every answer, and
    it says nothing about when a server that failed is well again.
    """
    if (milliseconds := _number(headers.get("retry-after-ms", ""))) is not None:
        return milliseconds / 1000
    if given := headers.get("retry-after", "").strip():
        return span(given) if (seconds := retry_after(given)) is None else seconds
    if again := _AGAIN.search(message):
        return span(re.sub(r"\s|econds?|inutes?", "", again[1].lower()))
    return _reset(headers) if limited else None


def _reset(headers: Mapping[str, str]) -> float | None:
    """Return when the limit that is used up is lifted: OpenAI and Groq count requests and tokens apart.

    Of a limit of which something remains, nothing is to be waited for.
    """
    left = {what: headers.get(f"x-ratelimit-remaining{what}") for what in _RESETS}
    used_up = [what for what, remaining in left.items() if remaining == "0"]
    asked = used_up or [what for what, remaining in left.items() if remaining is None]
    spans = [span(headers[name]) for what in asked if (name := f"x-ratelimit-reset{what}") in headers]
    known = [one for one in spans if one is not None]
    return max(known) if known and used_up else min(known, default=None)


def span(text: str) -> float | None:
    """Return the seconds of `6m0s`, `20ms`, `1.5`, or until a moment since 1970 in seconds or milliseconds."""
    text = text.strip()
    if (number := _number(text)) is not None:
        if number < _EPOCH:
            return number
        return max(0.0, (number / 1000 if number > 1000 * _EPOCH else number) - time.time())
    if not _SPAN.fullmatch(text):
        return None
    return sum(float(amount) * _UNITS[unit] for amount, unit in _PART.findall(text))


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None
