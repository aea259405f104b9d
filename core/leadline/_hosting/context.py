"""The context of a plugin: the implementation of `leadline.contracts.Context`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar

from leadline.http import make_client

if TYPE_CHECKING:
    from httpx import AsyncClient

    from leadline.contracts import Call
    from leadline.records import Blob, Document

P = ParamSpec("P")
T = TypeVar("T")
# Threads of one plugin.
THREADS = 8


class DocumentReader(Protocol):
    """The configured parsers."""

    def parses(self, media_type: str) -> bool: ...
    async def parse(self, blob: Blob, call: Call) -> Document: ...


class PluginContext:
    """A log, a cache folder, HTTP clients, threads and the parsers for one plugin."""

    def __init__(self, name: str, cache_dir: Path, reader: DocumentReader, runs: Path | None = None) -> None:
        self.name = name
        self.log = logging.getLogger(f"leadline.plugins.{name}")
        self.cache_dir = cache_dir / name
        self.own: tuple[Path, ...] = (cache_dir, runs) if runs else (cache_dir,)
        self._reader = reader
        self._clients: list[AsyncClient] = []
        self._threads: ThreadPoolExecutor | None = None

    def http(self, **options: Any) -> AsyncClient:
        """Return an httpx client with Leadline's user agent; proxies and certificates come from the environment."""
        client = make_client(**options)
        self._clients.append(client)
        return client

    async def in_thread(self, do: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run blocking code in the threads of this plugin."""
        if self._threads is None:
            self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix=f"leadline-{self.name}")
        return await asyncio.get_running_loop().run_in_executor(self._threads, partial(do, *args, **kwargs))

    def parses(self, media_type: str) -> bool:
        """Return whether a configured parser accepts this media type."""
        return self._reader.parses(media_type)

    async def parse(self, blob: Blob, call: Call) -> Document:
        """Parse bytes with the configured parsers."""
        return await self._reader.parse(blob, call)

    async def close(self) -> None:
        """Close the clients and release the threads."""
        for client in self._clients:
            await client.aclose()
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
