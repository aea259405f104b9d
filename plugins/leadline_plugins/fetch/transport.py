"""HTTP with the guard in it: a connection goes to an address that was judged, and to no other.

The guard stands where the name is resolved for the connection itself. So the connection is pinned (DNS cannot answer
the check and the connection differently), while pooling, certificates, SNI and the Host header go by the name.

Where the environment names a proxy, the proxy resolves: what the address says is judged all the same (scheme, port,
credentials, names and numbers of local networks), but not what its name resolves to, which only the proxy knows.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from socket import AF_INET, AF_INET6, AI_NUMERICHOST, AddressFamily
from typing import TYPE_CHECKING, Any
from urllib.request import getproxies, proxy_bypass

import httpx

from leadline.errors import Unavailable
from leadline.http.transport import Transport, authorities, is_fast
from leadline_plugins.fetch.guard import Guard, port_of

if TYPE_CHECKING:
    from aiohttp.abc import ResolveResult

_TRIED = 4
"""Addresses of a host that are tried."""
_IDLE = 15.0
"""Seconds an unused connection is kept."""


class GuardedTransport(httpx.AsyncBaseTransport):
    """A transport for httpx; proxies are those of the environment. It closes what it holds by `aclose`."""

    def __init__(self, guard: Guard, verify: ssl.SSLContext | None = None, idle: float = _IDLE) -> None:
        self._guard = guard
        self._verify = verify
        self._direct = _direct(guard, verify, idle)
        self._named = {scheme: proxy for scheme, proxy in getproxies().items() if scheme in ("http", "https", "all")}
        self._proxies: dict[str, httpx.AsyncHTTPTransport] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; raises `Blocked`, or `Unavailable` where nothing comes back."""
        url = request.url
        if self._named and (proxy := proxy_of(url, self._named)):
            return await self._through(proxy).handle_async_request(request)
        host = url.raw_host.decode("ascii")
        if ":" in host or host.replace(".", "").isdigit():  # which aiohttp takes for addresses, and does not look up
            await self._guard.addresses(host, port_of(url))
        with _translated():
            reply = await self._direct.handle_async_request(request)
        reply.stream = _Body(reply.stream)
        return reply

    def _through(self, proxy: str) -> httpx.AsyncHTTPTransport:
        if proxy not in self._proxies:
            self._proxies[proxy] = httpx.AsyncHTTPTransport(verify=self._verify or authorities(), proxy=proxy)
        return self._proxies[proxy]

    async def aclose(self) -> None:
        """Close all connections."""
        await self._direct.aclose()
        for transport in self._proxies.values():
            await transport.aclose()


class _Body(httpx.AsyncByteStream):
    def __init__(self, body: Any) -> None:
        self._body = body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _translated():
            async for part in self._body:
                yield part

    async def aclose(self) -> None:
        await self._body.aclose()


def _direct(guard: Guard, verify: ssl.SSLContext | None, idle: float) -> httpx.AsyncBaseTransport:
    """Return what connects without a proxy."""
    if is_fast():
        return Transport(verify, idle=idle, resolver=lambda: _resolver(guard))
    from leadline_plugins.fetch.pinned import PinnedTransport

    return PinnedTransport(guard, verify, idle)


def _resolver(guard: Guard) -> Any:
    """Return a resolver of aiohttp's that gives the addresses which the guard lets pass."""
    from aiohttp.abc import AbstractResolver

    class Resolver(AbstractResolver):
        async def resolve(self, host: str, port: int = 0, family: AddressFamily = AF_INET) -> list[ResolveResult]:
            return [_result(host, port, address) for address in (await guard.addresses(host, port))[:_TRIED]]

        async def close(self) -> None:
            """Nothing is held."""

    return Resolver()


def _result(host: str, port: int, address: str) -> ResolveResult:
    family = AF_INET6 if ":" in address else AF_INET
    return {"hostname": host, "host": address, "port": port, "family": family, "proto": 0, "flags": AI_NUMERICHOST}


def proxy_of(url: httpx.URL, proxies: Mapping[str, str]) -> str:
    """Return the proxy for an address, by scheme as the environment names them; empty for none."""
    proxy = proxies.get(url.scheme) or proxies.get("all", "")
    return proxy if proxy and not proxy_bypass(url.host) else ""


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except httpx.ConnectTimeout as error:
        raise Unavailable("no connection in time") from error
    except httpx.TimeoutException as error:
        raise Unavailable("connected, but no answer in time") from error
    except httpx.TransportError as error:
        raise Unavailable(f"{type(error).__name__}: {error}".removesuffix(": ")) from error
