"""The cache of replies across runs and processes.

It is searched when the journal has no row. A hit is copied into the run's journal, so that a run never depends on the
cache later. Requests are stored as digests only; accounts and middleware have separate replies.
"""

from __future__ import annotations

import hmac
import logging
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from leadline.disk_cache import DiskCache
from leadline.encoding import digest

LOG = logging.getLogger("leadline._runtime.journal.cache")


class ReplyCache:
    """The cache; replies are found under the same `scope` only (a fingerprint of the middleware)."""

    def __init__(self, path: Path, size: int, scope: str = "", clock: Callable[[], float] = time.time) -> None:
        name = "the cache across runs"
        self._cache = DiskCache(path, size, table="answers", name=name, log=LOG, clock=clock)
        self._scope = scope

    async def get(self, key: str, account: str, ttl: float) -> bytes | None:
        """Return the reply to a call, unless it is `ttl` seconds old."""
        found = await self._cache.get(self._name(key, account), ttl)
        return found.body if found else None

    def put_soon(self, key: str, account: str, body: bytes) -> None:
        """Queue the reply to a call to be stored."""
        self._cache.put_soon(self._name(key, account), body)

    async def close(self) -> None:
        """Write the queue and close the file."""
        await self._cache.close()

    def _name(self, key: str, account: str) -> str:
        return digest(f"{key}\n{account}\n{self._scope}".encode())


def account_of(secrets: Iterable[str]) -> str:
    """Return an identifier of an account that reveals nothing of its API keys: an HMAC under the keys themselves."""
    key = "\n".join(secrets).encode("utf-8", "surrogatepass")
    return hmac.digest(key, b"leadline: answers of this account", "sha256").hex() if key else ""
