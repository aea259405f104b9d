"""HTTP that connects only to addresses that the guard has checked.

The guard resolves the name for the connection itself, so that DNS cannot answer the check and the connection
differently. Pooling, certificates, SNI and the Host header use the name.

If the environment names a proxy, the proxy resolves names. The URL is checked all the same (scheme, port, credentials,
names and numbers of local networks), but not the addresses of its name, which only the proxy knows.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import httpcore
import httpx

from leadline.errors import Unavailable, Unsupported
from leadline.http import default_certificates, proxy_of, untrusted
from leadline_plugins.fetch.guard import Guard, port_of

# Seconds for one address of a host before the next is tried.
_CONNECT_TIMEOUT = 5.0
_MAX_ADDRESSES = 4
# Idle connections that are kept, and for how many seconds. Each request inspects all of them.
_IDLE_CONNECTIONS = 16
_IDLE_SECONDS = 15.0


class GuardedTransport(httpx.AsyncBaseTransport):
    """A transport for httpx; uses the proxies of the environment. Close it with `aclose`."""

    def __init__(self, guard: Guard, verify: ssl.SSLContext | None = None, idle: float = _IDLE_SECONDS) -> None:
        self._guard = guard
        self._verify = verify
        self._idle = idle
        self._pool: httpcore.AsyncConnectionPool | None = None
        self._proxied: dict[str, httpx.AsyncHTTPTransport] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; raises `Blocked`, or `Unavailable` if no response arrives."""
        url = request.url
        if proxy := proxy_of(url.scheme, url.host):
            return await self._through(proxy).handle_async_request(request)
        host = url.raw_host.decode("ascii")
        if ":" in host or host.replace(".", "").isdigit():  # an address, which is connected to without being resolved
            await self._guard.addresses(host, port_of(url))
        direct = httpcore.Request(
            method=request.method,
            url=httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        with _as_unavailable():
            response = await self._direct().handle_async_request(direct)
        return httpx.Response(response.status, headers=response.headers, stream=_Body(response.stream), request=request)

    async def aclose(self) -> None:
        """Close all connections."""
        if self._pool:
            await self._pool.aclose()
        for transport in self._proxied.values():
            await transport.aclose()

    def _direct(self) -> httpcore.AsyncConnectionPool:
        if self._pool is None:
            self._pool = httpcore.AsyncConnectionPool(
                ssl_context=self._verify or default_certificates(),
                max_connections=None,  # the limiter of the plugin decides
                max_keepalive_connections=_IDLE_CONNECTIONS,
                keepalive_expiry=self._idle,
                network_backend=_GuardedBackend(self._guard),
            )
        return self._pool

    def _through(self, proxy: str) -> httpx.AsyncHTTPTransport:
        if proxy not in self._proxied:
            verify = self._verify or default_certificates()
            self._proxied[proxy] = httpx.AsyncHTTPTransport(verify=verify, proxy=proxy)
        return self._proxied[proxy]


class _GuardedBackend(httpcore.AsyncNetworkBackend):
    """Opens connections to the addresses that the guard allows."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._backend = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's signature
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the first address that accepts."""
        async with asyncio.timeout(timeout):
            addresses = (await self._guard.addresses(host, port))[:_MAX_ADDRESSES]
            for address in addresses[:-1]:
                try:
                    return await self._backend.connect_tcp(
                        address, port, _CONNECT_TIMEOUT, local_address, socket_options
                    )
                except (httpcore.ConnectError, httpcore.ConnectTimeout):
                    continue  # the error of the last address is raised
            return await self._backend.connect_tcp(addresses[-1], port, timeout, local_address, socket_options)

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's signature
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Refuse: no page is served by a socket of this machine."""
        raise httpcore.ConnectError("sockets of this machine are not read")

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)


class _Body(httpx.AsyncByteStream):
    def __init__(self, body: Any) -> None:
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _as_unavailable():
            async for part in self._body:
                yield part

    async def aclose(self) -> None:
        await self._body.aclose()


@contextmanager
def _as_unavailable() -> Iterator[None]:
    try:
        yield
    except (TimeoutError, httpcore.ConnectTimeout) as error:
        raise Unavailable("no connection in time") from error
    except httpcore.TimeoutException as error:
        raise Unavailable("connected, but no answer in time") from error
    except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.UnsupportedProtocol) as error:
        if reason := untrusted(error):
            raise Unsupported(reason) from error
        raise Unavailable(f"{type(error).__name__}: {error}".removesuffix(": ")) from error
