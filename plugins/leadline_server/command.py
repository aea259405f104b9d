"""The server as a process: address, signals, and an orderly end within seconds."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import resource
import signal
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware
from uvicorn.protocols.http.h11_impl import H11Protocol

from leadline import Client
from leadline.errors import LeadlineError, UsageError
from leadline_server.access import PEER
from leadline_server.app import App
from leadline_server.dispatchers import dispatcher_of, submit_orders
from leadline_server.limits import Address
from leadline_server.queue import Queue
from leadline_server.service import Service
from leadline_server.store import Store

# Seconds in which the head of a request must arrive.
HEAD_TIMEOUT = 15.0
# Seconds in which a client must take something of what was sent to it.
STALL_TIMEOUT = 30.0
# Bytes that are something: clients slower than this in `STALL_TIMEOUT` are left.
_LEAST = 16_384


class PatientProtocol(H11Protocol):
    """The protocol of the server. It cuts off clients whose request never arrives, or who do not take the reply."""

    _deadline: asyncio.TimerHandle | None = None
    _stall: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        super().connection_made(transport)
        self._watch_head()

    def data_received(self, data: bytes) -> None:
        """Take a piece of a request."""
        super().data_received(data)
        self._watch_head()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._unwatch_head()
        self._unwatch_reader()

    def pause_writing(self) -> None:
        """Wait for a client that does not take what was sent to it."""
        super().pause_writing()
        self._watch_reader()

    def resume_writing(self) -> None:
        """Go on with a client that took it."""
        super().resume_writing()
        self._unwatch_reader()

    def on_response_complete(self) -> None:
        """End a reply; a connection that was closed is gone when the rest was taken, or not taken in time."""
        super().on_response_complete()
        if self.transport.is_closing():
            self._watch_reader()

    def timeout_keep_alive_handler(self) -> None:
        """Close a connection on which nothing comes any more."""
        super().timeout_keep_alive_handler()
        self._watch_reader()

    def _watch_head(self) -> None:
        # A connection that waits between two requests is uvicorn's matter (`timeout_keep_alive`).
        waiting = self.conn.their_state is h11.IDLE and (self.cycle is None or bool(self.conn.trailing_data[0]))
        if not waiting:
            self._unwatch_head()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(HEAD_TIMEOUT, self.transport.close)

    def _unwatch_head(self) -> None:
        if self._deadline:
            self._deadline.cancel()
            self._deadline = None

    def _watch_reader(self) -> None:
        if self._stall is None:
            left = self.transport.get_write_buffer_size()
            self._stall = self.loop.call_later(STALL_TIMEOUT, self._check_reader, left)

    def _check_reader(self, before: int) -> None:
        self._stall = None
        left = self.transport.get_write_buffer_size()
        if left and before - left < _LEAST:
            self.transport.abort()
        elif left:
            self._watch_reader()

    def _unwatch_reader(self) -> None:
        if self._stall:
            self._stall.cancel()
            self._stall = None


log = logging.getLogger("leadline.server")
# Seconds that replies have to end once the server is told to; then connections are cut.
_GRACE = 3
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
# Open files, as many as the server asks for; and those that it keeps for its runs and databases.
_FILES, _OWN_FILES = 65_536, 200


@dataclass(frozen=True)
class Running:
    """A server that takes runs at `url`; `end` ends it, and must be called on its event loop."""

    url: str
    end: Callable[[], None]


async def serve(
    client: Client,
    store: Store,
    queue: Queue,
    address: Address,
    started: Callable[[Running], object],
    work: Callable[[], Awaitable[None]] | None = None,
) -> None:
    """Serve until a signal. Raises `UsageError` before anything is served, and `ConfigError` a moment later.

    Requests are accepted before the plugins are loaded, which takes as long again: until then the server is not ready.
    Then `started` is called, and `work` begins. It has workers do the runs; without it, others start them.
    """
    if address.url and not address.url.startswith(("http://", "https://")):
        raise UsageError(f"--url {address.url}: an address begins with http:// or https://")
    if not store.has_tokens() and not address.access.signs_in and (address.names or not address.is_loopback):
        what = f"--host {address.host}" if not address.is_loopback else f"--allow-host {address.names[0]}"
        raise UsageError(f"{what}: others could use this server; first make a token: leadline serve token add NAME")
    store.lock()
    sessions = address.access.sessions
    store.session_seconds, store.idle_seconds = sessions.hours * 3_600, sessions.idle_hours * 3_600
    async with client:
        app = App(client, store, queue, address)
        listener = _listen(address.host, address.port)
        port = listener.getsockname()[1]
        host = f"[{address.host}]" if ":" in address.host else address.host
        config = uvicorn.Config(
            _Peers(app),
            proxy_headers=False,
            http=PatientProtocol,
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_keep_alive=30,
            limit_concurrency=_connections(),
            timeout_graceful_shutdown=_GRACE,
        )
        server = _Server(config, app.service)
        accepting = asyncio.Event()

        async def ready() -> None:
            await accepting.wait()
            client.plugins.pipeline()  # wrong settings are an error now, not with every run
            _check_vector_store(client)
            app.service.check_models()
            app.service.documents.check_folders()
            app.service.ready = True
            started(Running(f"http://{host}:{port}", server.end))
            app.service.dispatcher = await dispatcher_of(client)
            tasks = [
                asyncio.create_task(_delete_old(app.service), name="keep"),
                asyncio.create_task(app.service.documents.follow_folders(), name="folders"),
            ]
            if app.service.dispatcher:
                submitting = submit_orders(app.service.active, app.service.dispatcher, address.limits.at_once)
                tasks.append(asyncio.create_task(submitting, name="orders"))
            try:
                await (work() if work else app.service.closing.wait())
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.wait(tasks)

        server.when_started = accepting.set
        working = asyncio.create_task(ready(), name="work")
        working.add_done_callback(lambda _: None if server.should_exit else server.end())  # a second end is forcible
        try:
            await server.serve(sockets=[listener])
        finally:
            working.cancel()
            await asyncio.wait({working})
        if not working.cancelled():
            working.result()


def _check_vector_store(client: Client) -> None:
    """Raise `UsageError` for a vector store in a folder that other processes or machines need and cannot open."""
    settings = client.knowledge.settings
    name, plugins = settings.knowledge.store, dict(settings.plugins)
    database = getattr(plugins.get(settings.knowledge.base), "database", None)
    if database and hasattr(plugins.get(name), "folder") and not getattr(plugins.get(name), "url", ""):
        raise UsageError(
            f"knowledge.store: {name} keeps vectors in the folder of one machine, and several keep documents in "
            f'plugins.{settings.knowledge.base}.database: set knowledge.store = "qdrant" and plugins.qdrant.url'
        )
    if getattr(plugins.get(name), "url", None) == "":
        raise UsageError(
            f"knowledge.store: {name} without an address belongs to one process, and a server has several: set "
            f"plugins.{name}.url, such as --set plugins.{name}.url=http://127.0.0.1:6333, or --set knowledge.store=flat"
        )


class _Peers:
    """Notes the address that connected before what a proxy says replaces it."""

    def __init__(self, app: ASGIApp) -> None:
        trusted = os.environ.get("FORWARDED_ALLOW_IPS", "127.0.0.1")
        self._app: Any = ProxyHeadersMiddleware(app, trusted)  # type: ignore[arg-type]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a connection on."""
        if scope.get("client"):
            scope[PEER] = scope["client"][0]
        await self._app(scope, receive, send)


