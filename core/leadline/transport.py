"""HTTP for the clients that the house lends: httpx's clients, spoken by aiohttp where that is installed (extra `fast`).

A request by httpx's own transport takes 1.8 ms of the processor, by this one 0.6: aiohttp's parser is compiled. Plugins
see httpx and its errors, whichever it is. Certificates are read once for all clients, when https is first asked for:
that takes 90 ms.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache, partial
from importlib.util import find_spec
from io import BytesIO
from threading import Event
from typing import TYPE_CHECKING, Any, cast

import httpx

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession, StreamReader
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
        with _as_httpx():
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
            stream=_Body(answer, held=held),
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


class _Body(httpx.AsyncByteStream):
    def __init__(self, answer: ClientResponse, *, held: bool) -> None:
        self._answer = answer
        self._held = held
        _end_with_its_connection(answer)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _as_httpx():
            async for piece in self._answer.content.iter_any():
                with _reading_paused(self._answer) if self._held else nullcontext():
                    yield piece

    async def aclose(self) -> None:
        self._answer.close()  # a connection whose body was read to its end is back with the others already


def _end_with_its_connection(answer: ClientResponse) -> None:
    """Let whoever reads know when the connection is gone.

    When aiohttp cannot read what comes next, it closes the connection, and a reader that waits then waits for ever.
    """
    body, connection = answer.content, answer.connection
    protocol = connection.protocol if connection is not None else None
    closed = protocol.closed if protocol is not None else None
    if closed is None:
        return
    gone = partial(_gone, body)

    def over() -> None:
        closed.remove_done_callback(gone)

    closed.remove_done_callback(_known)  # of the answer before, on a connection that was kept
    closed.add_done_callback(_known)
    closed.add_done_callback(gone)
    body.on_eof(over)


def _known(closed: asyncio.Future[None]) -> None:
    """Take note of how a connection ended: asyncio complains of errors that nobody looked at."""
    if not closed.cancelled():
        closed.exception()


def _gone(body: StreamReader, closed: asyncio.Future[None]) -> None:
    import aiohttp

    if not body.is_eof() and body.exception() is None:
        error = None if closed.cancelled() else closed.exception()
        body.set_exception(aiohttp.ClientPayloadError(str(error or "what came is not HTTP")))


@contextmanager
def _reading_paused(answer: ClientResponse) -> Iterator[None]:
    """Take nothing more from the network meanwhile: of a stream of tokens each would wake the event loop.

    Only where the connection serves no other request: of one that is kept, nobody would see that the server hung up.
    And not with TLS: asyncio goes on reading beneath it, and loses what is not yet decrypted when the server resets.
    """
    connection = answer.connection
    transport = connection.transport if connection is not None else None
    over = answer.content.is_eof()  # the connection may still be there, busy with a large request
    if over or transport is None or transport.is_closing():
        yield
        return
    # Of the transport alone: aiohttp's own pause goes through its parser, which may be at an end that nobody knows yet.
    reading = cast("asyncio.ReadTransport", transport)  # other event loops have classes of their own
    reading.pause_reading()
    try:
        yield
    finally:
        if not reading.is_closing():
            reading.resume_reading()


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


@contextmanager
def _as_httpx() -> Iterator[None]:
    """Raise aiohttp's errors as httpx's."""
    import aiohttp

    try:
        yield
    except aiohttp.ConnectionTimeoutError as error:
        raise httpx.ConnectTimeout("no connection in time") from error
    except aiohttp.ServerTimeoutError as error:
        raise httpx.ReadTimeout("no answer in time") from error
    except aiohttp.ClientConnectorError as error:
        raise httpx.ConnectError(str(error.os_error)) from error
    except (aiohttp.NonHttpUrlClientError, aiohttp.InvalidURL) as error:
        raise httpx.UnsupportedProtocol(f"{error} is no address of the web") from error
    except (aiohttp.ClientPayloadError, aiohttp.ServerDisconnectedError) as error:
        raise httpx.RemoteProtocolError(f"the connection broke off: {error}") from error
    except aiohttp.http.HttpProcessingError as error:  # of the parser in Python; the compiled one hides it
        raise httpx.RemoteProtocolError(f"what came is not HTTP: {error.message}") from error
    except aiohttp.ClientResponseError as error:
        raise httpx.RemoteProtocolError(f"the answer is not HTTP: {error.message}") from error
    except RuntimeError as error:
        if str(error) != "Connection closed.":
            raise
        raise httpx.RemoteProtocolError("the connection broke off") from error
    except ValueError as error:  # of a header
        raise httpx.LocalProtocolError(str(error)) from error
    except (aiohttp.ClientError, OSError) as error:
        raise httpx.ReadError(f"{type(error).__name__}: {error}".removesuffix(": ")) from error
