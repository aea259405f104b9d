"""Pages kept across runs and processes, in one SQLite file of a bounded size.

It is a cache: where the file is damaged or the disk full, pages are fetched as if there were none, and the log says so.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from logging import Logger
from pathlib import Path

from leadline.journal.cache_file import CacheFile
from leadline.journal.disk_cache import DiskCache

_WAIT = 5.0
"""Seconds that another process is waited for."""


@dataclass(frozen=True)
class Kept:
    """A page as it was: `url` is where redirects led to, `stored` the time (seconds since 1970) it was known good."""

    url: str
    media_type: str
    data: bytes
    etag: str = ""
    modified: str = ""
    stored: float = 0.0


class Cache:
    """The file; every method is called on the event loop."""

    def __init__(self, folder: Path, size: int, log: Logger, clock: Callable[[], float] = time.time) -> None:
        path = folder / "pages.sqlite"
        file = CacheFile(path, size, table="pages", name="kept pages", log=log, wait=_WAIT, clock=clock)
        self._kept = DiskCache(file)
        self._clock = clock

    async def get(self, key: str) -> Kept | None:
        """Return the page kept for an address."""
        found = await self._kept.get(key)
        if found is None:
            return None
        head, _, data = found.body.partition(b"\n")
        url, media_type, etag, modified = json.loads(head)
        return Kept(url, media_type, data, etag, modified, found.stored)

    def put_soon(self, key: str, page: Kept) -> None:
        """Keep a page; those let go that were not used the longest."""
        head = json.dumps([page.url, page.media_type, page.etag, page.modified])
        self._kept.put_soon(key, b"%s\n%s" % (head.encode(), page.data))

    def confirm_soon(self, key: str) -> None:
        """Note that a page has not changed."""
        self._kept.renew_soon(key)

    def fresh(self, page: Kept, seconds: float) -> bool:
        """Tell whether a page may be used unasked."""
        return 0 <= self._clock() - page.stored < seconds

    async def close(self) -> None:
        """Write what is queued, and close the file."""
        await self._kept.close()
