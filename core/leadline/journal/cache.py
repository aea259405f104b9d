"""Answers kept across runs and processes, in one SQLite file of a bounded size.

Asked on a miss of the journal; a hit is copied into the run's journal, so that a run never depends on this file again.
What was asked is kept as a digest only; answers under different keys of an account, or other middleware, are kept
apart.
"""

from __future__ import annotations

import hmac
import logging
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from leadline.door.keys import digest
from leadline.journal.cache_file import CacheFile
from leadline.journal.disk_cache import DiskCache

LOG = logging.getLogger("leadline.journal.cache")


class Answers:
    """The file. `scope` is what else answers depend on: they are found again under the same one only."""

    def __init__(self, path: Path, size: int, scope: str = "", clock: Callable[[], float] = time.time) -> None:
        name = "the cache across runs"
        self._kept = DiskCache(CacheFile(path, size, table="answers", name=name, log=LOG, clock=clock))
        self._scope = scope

    async def get(self, key: str, account: str, ttl: float) -> bytes | None:
        """Return the answer to a call, unless it is as old as `ttl` seconds."""
        found = await self._kept.get(self._name(key, account), ttl)
        return found.body if found else None

    def put_soon(self, key: str, account: str, body: bytes) -> None:
        """Keep the answer to a call; nobody waits for it."""
        self._kept.put_soon(self._name(key, account), body)

    async def close(self) -> None:
        """Write what is queued, and close the file."""
        await self._kept.close()

    def _name(self, key: str, account: str) -> str:
        return digest(f"{key}\n{account}\n{self._scope}".encode())


def account_of(secrets: Iterable[str]) -> str:
    """Return what tells accounts apart and says nothing about their keys: an HMAC under the keys themselves."""
    key = "\n".join(secrets).encode("utf-8", "surrogatepass")
    return hmac.digest(key, b"leadline: answers of this account", "sha256").hex() if key else ""
