"""HTTP with the guard in it: a connection goes to an address that was judged, and to no other.

The guard stands where the name is resolved for the connection itself. So the connection is pinned (DNS cannot answer
the check and the connection differently), while pooling, certificates, SNI and the Host header go by the name.

Where the environment names a proxy, the proxy resolves: what the address says is judged all the same (scheme, port,
credentials, names and numbers of local networks), but not what its name resolves to, which only the proxy knows.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any
from urllib.request import getproxies, proxy_bypass

import httpcore
import httpx

from leadline.errors import Unavailable
from leadline_plugins.fetch.guard import Guard

_CONNECT = 5.0
"""Seconds for one address of a host; the next is tried then."""
_TRIED = 4
"""Addresses of a host that are tried."""
_IDLE = 15.0
"""Seconds an unused connection is kept."""
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
        with _translated():
            async for part in self._body:
                yield part

    async def aclose(self) -> None:
        await self._body.aclose()


@dataclass
class _Site:
    """The connections to one origin, and when it was last asked for something."""

    pool: httpcore.AsyncConnectionPool
    asked: float = 0.0

    def rests(self, now: float) -> bool:
        """Return whether nothing is under way, and nothing was asked for long."""
        return now - self.asked > _IDLE and all(connection.is_idle() for connection in self.pool.connections)


class GuardedTransport(httpx.AsyncBaseTransport):
    """A transport for httpx; HTTP/2 where the package h2 is installed, proxies as the environment says."""

    def __init__(
        self, guard: Guard, verify: ssl.SSLContext | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self._verify = verify or httpx.create_ssl_context()
        self._options: dict[str, Any] = {
            "ssl_context": self._verify,
            "max_connections": None,  # how many at once is the limiter's business
            "max_keepalive_connections": _KEPT,
            "keepalive_expiry": _IDLE,
            "http2": find_spec("h2") is not None,
        }
        self._backend = GuardedBackend(guard)
        self._sites: dict[str, _Site] = {}
        self._named = {scheme: proxy for scheme, proxy in getproxies().items() if scheme in ("http", "https", "all")}
        self._proxies: dict[str, httpx.AsyncHTTPTransport] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; raises `Blocked`, or `Unavailable` where nothing comes back."""
        if self._named and (proxy := proxy_of(request.url, self._named)):
            return await self._through(proxy).handle_async_request(request)
        url = request.url
        asked = httpcore.Request(
            method=request.method,
            url=httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        with _translated():
            reply = await (await self._site(str(asked.url.origin))).handle_async_request(asked)
        return httpx.Response(reply.status, headers=reply.headers, stream=_Body(reply.stream), request=request)

    async def _site(self, origin: str) -> httpcore.AsyncConnectionPool:
        """Return the pool of a site, and close those that were not asked for lately.

        A pool each: one pool for all sites looks, for every request, at every connection there is.
        """
        now = self._clock()
        site = self._sites.pop(origin, None) or _Site(
            httpcore.AsyncConnectionPool(network_backend=self._backend, **self._options)
        )
        site.asked = now
        self._sites[origin] = site  # the last asked for stands last
        while (oldest := next(iter(self._sites))) != origin and self._sites[oldest].rests(now):
            await self._sites.pop(oldest).pool.aclose()
        return site.pool

    def _through(self, proxy: str) -> httpx.AsyncHTTPTransport:
        if proxy not in self._proxies:
            http2 = bool(self._options["http2"])
            self._proxies[proxy] = httpx.AsyncHTTPTransport(verify=self._verify, proxy=proxy, http2=http2)
        return self._proxies[proxy]

    async def aclose(self) -> None:
        """Close all connections."""
        for site in self._sites.values():
            await site.pool.aclose()
        for transport in self._proxies.values():
            await transport.aclose()


def proxy_of(url: httpx.URL, proxies: Mapping[str, str]) -> str:
    """Return the proxy for an address, by scheme as the environment names them; empty for none."""
    proxy = proxies.get(url.scheme) or proxies.get("all", "")
    return proxy if proxy and not proxy_bypass(url.host) else ""


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except TimeoutError as error:
        raise Unavailable("no connection in time") from error
    except (
        httpcore.TimeoutException,
        httpcore.NetworkError,
        httpcore.ProtocolError,
        httpcore.UnsupportedProtocol,
    ) as error:
        raise Unavailable(f"{type(error).__name__}: {error}".removesuffix(": ")) from error
