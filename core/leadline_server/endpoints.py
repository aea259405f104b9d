"""All routes in one table, from which the application and its OpenAPI document are made."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel
from starlette.requests import Request

from leadline.comparison import Comparison
from leadline.records import AddedDocuments, DocumentList, Passages
from leadline_server.info_routes import InfoRoutes
from leadline_server.knowledge_routes import KnowledgeRoutes
from leadline_server.openai.requests import ChatRequest
from leadline_server.openai.routes import OpenAIRoutes
from leadline_server.problems import OpenAIProblem, ProblemBody
from leadline_server.requests import Login, NewAnswer, NewRun, Reason, Resume
from leadline_server.run_routes import RunRoutes
from leadline_server.short_routes import NewTask, ShortRoutes
from leadline_server.views import (
    Accepted,
    Done,
    EvidenceView,
    Health,
    PluginsView,
    RunPage,
    RunView,
    SettingsView,
    TaskStarted,
    TaskStatus,
    Who,
)

FILE, EVENTS, ANY_JSON, PLAIN = "*/*", "text/event-stream", "application/json", "text/plain"


@dataclass(frozen=True)
class Endpoint:
    """A route: its handler and what it takes and returns.

    `reply` is a record, or the media type of something else; `query` and `headers` are optional parameters with their
    descriptions; `errors` the statuses of its errors beside those that every route has, and `problem` their form.
    """

    method: str
    path: str
    handler: Callable[[Request], Awaitable[Any]]
    reply: type[BaseModel] | str
    body: type[BaseModel] | None = None
    status: int = 200
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    errors: tuple[int, ...] = ()
    problem: type[BaseModel] = ProblemBody
    upload: bool = False
    """True if the body is a file."""


def endpoints(
    runs: RunRoutes, info: InfoRoutes, short: ShortRoutes, openai: OpenAIRoutes, knowledge: KnowledgeRoutes
) -> list[Endpoint]:
    """Return all routes."""
    run = "/v1/runs/{run_id}"
    pages = {
        "q": "words that must all occur in the question, the tags or the report; the best runs come first",
        "status": "only runs with this status",
        "tag": "only runs with this tag: KEY or KEY=VALUE",
        "conversation": "only the runs of this conversation",
        "after": "only runs after this id in the list",
        "limit": "at most so many runs: 1 to 500",
    }
    once = {"Idempotency-Key": "a text of your own: a request that is repeated with it starts no second run"}
    return [
        Endpoint("POST", "/v1/runs", runs.order, Accepted, NewRun, 202, headers=once, errors=(403,)),
        Endpoint("GET", "/v1/runs", runs.list_, RunPage, query=pages, errors=(422,)),
        Endpoint("GET", "/v1/memory", runs.memory, RunPage),
        Endpoint("DELETE", "/v1/memory", runs.forget_all, Done),
        Endpoint("DELETE", "/v1/memory/{run_id}", runs.forget, Done, errors=(404,)),
        Endpoint("GET", run, runs.show, RunView, errors=(404,)),
        Endpoint("DELETE", run, runs.delete, Done, errors=(404, 409)),
        Endpoint(
            "GET",
            f"{run}/events",
            runs.events,
            EVENTS,
            query={
                "after": "the number of the last event received",
                "deltas": "1: also the text that is being written, as events `call.delta` without an id",
            },
            headers={"Last-Event-ID": "the same, as browsers send it"},
            errors=(404, 422),
        ),
        Endpoint("POST", f"{run}/answers", runs.answer, Done, NewAnswer, errors=(404, 409)),
        Endpoint("POST", f"{run}/stop", runs.stop, Done, Reason, errors=(404, 409)),
        Endpoint("POST", f"{run}/cancel", runs.cancel, Done, Reason, errors=(404, 409)),
        Endpoint("POST", f"{run}/resume", runs.resume, Accepted, Resume, 202, errors=(404, 409)),
        Endpoint(
            "GET",
            f"{run}/files/{{name:path}}",
            runs.file,
            FILE,
            query={"download": "present: save the file instead of showing it"},
            errors=(404,),
        ),
        Endpoint(
            "GET",
            f"{run}/evidence/{{evidence_id}}",
            runs.evidence,
            EvidenceView,
            query={"context": "characters of the source on either side: 0 to 100,000"},
            errors=(404, 409, 422),
        ),
        Endpoint(
            "GET",
            "/v1/compare",
            runs.compare,
            Comparison,
            query={"a": "the id of a run", "b": "the id of another run"},
            errors=(404, 409),
        ),
        *knowledge_endpoints(knowledge),
        Endpoint("GET", "/v1/plugins", info.plugins, PluginsView),
        Endpoint("GET", "/v1/settings", info.settings, SettingsView),
        Endpoint("GET", "/v1/explain", info.explain, ANY_JSON),
        Endpoint("GET", "/v1/estimate", info.estimate, ANY_JSON, query={"question": "the question"}),
        Endpoint("POST", "/v1/session", info.log_in, Who, Login),
        Endpoint("GET", "/v1/session", info.who, Who),
        Endpoint("DELETE", "/v1/session", info.log_out, Done),
        Endpoint("GET", "/healthz", info.health, Health),
        Endpoint("GET", "/readyz", info.readiness, Health, errors=(503,)),
        Endpoint("GET", "/metrics", info.metrics, PLAIN),
        Endpoint("GET", "/openapi.json", info.openapi, ANY_JSON),
        Endpoint("GET", "/v1/models", openai.models, ANY_JSON, problem=OpenAIProblem),
        Endpoint("GET", "/v1/models/{model}", openai.model, ANY_JSON, errors=(404,), problem=OpenAIProblem),
        Endpoint(
            "POST",
            "/v1/chat/completions",
            openai.chat,
            ANY_JSON,
            ChatRequest,
            errors=(404, 500, 503),
            problem=OpenAIProblem,
        ),
        Endpoint("POST", "/api/research/start", short.start, TaskStarted, NewTask),
        Endpoint(
            "GET",
            "/api/research/status",
            short.status,
            TaskStatus,
            query={"task_id": "what start returned"},
            errors=(404,),
        ),
        Endpoint(
            "GET",
            "/api/research/download/{task_id}",
            short.download,
            FILE,
            query={"format": "pdf (the default), docx, markdown, …"},
            errors=(404,),
        ),
    ]


def knowledge_endpoints(knowledge: KnowledgeRoutes) -> list[Endpoint]:
    """Return the routes of the knowledge base."""
    return [
        Endpoint("GET", "/v1/knowledge", knowledge.list_, DocumentList),
        Endpoint(
            "POST",
            "/v1/knowledge",
            knowledge.add,
            AddedDocuments,
            query={"name": "the name of the file, with its ending"},
            errors=(408, 409, 413, 422),
            upload=True,
        ),
        Endpoint("DELETE", "/v1/knowledge/{document_id}", knowledge.remove, Done, errors=(404,)),
        Endpoint(
            "GET",
            "/v1/knowledge/search",
            knowledge.search,
            Passages,
            query={"q": "the question", "limit": "at most so many passages: 1 to 50"},
            errors=(409, 422),
        ),
    ]