async def _delete_old(service: Service) -> None:
    """Delete the runs that are older than the settings say, now and every hour."""
    while days := service.client.plugins.settings.runs.keep_days:
        try:
            await service.delete_old(days)
        except (LeadlineError, OSError):
            log.exception("old runs cannot be deleted now")
        await asyncio.sleep(3600)


def _connections() -> int:
    """Raise the limit of open files as far as the system allows; return how many connections fit into it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = _FILES if hard == resource.RLIM_INFINITY else min(hard, _FILES)
    if soft != resource.RLIM_INFINITY and soft < limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    return max(50, limit - _OWN_FILES)


def _listen(host: str, port: int) -> socket.socket:
    """Return a listening socket. Raises `UsageError`."""
    try:
        family, kind, protocol, _, name = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(name)
            listener.listen(1024)
        except OSError:
            listener.close()
            raise
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"cannot listen on {host}, port {port}: {reason}; choose others with --host, --port") from None
    return listener


class _Server(uvicorn.Server):
    """A server that ends its streams first, and leaves signals to the event loop."""

    when_started: Callable[[], object] = staticmethod(lambda: None)

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service
        logging.getLogger("uvicorn.error").setLevel(logging.ERROR)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle SIGINT and SIGTERM while the server runs."""
        loop = asyncio.get_running_loop()
        handled = _SIGNALS if threading.current_thread() is threading.main_thread() else ()
        for number in handled:
            loop.add_signal_handler(number, self.end)
        try:
            yield
        finally:
            for number in handled:
                loop.remove_signal_handler(number)

    def end(self) -> None:
        """End the server; a second time, without waiting for replies."""
        self.force_exit = self.should_exit
        self.should_exit = True
        self._service.closing.set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and say so."""
        await super().startup(sockets)
        self.when_started()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams, then the connections."""
        self._service.closing.set()
        await super().shutdown(sockets)
