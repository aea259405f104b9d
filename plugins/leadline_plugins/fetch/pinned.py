"""Pinned connections by httpcore, where aiohttp is not installed: see `leadline_plugins.fetch.transport`."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpcore
import httpx

from leadline.http.transport import authorities
from leadline_plugins.fetch.guard import Guard

_CONNECT = 5.0
"""Seconds for one address of a host; the next is tried then."""
_TRIED = 4
"""Addresses of a host that are tried."""
_KEPT = 2
"""Connections of a site that are kept."""


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """Opens connections to the addresses that the guard lets pass."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._plain = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's signature
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the first address that answers."""
        async with asyncio.timeout(timeout):
            addresses = (await self._guard.addresses(host, port))[:_TRIED]
            for address in addresses[:-1]:
                try:
                    return await self._plain.connect_tcp(address, port, _CONNECT, local_address, socket_options)
                except (httpcore.ConnectError, httpcore.ConnectTimeout):
                    continue  # the last address tells what is wrong
            return await self._plain.connect_tcp(addresses[-1], port, timeout, local_address, socket_options)

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's signature
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Refuse: no page is behind a socket of this machine."""
        raise httpcore.ConnectError("sockets of this machine are not read")

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)


class _Body(httpx.AsyncByteStream):
    def __init__(self, body: Any) -> None:
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _as_httpx():
            async for part in self._body:
                yield part

    async def aclose(self) -> None:
        await self._body.aclose()


@dataclass
class _Site:
    """The connections to one origin, and when it was last asked for something."""

    pool: httpcore.AsyncConnectionPool
    asked: float = 0.0

    def rests(self, since: float) -> bool:
        """Return whether nothing is under way, and nothing was asked for since then."""
        return self.asked < since and all(connection.is_idle() for connection in self.pool.connections)


class PinnedTransport(httpx.AsyncBaseTransport):
    """A transport for httpx that connects to what the guard lets pass, and keeps connections that idle so long."""

    def __init__(self, guard: Guard, verify: ssl.SSLContext | None, idle: float) -> None:
        self._idle = idle
        self._options: dict[str, Any] = {
            "ssl_context": verify or authorities(),
            "max_connections": None,  # how many at once is the limiter's business
            "max_keepalive_connections": _KEPT,
            "keepalive_expiry": idle,
        }
        self._backend = GuardedBackend(guard)
        self._sites: dict[str, _Site] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; raises httpx's errors, `Blocked`."""
        url = request.url
        asked = httpcore.Request(
            method=request.method,
            url=httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        with _as_httpx():
            reply = await (await self._site(str(asked.url.origin))).handle_async_request(asked)
        return httpx.Response(reply.status, headers=reply.headers, stream=_Body(reply.stream), request=request)

    async def _site(self, origin: str) -> httpcore.AsyncConnectionPool:
        """Return the pool of a site, and close those that were not asked for lately.

        A pool each: one pool for all sites looks, for every request, at every connection there is.
        """
        now = time.monotonic()
        site = self._sites.pop(origin, None) or _Site(
            httpcore.AsyncConnectionPool(network_backend=self._backend, **self._options)
        )
        site.asked = now
        self._sites[origin] = site  # the last asked for stands last
        while (oldest := next(iter(self._sites))) != origin and self._sites[oldest].rests(now - self._idle):
            await self._sites.pop(oldest).pool.aclose()
        return site.pool

    async def aclose(self) -> None:
        """Close all connections."""
        for site in self._sites.values():
            await site.pool.aclose()


@contextmanager
def _as_httpx() -> Iterator[None]:
    """Raise httpcore's errors as httpx's."""
    try:
        yield
    except (TimeoutError, httpcore.ConnectTimeout) as error:
        raise httpx.ConnectTimeout("no connection in time") from error
    except httpcore.TimeoutException as error:
        raise httpx.ReadTimeout(str(error)) from error
    except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.UnsupportedProtocol) as error:
        kinds = {httpcore.ConnectError: httpx.ConnectError, httpcore.UnsupportedProtocol: httpx.UnsupportedProtocol}
        raise kinds.get(type(error), httpx.RemoteProtocolError)(str(error) or type(error).__name__) from error
