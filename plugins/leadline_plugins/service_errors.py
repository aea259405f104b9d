"""Errors of services over HTTP: what a refusal means, by its status and by a table of vendors' codes and words.

Vendors share the form `{"error": {"message", "type", "code", "param"}}` and little else, so that the meaning of a
refusal is in its status, in its code, or only in its words: see `service_errors.toml`.
"""

from __future__ import annotations

import json
import re
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cache, cached_property
from importlib.resources import files
from typing import Any, NamedTuple

from leadline.display import one_line, strip_markup
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
from leadline.http import http_error, retry_after_seconds, status_error, untrusted

# Characters of a service's message that an error repeats.
_LONGEST_MESSAGE = 300
# Fields that hold the reason of a refusal, at any depth.
_TEXTS = ("message", "msg", "error", "detail", "errors", "info", "title", "metadata", "raw")


class Fault(NamedTuple):
    """What a refusal means: the class of its error, and the sentence about it."""

    error: type[ProviderError]
    sentence: str


_FAULTS = {
    "too_long": Fault(TooLong, "{name}: the request is too long{for_model}{status}: {message}"),
    "rate_limited": Fault(RateLimited, "{name}: rate limit reached{status}: {message}"),
    "no_quota": Fault(QuotaSpent, "{name}: the account has no quota or credit left{status}: {message}"),
    "inactive": Fault(QuotaSpent, "{name}: the account is not active{status}: {message}"),
    "bad_key": Fault(Denied, "{name} does not accept the key{status}: {clause}; check {key}"),
    "no_access": Fault(
        Denied, "{name} denies access{status}: {clause}; check that your account, country and network may use it"
    ),
    "no_model": Fault(Unsupported, "{name} has no model {model!r}{status}: {clause}; set another in {model_setting}"),
    "no_address": Fault(Unsupported, "{name} has no such address{status}: {message}; check {address}"),
    "redirected": Fault(Unsupported, "{name} redirects{status} to {message}; check {address}"),
    "refused": Fault(Unsupported, "{name} refuses the request{status}: {message}"),
    "unavailable": Fault(Unavailable, "{name} is not available{status}: {message}"),
    "bad_reply": Fault(BadReply, "{name} did not finish the reply{status}: {message}"),
}
_BY_CLASS = {
    Denied: "no_access",
    QuotaSpent: "no_quota",
    RateLimited: "rate_limited",
    TooLong: "too_long",
    Unavailable: "unavailable",
    Unsupported: "refused",
}


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath("service_errors.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Refusal:
    """An answer that is an error; the status is 0 if it came inside a stream. Headers have lower-case names."""

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

    @cached_property
    def retry_after(self) -> float | None:
        """The seconds to wait before the next attempt; None if unknown."""
        return wait_seconds(self.headers, self.message, limited=self.status in (0, 429))

    @cached_property
    def fault(self) -> str:
        """What the refusal means: a name of the table of faults."""
        rows, types = _table()["rows"], _table()["types"]
        for row in rows:
            if any(fnmatchcase(text, code) for code in row.get("codes", ()) for text in (self.code, self.kind)):
                return str(row["fault"])
        status = self.status or types.get(self.code) or types.get(self.kind) or 0
        answered = status if status >= 300 else 0
        applicable = [row for row in rows if answered in row.get("statuses", ())]
        matches = [(longest(self.words, row["words"]), row["fault"]) for row in applicable]
        length, fault = max(matches, default=(0, ""))
        fault = str(fault) if length else _fault_of_status(status)
        limited = fault == "no_quota" and status in (0, 429) and self.retry_after is not None
        return "rate_limited" if limited else fault

    def masked(self, mask: Callable[[str], str]) -> Refusal:
        """Return the refusal with its message masked."""
        return replace(self, message=mask(self.message))

    def error(
        self, name: str, *, model: str = "", key: str = "", address: str = "base_url", model_setting: str = ""
    ) -> ProviderError:
        """Return the error of a service; `key`, `address` and `model_setting` are the settings to check."""
        error, sentence = _FAULTS[self.fault]
        if (self.fault == "bad_key" and not key) or (self.fault == "no_model" and not model):
            sentence = _FAULTS["refused"].sentence
        message = one_line(self.message) or self.code or "no explanation"
        message = message if len(message) <= _LONGEST_MESSAGE else f"{message[:_LONGEST_MESSAGE]}…"
        text = sentence.format(
            name=name,
            status=f" (HTTP {self.status})" if self.status else "",
            message=message,
            clause=message.rstrip("."),  # followed by advice
            model=model,
            for_model=f" for {model!r}" if model else "",
            key=key,
            address=address,
            model_setting=model_setting,
        )
        return error(text, retry_after=self.retry_after if error.retry else None)


def _fault_of_status(status: int) -> str:
    if fault := _table()["statuses"].get(str(status)):
        return str(fault)
    if status < 400:
        return "redirected" if status >= 300 else "refused" if status else "bad_reply"
    return _BY_CLASS[status_error(status)]


_SEPARATORS = str.maketrans({"_": " ", "-": " ", "`": None, "’": "'"})


def longest(text: str, phrases: Iterable[str]) -> int:
    """Return the length of the longest of some phrases that a text has, without regard to case; 0 if it has none.

    A blank stands for any separator of words, `…` for up to 120 characters of one sentence.
    """
    text = " ".join(text.casefold().translate(_SEPARATORS).split())
    return max((len(phrase) for phrase in phrases if _pattern(phrase).search(text)), default=0)


@cache
def _pattern(phrase: str) -> re.Pattern[str]:
    # A dot within a name (`qwen2.5:7b`) does not end the sentence.
    parts = r"(?:[^.]|\.(?=\S)){0,120}?".join(re.escape(part.strip()) for part in phrase.split("…"))
    return re.compile(rf"(?<!\w){parts}")


# --- reading a refusal -----------------------------------------------------------------------------------------------


def read_refusal(status: int, body: bytes, headers: Mapping[str, str]) -> Refusal:
    """Return the refusal in the body of an answer, in any form."""
    if 300 <= status < 400:
        target = re.split(r"[?#]", headers.get("location", "nowhere"), maxsplit=1)[0]  # a query may hold a token
        return Refusal(status, target, headers=headers)
    text = body.decode("utf-8", "replace").strip()
    try:
        return find_refusal(json.loads(text), status, headers) or Refusal(status, text, headers=headers)
    except (ValueError, RecursionError):
        return Refusal(status, page_text(text), headers=headers)


def find_refusal(data: Any, status: int = 0, headers: Mapping[str, str] | None = None) -> Refusal | None:
    """Return the refusal in decoded JSON, in the form of any vendor; None if the JSON is no error."""
    if isinstance(data, list) and len(data) == 1:  # Gemini wraps its errors in a list
        data = data[0]
    if not isinstance(data, dict):
        return None
    error = data.get("error") or data.get("detail") or (data if _is_error(data, status) else _minimax_error(data))
    if error is None:
        return None
    fields = error if isinstance(error, dict) else data
    code = fields.get("code")
    inner = code if isinstance(code, int) else fields.get("status_code")
    seconds = data.get("estimated_time")  # Hugging Face, while it loads a model
    waiting = {"retry-after": str(seconds)} if isinstance(seconds, int | float) else {}
    return Refusal(
        status if status >= 400 else inner if isinstance(inner, int) and 400 <= inner < 600 else status,
        "; ".join(dict.fromkeys(_texts(error))),
        str(code or fields.get("tag") or ""),
        str(fields.get("type") or fields.get("status") or ""),
        str(fields.get("param") or ""),
        {**waiting, **(headers or {}), **_inner_headers(fields)},
    )


def _is_error(data: Mapping[str, Any], status: int) -> bool:
    """Return whether the object itself is the error: vLLM's, an event of responses, Z.ai's with status 200."""
    if status >= 400 or data.get("object") == "error" or ("message" in data and data.get("type") == "error"):
        return True
    return "msg" in data and data.get("code") not in (None, 0, 200, "0", "200") and "choices" not in data


def _minimax_error(data: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the error that MiniMax adds to an empty reply with status 200."""
    base = data.get("base_resp")
    if not isinstance(base, dict) or not base.get("status_code"):
        return None
    return {"message": base.get("status_msg"), "code": str(base["status_code"])}


def _texts(error: object) -> Iterator[str]:
    """Yield the texts of the fields with reasons, such as `metadata.raw`, the message of a vendor behind OpenRouter."""
    match error:
        case str() if error:
            yield error
        case list():
            for item in error[:3]:
                yield from _texts(item)
        case dict():
            for name in _TEXTS:
                yield from _texts(error.get(name))


def _inner_headers(error: Mapping[str, Any]) -> dict[str, str]:
    """Return the headers inside an error: OpenRouter's metadata, Gemini's details."""
    metadata, details = error.get("metadata"), error.get("details")
    headers = metadata.get("headers") if isinstance(metadata, dict) else None
    inner = {str(name).lower(): str(value) for name, value in headers.items()} if isinstance(headers, dict) else {}
    if isinstance(details, list):
        for detail in details:
            if isinstance(detail, dict) and "retryDelay" in detail:
                inner["retry-after"] = str(detail["retryDelay"])
    return inner


def page_text(text: str) -> str:
    """Return the text of an answer that is not JSON; for a web page its title."""
    if not re.search(r"<html|<!doctype", text[:1000], re.IGNORECASE):
        return strip_markup(text[:2000])
    title = re.search(r"<title[^>]*>(.*?)</title>", text, re.IGNORECASE | re.DOTALL)
    return f"a web page, {' '.join(title[1].split())!r}" if title else "a web page"


# --- no answer -------------------------------------------------------------------------------------------------------


def transport_error(
    error: Exception, name: str, *, address: str, proxy: str = "", connect: float = 0, silence: float = 0
) -> ProviderError:
    """Return the error for an exception of httpx.

    `address` is the setting to check, `proxy` describes the proxy on the way; `connect` and `silence` are the seconds
    of the settings `connect_timeout` and `read_timeout`, if there are any.
    """
    import httpx

    match error:
        case httpx.ConnectError() if reason := untrusted(error):
            message = reason
        case httpx.ConnectTimeout() | httpx.ConnectError() if proxy:
            message = f"no connection to {proxy}: {error}".rstrip(": ")
        case httpx.ConnectTimeout():
            message = f"no connection within {connect:g} s (connect_timeout)" if connect else "no connection in time"
        case httpx.TimeoutException():
            silent = f"connected, then silent for {silence:g} s (read_timeout)"
            message = silent if silence else f"no answer in time ({type(error).__name__})"
        case httpx.ProxyError():
            message = f"{proxy or 'the proxy'} refuses the connection: {error}"
        case httpx.ConnectError():
            message = f"no connection: {error}"
        case httpx.RemoteProtocolError():
            message = f"the connection broke: {error}"
        case httpx.DecodingError():
            message = f"the answer cannot be decompressed: {error}"
        case httpx.UnsupportedProtocol() | httpx.InvalidURL() | httpx.TooManyRedirects():
            message = f"{error}; check {address}"
        case _:
            message = f"{type(error).__name__}: {error}".rstrip(": ")
    kind = type(http_error(error) or Unavailable())
    return kind(f"{name}: {message}")


# --- how long to wait ------------------------------------------------------------------------------------------------

_UNITS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|[dhms])")
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|[dhms]))+")
_TRY_AGAIN = re.compile(
    r"(?:try again|retry|available) (?:in|after) ((?:\d+(?:\.\d+)?\s*(?:ms|seconds?|minutes?|[dhms])\s*)+)",
    re.IGNORECASE,
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
