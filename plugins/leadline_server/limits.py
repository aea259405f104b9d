"""Limits of each principal: requests per minute, and things that are open at once."""

from __future__ import annotations

import ipaddress
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from leadline_server.problems import too_many
from leadline_server.queue import Quota
from leadline_server.sign_in import AccessSettings

# Keys whose state is kept; beyond it, those are forgotten that have not been used for a minute.
_KEPT = 10_000


@dataclass(frozen=True)
class Limits:
    """Limits of the server: `runs`, `streams` and `requests` per minute hold for each principal; `body` in bytes."""

    runs: int = 4
    at_once: int = 0
    """Runs of each principal that a dispatcher knows at once; 0 is no limit."""
    streams: int = 16
    requests: int = 600
    body: int = 256 * 1024
    upload: int = 50_000_000
    """Bytes of a document that is added."""
    documents: int = 1_000
    """Documents of each principal."""
    quota: Quota = field(default_factory=Quota)
    """What each principal may spend."""
    guesses: int = 20
    """Wrong tokens per minute from one address, and logins with one token."""


@dataclass(frozen=True)
class Address:
    """Where the server listens, the further names by which clients know it, and the address that links begin with."""

    host: str = "127.0.0.1"
    port: int = 8327
    names: Sequence[str] = ()
    limits: Limits = field(default_factory=Limits)
    url: str = ""
    access: AccessSettings = field(default_factory=AccessSettings)

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine reaches it."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"


class Rate:
    """A token bucket for each key: `per_minute` at once, which refill evenly."""

    def __init__(self, per_minute: int, message: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._size, self._per_second = float(per_minute), per_minute / 60
        self._message, self._clock = message, clock
        self._left: dict[Hashable, tuple[float, float]] = {}

    def take(self, key: Hashable) -> None:
        """Count one. Raises `Problem` with the status 429."""
        now = self._clock()
        left, since = self._left.get(key, (self._size, now))
        left = min(self._size, left + (now - since) * self._per_second)
        if left < 1:
            raise too_many(self._message, (1 - left) / self._per_second, number=round(self._size))
        if key not in self._left and len(self._left) >= _KEPT:
            self._left = {name: state for name, state in self._left.items() if now - state[1] < 60}
        self._left[key] = (left - 1, now)


class Slots:
    """Places for things that are open at the same time, so many for each key."""

    def __init__(self, count: int, message: str) -> None:
        self._count, self._message = count, message
        self._taken: Counter[Hashable] = Counter()

    @contextmanager
    def taken(self, key: Hashable) -> Iterator[None]:
        """Hold a place. Raises `Problem` with the status 429."""
        if self._taken[key] >= self._count:
            raise too_many(self._message, 5, number=self._count)
        self._taken[key] += 1
        try:
            yield
        finally:
            self._taken[key] -= 1
            if not self._taken[key]:
                del self._taken[key]

    def total(self) -> int:
        """Return how many places are taken."""
        return self._taken.total()
