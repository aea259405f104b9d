"""The routes beside runs: settings, plugins, previews, sessions of browsers, health and metrics."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from leadline.records import Record
from leadline_server.access import COOKIE, Identity, keep_session
from leadline_server.endpoint import ANY_JSON, PLAIN, Endpoint
from leadline_server.problems import Problem
from leadline_server.prometheus import (
    DISK_BYTES,
    DISK_FREE,
    QUEUE_AGE,
    QUEUE_DEPTH,
    QUEUE_UP,
    RUNS_ACTIVE,
    STREAMS_OPEN,
    WORKERS,
)
from leadline_server.queue import QueueUnavailable
from leadline_server.queue.records import unavailable
from leadline_server.remedies import record_for_readers
from leadline_server.requests import ALLOWED, LOWERED, Login, read
from leadline_server.service import Service, identity_of
from leadline_server.views import Done, Health, PluginsView, SettingsView, Who

# Seconds that a probe waits for the queue.
_PATIENCE = 3.0


class InfoRoutes:
    """The handlers of everything that is not about a run."""

    def __init__(self, service: Service, document: Callable[[], dict[str, Any]]) -> None:
        self._service, self._client = service, service.client
        self._document = document

    def endpoints(self) -> list[Endpoint]:
        """Return the routes."""
        return [
            Endpoint("GET", "/v1/plugins", self.plugins, PluginsView),
            Endpoint("GET", "/v1/settings", self.settings, SettingsView),
            Endpoint("GET", "/v1/explain", self.explain, ANY_JSON),
            Endpoint("GET", "/v1/estimate", self.estimate, ANY_JSON, query={"question": "the question"}),
            Endpoint("POST", "/v1/session", self.log_in, Who, Login),
            Endpoint("GET", "/v1/session", self.who, Who),
            Endpoint("DELETE", "/v1/session", self.log_out, Done),
            Endpoint("GET", "/healthz", self.health, Health),
            Endpoint("GET", "/readyz", self.readiness, Health, errors=(503,)),
            Endpoint("GET", "/metrics", self.metrics, PLAIN),
            Endpoint("GET", "/openapi.json", self.openapi, ANY_JSON),
        ]

    async def settings(self, request: Request) -> SettingsView:
        """Return every setting with its origin, without secrets."""
        changeable = tuple(dict.fromkeys((*ALLOWED, *LOWERED)))
        return SettingsView(settings=self._client.describe_settings(), changeable=changeable)

    async def plugins(self, request: Request) -> PluginsView:
        """Return the installed plugins, and what they lack."""
        plugins = await asyncio.to_thread(self._client.describe_plugins)
        return PluginsView(plugins=tuple(record_for_readers(plugin, "lacks") for plugin in plugins))

    async def explain(self, request: Request) -> Record:
        """Return the plan of a run, without any call."""
        return self._client.explain()

    async def estimate(self, request: Request) -> Record:
        """Return the likely calls, tokens and cost of a run, without any call."""
        return await self._client.estimate(request.query_params.get("question", "")[:20_000])

    # --- sessions ----------------------------------------------------------------------------------------------------

    async def log_in(self, request: Request) -> Response:
        """Exchange a token for the cookie of a browser."""
        body = await read(request, Login, self._service.limits.body)
        token, session = await self._service.log_in(body.token, request)
        identity = Identity(token.principal, token.role)
        reply = JSONResponse(self._who(identity).model_dump())
        keep_session(request, reply, session, self._service.store.session_seconds)
        return reply

    async def who(self, request: Request) -> Who:
        """Return who sends the request, and what it may do."""
        return self._who(identity_of(request))

    def _who(self, identity: Identity) -> Who:
        models = tuple(self._service.models(identity))
        return Who(principal=identity.principal, role=identity.role, models=models)

    async def log_out(self, request: Request) -> Response:
        """End the session of a browser."""
        await self._service.log_out(request.state.identity)
        reply = JSONResponse({"ok": True})
        reply.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
        return reply

    # --- operation ---------------------------------------------------------------------------------------------------

    async def health(self, request: Request) -> Health:
        """Tell that the process is alive."""
        return Health(status="ok")

    async def readiness(self, request: Request) -> Health:
        """Tell whether new runs are accepted, and somebody works on them."""
        if self._service.closing.is_set():
            raise Problem(503, "closing", "the server is shutting down", headers={"Retry-After": "5"})
        if not self._service.ready:
            raise Problem(503, "starting", "the server is starting", headers={"Retry-After": "1"})
        self._service.check_disk()
        workers = await self._workers()  # raises if the queue does not answer
        if not workers and self._service.dispatcher is None:  # else the dispatcher alone knows them
            later = {"Retry-After": "5"}
            raise Problem(503, "no_workers", "no worker takes runs; they wait in the queue", headers=later)
        return Health(status="ready")

    async def metrics(self, request: Request) -> Response:
        """Return the metrics of the server and of the runs that ended, in the text format of Prometheus."""
        active = self._service.active
        depth, age = active.waiting()
        size, free = self._service.disk()
        try:
            workers, answers = await self._workers(), True
        except QueueUnavailable:
            workers, answers = 0, False
        gauges = {
            RUNS_ACTIVE: active.claimed(),
            QUEUE_DEPTH: depth,
            QUEUE_AGE: age,
            QUEUE_UP: answers,
            WORKERS: workers,
            STREAMS_OPEN: self._service.streams.total(),
            DISK_BYTES: size,
            DISK_FREE: free,
        }
        page, media_type = self._service.metrics.page(gauges)
        return Response(page, media_type=media_type)

    async def _workers(self) -> int:
        """Return how many workers are alive; of a dispatcher, how many have a run.

        Raises `QueueUnavailable`, also if the queue takes too long to answer.
        """
        try:
            async with asyncio.timeout(_PATIENCE):
                beating = await asyncio.to_thread(self._service.queue.workers)
                return len(beating or {run.worker for run in self._service.active.all() if run.worker})
        except TimeoutError:
            raise unavailable("of the server", f"it did not answer within {_PATIENCE:g} s") from None

    async def openapi(self, request: Request) -> Response:
        """Return the description of all routes."""
        return JSONResponse(self._document())
