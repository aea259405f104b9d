"""What a search service's refusal means: each vendor has its own words for a bad key, an empty account, a full line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from leadline.door.retry import BY_STATUS, TOO_FAST
from leadline.errors import (
    Denied,
    ProviderError,
    QuotaSpent,
    RateLimited,
    TooLong,
    Unavailable,
    Unsupported,
)
from leadline.plaintext import text
from leadline.printable import one_line
from leadline_plugins.ai.openai.waiting import wait_for

_SHOWN = 200
"""Characters of a vendor's own words."""
_TELLING = ("error", "message", "detail", "errors", "info", "code", "tag", "title")
"""The fields in which services say what is wrong."""
_SPENT = re.compile(r"credit|quota|usage.limit|plan.{0,12}limit|insufficient|payment|billing|budget", re.IGNORECASE)
_KEY = re.compile(r"(api|subscription|access)[ _-]?(key|token)|unauthori[sz]ed|forbidden", re.IGNORECASE)
_BY_STATUS: Mapping[int, type[ProviderError]] = {**BY_STATUS, 414: TooLong}


@dataclass(frozen=True)
class Refusal:
    """An answer that is none: status, headers (names in lower case), body."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def words(self) -> str:
        """What the service says about it, on one line; empty where it says nothing."""
        told = self.body.decode("utf-8", "replace")
        try:
            said = "; ".join(dict.fromkeys(_strings(json.loads(told))))
        except (ValueError, RecursionError):
            said = text(told[:2000])
        line = one_line(said)
        return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"


def refused(
    refusal: Refusal, name: str, where: str = "", causes: Mapping[int, type[ProviderError]] | None = None
) -> ProviderError:
    """Return the error that a refusal amounts to; `where` says where the key is set, `causes` are the vendor's own."""
    words = refusal.words
    wait = wait_for(refusal.headers, words, limited=refusal.status < 500)
    cause = (causes or {}).get(refusal.status) or _cause(refusal.status, words, wait, keyed=bool(where))
    said = f" (HTTP {refusal.status}): {words}" if words else f" (HTTP {refusal.status})"
    return cause(_sentence(cause, refusal, name, where) % said, retry_after=wait if cause.retry else None)


def _cause(status: int, words: str, wait: float | None, *, keyed: bool) -> type[ProviderError]:
    passing = wait is not None or (status == 429 and TOO_FAST.search(words))
    if status in (400, 403, 429) and not passing and _SPENT.search(words):
        return QuotaSpent
    if keyed and status in (400, 422) and _KEY.search(words):
        return Denied
    return _BY_STATUS.get(status) or (Unavailable if status >= 500 else Unsupported)


def _sentence(cause: type[ProviderError], refusal: Refusal, name: str, where: str) -> str:
    """Return a sentence with a place for the status and the vendor's words."""
    name = name.replace("%", "%%")
    if cause is Denied and where:
        return f"{name} does not accept the key%s; check {where}"
    if cause is QuotaSpent:
        return f"{name}: the account has no credit left%s"
    if cause is RateLimited:
        return f"{name} asks to slow down%s"
    if cause is Unavailable:
        return f"{name} is not available%s"
    if 300 <= refusal.status < 400:
        return f"{name} sends elsewhere%s; check base_url"
    if refusal.status == 404:
        return f"{name} knows no such address%s; check base_url"
    return f"{name} refuses the request%s"


def _strings(data: object) -> Iterator[str]:
    """Yield what is said in the telling fields, however deep they stand."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, list):
        for one in data[:3]:
            yield from _strings(one)
    elif isinstance(data, dict):
        for name in _TELLING:
            yield from _strings(data.get(name))
