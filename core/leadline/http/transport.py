"""HTTP for the clients that the house lends: httpx's clients, spoken by aiohttp where that is installed (extra `fast`).

A request by httpx's own transport takes 1.8 ms of the processor, by this one 0.6: aiohttp's parser is compiled. Plugins
see httpx and its errors, whichever it is. Certificates are read once for all clients, when https is first asked for:
that takes 90 ms.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from io import BytesIO
from threading import Event
from typing import TYPE_CHECKING, Any

import httpx

from leadline.http.body import Body
from leadline.http.errors import as_httpx

if TYPE_CHECKING:
    from aiohttp import ClientSession
    from aiohttp.abc import AbstractResolver

_HEADER = 65_536
"""Bytes of one header: policies of real sites are longer than aiohttp's 8,190."""
_HEADERS = 256
_LARGE = 500_000
"""Bytes of a body from which it is sent in pieces."""
HELD = "leadline.held"
"""Extension of an answer: whether a piece of its body is all that had come when it was asked for."""
_OWN = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")
"""Headers that aiohttp would add of its own."""


_imported = Event()


def _import() -> None:
    """Import aiohttp, which takes 0.2 s: the event loop would stand still for them."""
    import aiohttp  # noqa: F401 - to have it at hand

    _imported.set()


@cache
def is_fast() -> bool:
    """Return whether aiohttp is installed."""
    return find_spec("aiohttp") is not None


@cache
def authorities() -> ssl.SSLContext:
    """Return what trusts the usual authorities, or those that SSL_CERT_FILE or SSL_CERT_DIR names."""
    return httpx.create_ssl_context()


def trusting(verify: ssl.SSLContext | str | bool) -> ssl.SSLContext:
    """Return what httpx's option `verify` means: a context, a file of authorities, everybody (False) or the usual."""
    return authorities() if verify is True else httpx.create_ssl_context(verify)


class Transport(httpx.AsyncBaseTransport):
    """HTTP/1.1 without proxies; how many requests are under way is for the caller to say.

    `verify` is what https trusts, the usual authorities unless given. Connections that idle are kept for `idle`
    seconds; with 0 each request has one of its own, and of an answer no more is taken from the network than its reader
    asks for. `resolver` makes what gives the addresses of a name (those that are addresses already are not looked up).
    """

    def __init__(
        self,
        verify: ssl.SSLContext | None = None,
        *,
        idle: float = 5.0,
        resolver: Callable[[], AbstractResolver] | None = None,
    ) -> None:
        self._verify = verify
        self._idle = idle
        self._resolver = resolver
        self._session: ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; raises httpx's errors, and whatever the resolver raises."""
        session = await self._at_hand()
        import aiohttp

        url, times = request.url, request.extensions.get("timeout", {})
        connect, read = times.get("connect"), times.get("read")
        timeout = aiohttp.ClientTimeout(connect=connect, sock_connect=connect, sock_read=read)
        with as_httpx():
            answer = await session.request(
                request.method,
                _address(url),
                headers=_headers(request, kept=bool(self._idle)),
                data=_body(request),
                ssl=(self._verify or authorities()) if url.scheme == "https" else True,
                server_hostname=request.extensions.get("sni_hostname"),
                timeout=timeout,
                allow_redirects=False,
            )
        reason = (answer.reason or "").encode("utf-8", "surrogateescape")
        held = not self._idle and url.scheme == "http"
        return httpx.Response(
            answer.status,
            headers=answer.raw_headers,
            stream=Body(answer, held=held),
            request=request,
            extensions={"http_version": b"HTTP/1.1", "reason_phrase": reason, HELD: held},
        )

    async def aclose(self) -> None:
        """Close all connections."""
        if session := self._session:
            self._session = None
            await session.close()

    async def _at_hand(self) -> ClientSession:
        if not _imported.is_set():
            await asyncio.to_thread(_import)
        loop = asyncio.get_running_loop()
        if self._session is None or self._loop is not loop:
            old, self._session, self._loop = self._session, self._made(), loop
            if old:  # of an event loop that has ended, and its connections with it
                await old.close()
        return self._session

    def _made(self) -> ClientSession:
        import aiohttp

        keep: dict[str, Any] = {"keepalive_timeout": self._idle} if self._idle else {"force_close": True}
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, resolver=self._resolver() if self._resolver else None, **keep),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            skip_auto_headers=_OWN,
            max_line_size=_HEADER,
            max_field_size=_HEADER,
            max_headers=_HEADERS,
        )


def _address(url: httpx.URL) -> Any:
    """Return the address as it stands: yarl would quote it anew."""
    from yarl import URL

    port = "" if url.port is None else f":{url.port}"
    host = url.raw_host.decode("ascii")
    host = f"[{host}]" if ":" in host else host
    return URL(f"{url.scheme}://{host}{port}{url.raw_path.decode('ascii')}", encoded=True)


def _headers(request: httpx.Request, *, kept: bool) -> list[tuple[str, str]]:
    """Return the headers as they are spelled; how the body is transferred is for aiohttp to say."""
    pairs = ((name.decode("latin-1"), value.decode("latin-1")) for name, value in request.headers.raw)
    ours = {"transfer-encoding"} if kept else {"transfer-encoding", "connection"}
    headers = [(name, value) for name, value in pairs if name.lower() not in ours]
    return headers if kept else [*headers, ("Connection", "close")]


def _body(request: httpx.Request) -> Any:
    try:
        content = request.content
    except httpx.RequestNotRead:
        return request.stream
    return BytesIO(content) if len(content) > _LARGE else content or None  # aiohttp warns of large bytes
