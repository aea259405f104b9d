"""What the house lends a plugin when it is made (`leadline.contracts.Context`)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar
from urllib.request import getproxies

if TYPE_CHECKING:
    from httpx import AsyncClient

    from leadline.contracts import Call
    from leadline.records import Blob, Document

P = ParamSpec("P")
T = TypeVar("T")
THREADS = 8
"""Of each plugin that asks for threads."""


class Reader(Protocol):
    """The house's parsers, as a plugin may use them."""

    def parses(self, media_type: str) -> bool: ...
    async def parse(self, blob: Blob, call: Call) -> Document: ...


class HouseContext:
    """The loan to one plugin: a log, a folder, HTTP clients, threads, the parsers."""

    def __init__(self, name: str, cache_dir: Path, reader: Reader, runs: Path | None = None) -> None:
        self.name = name
        self.log = logging.getLogger(f"leadline.plugins.{name}")
        self.cache_dir = cache_dir / name
        self.own: tuple[Path, ...] = (cache_dir, runs) if runs else (cache_dir,)
        self._reader = reader
        self._clients: list[AsyncClient] = []
        self._threads: ThreadPoolExecutor | None = None

    def http(self, **options: Any) -> AsyncClient:
        """Return an httpx client with the house's agent; proxies and certificates are those of the environment.

        With `held` each request may have a connection of its own.
        """
        import httpx

        from leadline import __version__

        headers = {"User-Agent": f"leadline/{__version__}"} | dict(options.pop("headers", None) or {})
        client = httpx.AsyncClient(headers=headers, **_by_house(options))
        self._clients.append(client)
        return client

    async def in_thread(self, do: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run blocking code in threads of this plugin's own."""
        if self._threads is None:
            self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix=f"leadline-{self.name}")
        return await asyncio.get_running_loop().run_in_executor(self._threads, partial(do, *args, **kwargs))

    def parses(self, media_type: str) -> bool:
        """Return whether a configured parser accepts this media type."""
        return self._reader.parses(media_type)

    async def parse(self, blob: Blob, call: Call) -> Document:
        """Read bytes with the configured parsers."""
        return await self._reader.parse(blob, call)

    async def close(self) -> None:
        """Close the clients and let the threads go."""
        for client in self._clients:
            await client.aclose()
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)


_IDLE = 16
"""Connections of one client that are kept."""
_WAYS = {"transport", "mounts", "proxy", "cert", "http1", "http2", "limits"}
"""Options by which a plugin says itself how its requests go."""


def _by_house(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a client with the house's transport; with httpx's own where a proxy stands in between."""
    from leadline.http.transport import Transport, authorities, is_fast, trusting

    held = options.pop("held", False)
    if "transport" in options:
        return options
    proxied = options.get("trust_env", True) and getproxies().keys() & {"http", "https", "all"}
    if not is_fast() or proxied or options.keys() & _WAYS:
        import httpx

        # How many at once is for the limiters to say. Each request looks at all connections that idle.
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=_IDLE)
        if "verify" not in options and not options.get("http2"):  # HTTP/2 is offered by the context: it has its own
            options = {"verify": authorities()} | options
        return {"limits": limits} | options
    verify = options.pop("verify", True)
    trusted = None if verify is True else trusting(verify)
    return options | {"transport": Transport(trusted, idle=0) if held else Transport(trusted)}
