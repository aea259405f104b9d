"""The application: routes behind the access rules, over one client."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from functools import cache
from typing import Any, Literal

from pydantic import BaseModel, Field, create_model, model_validator
from pydantic.json_schema import JsonSchemaMode, models_json_schema
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from leadline import Client, __version__
from leadline.errors import LeadlineError
from leadline.events import DATA
from leadline.records import Event, Record
from leadline_server.access import Access
from leadline_server.admin import AdminRoutes
from leadline_server.downloads import ENDINGS, Downloads
from leadline_server.endpoint import EVENTS, FILE, Endpoint
from leadline_server.info_routes import InfoRoutes
from leadline_server.knowledge_routes import KnowledgeRoutes
from leadline_server.limits import Address, Rate
from leadline_server.mcp.http import METHODS, PATH, McpEndpoint
from leadline_server.openai.routes import OpenAIRoutes
from leadline_server.page.pages import Pages
from leadline_server.problems import Problem, problem_of
from leadline_server.queue import Queue
from leadline_server.requests import Long, Name, RequestBody, order, read
from leadline_server.run_routes import RunRoutes, required
from leadline_server.service import SESSION_FINISHED, Service, principal_of
from leadline_server.store import Store
from leadline_server.views import TaskStarted, TaskStatus

_PARAMETER = re.compile(r"\{(\w+)(?::\w+)?\}")
# Errors that every route may have: of the access rules, and of limits.
_EVERYWHERE = (401, 403, 421, 429)
# Errors of routes with a body.
_OF_BODIES = (400, 408, 413, 415, 422)
_JSON = "application/json"


def openapi_path(path: str) -> str:
    """Return the path of a route as OpenAPI writes it."""
    return _PARAMETER.sub(r"{\1}", path)


def document(endpoints: Iterable[Endpoint]) -> dict[str, Any]:
    """Return the OpenAPI document of routes."""
    routes = list(endpoints)
    replies = {route.problem for route in routes}
    replies |= {route.reply for route in routes if isinstance(route.reply, type)}
    modes: list[tuple[type[BaseModel], JsonSchemaMode]] = [(model, "serialization") for model in replies]
    modes += [(route.body, "validation") for route in routes if route.body]
    events = event_records()
    modes = [*sorted(set(modes), key=lambda mode: mode[0].__name__), *((event, "serialization") for event in events)]
    refs, definitions = models_json_schema(modes, ref_template="#/components/schemas/{model}")
    schemas: dict[Any, Any] = {model: refs[model, mode] for model, mode in modes}
    schemas[EVENTS] = {"oneOf": [schemas[event] for event in events]}
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        operations = paths.setdefault(openapi_path(route.path), {})
        operations[route.method.lower()] = _operation(route, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Leadline",
            "version": __version__,
            "description": "Deep research with citations that are checked against the cited passages.",
        },
        "paths": paths,
        "components": {
            "schemas": definitions.get("$defs", {}),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def event_records() -> list[type[BaseModel]]:
    """Return a record for the events of each kind, as the stream of a run has them."""
    kinds: dict[str, Any] = {**DATA, SESSION_FINISHED: DATA["run.finished"]}
    literal: Any = Literal
    return [
        create_model(
            f"{kind.title().replace('.', '')}Event",
            __base__=Event,
            __doc__=data.__doc__,
            kind=(literal[kind], ...),
            data=(data, ...),
        )
        for kind, data in kinds.items()
    ]


def _operation(route: Endpoint, schemas: dict[Any, Any]) -> dict[str, Any]:
    problem = {"content": {_JSON: {"schema": schemas[route.problem]}}}
    codes = sorted({*_EVERYWHERE, *route.errors, *(_OF_BODIES if route.body else ())})
    operation: dict[str, Any] = {
        "operationId": f"{route.method.lower()}_{re.sub(r'[^a-z0-9]+', '_', openapi_path(route.path)).strip('_')}",
        "summary": (route.handler.__doc__ or "").strip().partition("\n")[0],
        "parameters": list(_parameters(route)),
        "responses": {
            str(route.status): {"description": "done", "content": _content(route, schemas)},
            **{str(code): {"description": "an error", **problem} for code in codes},
        },
    }
    if route.upload:
        content = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
        operation["requestBody"] = {"required": True, "content": content}
    if route.body:
        content = {_JSON: {"schema": schemas[route.body]}}
        required = any(field.is_required() for field in route.body.model_fields.values())
        operation["requestBody"] = {"required": required, "content": content}
    return operation


def _content(route: Endpoint, schemas: dict[Any, Any]) -> dict[str, Any]:
    if isinstance(route.reply, str):
        event = {"type": "string", "contentMediaType": _JSON, "contentSchema": schemas[EVENTS]}
        kind = {FILE: {"type": "string", "format": "binary"}, EVENTS: event, _JSON: {"type": "object"}}
        return {route.reply.partition(";")[0]: {"schema": kind.get(route.reply, {"type": "string"})}}
    return {_JSON: {"schema": schemas[route.reply]}}


def _parameters(route: Endpoint) -> Iterator[dict[str, Any]]:
    text = {"type": "string"}
    for name in _PARAMETER.findall(route.path):
        yield {"name": name, "in": "path", "required": True, "schema": text}
    for location, parameters in (("query", route.query), ("header", route.headers)):
        for name, about in parameters.items():
            yield {"name": name, "in": location, "required": False, "description": about, "schema": text}


# Formats may be named by the endings of their files.
_FORMATS = {ending: name for name, ending in ENDINGS.items()}


class NewTask(RequestBody):
    """A question, or `query`, and the formats of its report."""

    question: Long = ""
    query: Long = ""
    formats: list[Name] = Field([], max_length=20)

    @model_validator(mode="after")
    def _one(self) -> NewTask:
        if bool(self.question) == bool(self.query):
            raise ValueError("give either question or query")
        return self


class ShortRoutes:
    """The handlers of `/api/research`."""

    def __init__(self, service: Service, downloads: Downloads) -> None:
        self._service, self._downloads = service, downloads

    def endpoints(self) -> list[Endpoint]:
        task, kinds = {"task_id": "what start returned"}, {"format": "pdf (the default), docx, markdown, …"}
        top = "/api/research"
        return [
            Endpoint("POST", f"{top}/start", self.start, TaskStarted, NewTask),
            Endpoint("GET", f"{top}/status", self.status, TaskStatus, query=task, errors=(404, 422)),
            Endpoint("GET", f"{top}/download/{{task_id}}", self.download, FILE, query=kinds, errors=(404, 409)),
        ]

    async def start(self, request: Request) -> TaskStarted:
        """Start a run; `task_id` is its id."""
        body = await read(request, NewTask, self._service.limits.body)
        new = order(question=body.question or body.query, formats=body.formats)
        return TaskStarted(task_id=await self._service.order(new, principal_of(request)), status="pending")

    async def status(self, request: Request) -> TaskStatus:
        """Return the state of a run."""
        example = "GET /api/research/status?task_id=ID, with the id that POST /api/research/start returned"
        run_id = required(request.query_params, "task_id", example)
        view = await self._service.view(run_id, principal_of(request))
        ended = [step for step in view.steps if step.status in ("finished", "failed")]
        return TaskStatus(
            task_id=run_id,
            status=view.status,
            step=view.current_step,
            progress=100 if view.ended else min(99, 100 * len(ended) // max(1, len(view.steps))),
            reason=view.reason,
            errors=tuple(error.message for error in view.errors),
            files=view.files,
        )

    async def download(self, request: Request) -> Response:
        """Send the report in a format as a file that is named by the time of its run."""
        wanted = request.query_params.get("format", "pdf").lower()
        run_id, name = request.path_params["task_id"], _FORMATS.get(wanted, wanted)
        return await self._downloads.send(run_id, principal_of(request), name)


class App:
    """A server as an ASGI application. `service` has its parts; `endpoints` its routes with records, `routes` all."""

    def __init__(self, client: Client, store: Store, queue: Queue, address: Address | None = None) -> None:
        address = address or Address()
        guesses = Rate(address.limits.guesses, "too many logins or wrong tokens")
        self.service = Service(client, store, queue, address.limits, guesses, address.access, address.url)
        knowledge, downloads = KnowledgeRoutes(self.service), Downloads(self.service)
        api = cache(lambda: document(self.endpoints))  # made when somebody asks for it: the server starts faster
        info = InfoRoutes(self.service, api)
        short, openai = ShortRoutes(self.service, downloads), OpenAIRoutes(self.service, address.url)
        all_routes = (RunRoutes(self.service), knowledge, info, openai, short, AdminRoutes(self.service))
        self.endpoints = [endpoint for routes in all_routes for endpoint in routes.endpoints()]
        self._mcp, self._pages = McpEndpoint(self.service), Pages(self.service, knowledge, downloads, api)
        starlette = Starlette(
            routes=[*map(self._route, self.endpoints), Route(PATH, self._mcp, methods=METHODS), *self._pages.routes],
            exception_handlers={HTTPException: self._http_error, Exception: self._fault},
            lifespan=self._lifespan,
        )
        starlette.router.redirect_slashes = False
        self.routes = starlette.routes
        self._app = Access(starlette, store, address, guesses, self._shown)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one connection. A final slash makes no other address."""
        if scope["type"] == "http":
            scope = {**scope, "path": scope["path"].rstrip("/") or "/"}
        await self._app(scope, receive, send)

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        await self.service.active.refresh()
        tasks = {
            asyncio.create_task(self.service.active.follow(), name="queue"),
            asyncio.create_task(self.service.notifications.follow(), name="notifications"),
        }
        try:
            yield
        finally:
            self.service.closing.set()
            await self._mcp.close()
            await self._pages.close()
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    def _route(self, endpoint: Endpoint) -> Route:
        return Route(endpoint.path, self._handler(endpoint), methods=[endpoint.method])

    def _handler(self, endpoint: Endpoint) -> Callable[[Request], Any]:
        async def handle(request: Request) -> Response:
            began = time.monotonic()
            try:
                reply = _reply(await endpoint.handler(request), endpoint)
            except Problem as problem:
                reply = problem.response(endpoint.path)
            except LeadlineError as error:
                reply = problem_of(error).response(endpoint.path)
            taken = time.monotonic() - began
            self.service.metrics.add_request(endpoint.method, endpoint.path, reply.status_code, taken)
            return reply

        return handle

    def _shown(self, request: Request, problem: Problem) -> Response:
        return self._pages.problem(request, problem) or problem.response(request.url.path)

    async def _http_error(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        if error.status_code == 405:
            allowed = (error.headers or {}).get("Allow", "")
            problem = Problem(405, "method_not_allowed", f"this address supports {allowed}", "", error.headers or {})
        else:
            problem = Problem(error.status_code, "not_found", "there is no such address", "GET /openapi.json")
        return self._shown(request, problem)

    async def _fault(self, request: Request, _: Exception) -> Response:
        return self._shown(request, Problem(500, "internal", "the server made an error", "its log has the details"))


def _reply(result: Any, endpoint: Endpoint) -> Response:
    if isinstance(result, Response):
        return result
    status, record = result if isinstance(result, tuple) else (endpoint.status, result)
    assert isinstance(record, Record)
    return Response(record.model_dump_json(), status, media_type="application/json")
