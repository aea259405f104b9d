"""The MCP server over streamable HTTP, behind the access rules of the server: one for each principal and role.

Each has a server of its own with its own sessions and keys, so the session of another one does not exist for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from leadline_server.problems import Problem, problem_of
from leadline_server.requests import read_body
from leadline_server.service import Service, identity_of
from leadline_server.store import Role

PATH = "/mcp"
METHODS = ("GET", "POST", "DELETE")  # others would each become a label of a metric
# Sessions of one principal. Those of a client that was killed end after 30 minutes.
_SESSIONS = 64
# Seconds in which calls in flight return the id of their run when the server shuts down.
_LEAVE = 1.0


class McpEndpoint:
    """The ASGI application at `/mcp`. The SDK is imported by the first request: that takes as long as all the rest."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._managers: dict[tuple[str | None, Role], Any] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._making = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        request, service = Request(scope, receive), self._service
        try:
            if find_spec("mcp") is None:
                raise Problem(
                    501,
                    "not_installed",
                    "this server has no MCP endpoint: the package mcp is missing",
                    "the operator installs leadline[mcp]",
                )
            identity, status = identity_of(request), _Status(send)
            if request.method == "POST":
                receive = _again(await read_body(request, service.limits.body), receive)
            with service.streams.taken(identity.principal):
                manager = await self._manager(identity.principal, identity.role)
                await manager.handle_request(scope, receive, status)
            code = status.code
        except Problem as problem:
            await problem.response()(scope, receive, send)
            code = problem.status
        service.metrics.add_request(request.method, PATH, code)

    async def close(self) -> None:
        """Return when the sessions have ended, which they do once the service closes."""
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _manager(self, principal: str | None, role: Role) -> Any:
        async with self._making:
            if self._service.closing.is_set():
                raise Problem(503, "closing", "the server is shutting down", headers={"Retry-After": "5"})
            if (principal, role) not in self._managers:
                make = await asyncio.to_thread(_import)
                manager, started = make(self._service, principal, role), asyncio.Event()
                task = asyncio.create_task(self._run(manager, started), name="MCP sessions")
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
                await started.wait()
                self._managers[principal, role] = manager
            return self._managers[principal, role]

    async def _run(self, manager: Any, started: asyncio.Event) -> None:
        async with manager.run():
            started.set()
            await self._service.closing.wait()
            await asyncio.sleep(_LEAVE)


class _Status:
    """A `send` that knows the status of the reply."""

    code = 499  # the client left before there was one

    def __init__(self, send: Send) -> None:
        self._send = send

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.code = message["status"]
        await self._send(message)


def _again(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that begins with a body that was read already."""
    bodies = [body]

    async def read() -> Message:
        if bodies:
            return {"type": "http.request", "body": bodies.pop(), "more_body": False}
        return await receive()

    return read


def _import() -> Callable[[Service, str | None, Role], Any]:
    """Return the function that makes the sessions of a principal."""
    from mcp.server.transport_security import TransportSecuritySettings

    from leadline_server.mcp.runs import Runs
    from leadline_server.mcp.tools import make_server

    def make(service: Service, principal: str | None, role: Role) -> Any:
        runs = Runs(service, principal, service.closing.is_set, only_reads=role == "reader")
        server = make_server(runs, words=lambda error: problem_of(error).body.message)
        server.streamable_http_app(
            max_request_body_size=service.limits.body,
            max_sessions=_SESSIONS,
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # `Access` does it
        )
        return server.session_manager

    return make
