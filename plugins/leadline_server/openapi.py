"""The OpenAPI document, written from the table of routes and the records."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from leadline import __version__
from leadline_server.endpoint import EVENTS, FILE, Endpoint

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
    modes = sorted(set(modes), key=lambda mode: mode[0].__name__)
    refs, definitions = models_json_schema(modes, ref_template="#/components/schemas/{model}")
    schemas = {model: refs[model, mode] for model, mode in modes}
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


def _operation(route: Endpoint, schemas: dict[type[BaseModel], Any]) -> dict[str, Any]:
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
        operation["requestBody"] = {"required": _has_required(route.body), "content": content}
    return operation


def _content(route: Endpoint, schemas: dict[type[BaseModel], Any]) -> dict[str, Any]:
    if isinstance(route.reply, str):
        kind = {FILE: {"type": "string", "format": "binary"}, EVENTS: {"type": "string"}, _JSON: {"type": "object"}}
        return {route.reply.partition(";")[0]: {"schema": kind.get(route.reply, {"type": "string"})}}
    return {_JSON: {"schema": schemas[route.reply]}}


def _parameters(route: Endpoint) -> Iterator[dict[str, Any]]:
    text = {"type": "string"}
    for name in _PARAMETER.findall(route.path):
        yield {"name": name, "in": "path", "required": True, "schema": text}
    for location, parameters in (("query", route.query), ("header", route.headers)):
        for name, about in parameters.items():
            yield {"name": name, "in": location, "required": False, "description": about, "schema": text}


def _has_required(model: type[BaseModel]) -> bool:
    return any(field.is_required() for field in model.model_fields.values())
