"""A route as data, from which the application and its OpenAPI document are made."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel
from starlette.requests import Request

from leadline_server.problems import ProblemBody

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
