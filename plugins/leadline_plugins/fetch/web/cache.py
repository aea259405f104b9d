"""The page cache of all runs and processes, in one SQLite file of bounded size.

If the file is damaged or the disk is full, pages are fetched again, and the log reports it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from logging import Logger
from pathlib import Path

from leadline.disk_cache import DiskCache

# Seconds to wait for the lock of another process.
_WAIT = 5.0


@dataclass(frozen=True)
class CachedPage:
    """A cached page: `url` is the target of redirects, `stored` the time of the last check (seconds since 1970)."""

    url: str
    media_type: str
    data: bytes
    etag: str = ""
    modified: str = ""
    stored: float = 0.0


class PageCache:
    """The cache; every method runs on the event loop."""

    def __init__(self, folder: Path, size: int, log: Logger, clock: Callable[[], float] = time.time) -> None:
        path = folder / "pages.sqlite"
        self._kept = DiskCache(path, size, table="pages", name="the page cache", log=log, wait=_WAIT, clock=clock)
        self._clock = clock

    async def get(self, key: str) -> CachedPage | None:
        """Return the cached page of an address."""
        found = await self._kept.get(key)
        if found is None:
            return None
        head, _, data = found.body.partition(b"\n")
        url, media_type, etag, modified = json.loads(head)
        return CachedPage(url, media_type, data, etag, modified, found.stored)

    def put_soon(self, key: str, page: CachedPage) -> None:
        """Store a page; the least recently used pages are removed."""
        head = json.dumps([page.url, page.media_type, page.etag, page.modified])
        self._kept.put_soon(key, b"%s\n%s" % (head.encode(), page.data))

    def confirm_soon(self, key: str) -> None:
        """Record that a page has not changed."""
        self._kept.renew_soon(key)

    def fresh(self, page: CachedPage, seconds: float) -> bool:
        """Return whether a page may be used without checking for changes."""
        return 0 <= self._clock() - page.stored < seconds

    async def close(self) -> None:
        """Write the queued pages and close the file."""
        await self._kept.close()
