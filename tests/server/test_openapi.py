"""The OpenAPI document describes every route, and every reply is as it says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, get_args

import httpx
import pytest
from pydantic import BaseModel
from tests.server.conftest import QUESTION, Served, finish, order
from tests.server.page.conftest import Browser, browser_of

import leadline
from leadline.events import DATA
from leadline_server.app import App, event_records, openapi_path
from leadline_server.endpoint import Endpoint
from leadline_server.queue import open_queue
from leadline_server.store import Store


@pytest.fixture(scope="module")
def routes(tmp_path_factory: pytest.TempPathFactory) -> list[Endpoint]:
    folder: Path = tmp_path_factory.mktemp("app") / "runs"
    store, queue = Store(folder), open_queue("", folder)
    try:
        return App(leadline.Client(folder=folder), store, queue).endpoints
    finally:
        queue.close()
        store.close()


@pytest.fixture
def browser(served: Served) -> Browser:
    return browser_of(served)


@pytest.fixture(scope="module")
def document(served: Any) -> dict[str, Any]:
    reply = httpx.get(f"{served.url}/openapi.json", trust_env=False)
    found: dict[str, Any] = reply.json()
    return found


def test_it_has_exactly_the_routes(document: dict[str, Any], routes: list[Endpoint]) -> None:
    described = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert described == {(route.method, openapi_path(route.path)) for route in routes}


def test_it_describes_every_route(document: dict[str, Any]) -> None:
    operations = [one for methods in document["paths"].values() for one in methods.values()]
    assert all(one["summary"].endswith(".") for one in operations)
    assert len({one["operationId"] for one in operations}) == len(operations)
    text = str(document)
    names = set(re.findall(r"#/components/schemas/(\w+)", text))
    assert names == {*document["components"]["schemas"]} & names
    assert names


def _checked(model: type[BaseModel], reply: httpx.Response) -> Any:
    """Check that a reply has exactly the fields of its record."""
    data = reply.json()
    assert model.model_validate(data).model_dump(mode="json") == data
    return data


def test_real_replies_are_as_described(http: httpx.Client, routes: list[Endpoint], done: str) -> None:
    evidence = http.get(f"/v1/runs/{done}/files/report.json").json()["evidence"][0]["id"]
    started = http.post("/v1/runs", json={"question": QUESTION})
    run = _checked(_reply(routes, "POST", "/v1/runs"), started)["id"]
    finish(http, run)
    _checked(_reply(routes, "POST", "/v1/runs/{run_id}/share"), http.post(f"/v1/runs/{run}/share", json={}))
    bodies: dict[str, Any] = {
        "/v1/runs/{run_id}/resume": {},
        "/api/research/start": {"question": QUESTION},
    }
    queries = {"/v1/compare": {"a": done, "b": done}, "/api/research/status": {"task_id": done}}
    queries["/v1/knowledge/search"] = {"q": "pier"}
    added = http.post("/v1/knowledge?name=pier.md", content=b"# Pier\n\nThe pier is of oak.\n")
    document = _checked(_reply(routes, "POST", "/v1/knowledge"), added)["documents"][0]["id"]
    queries["/v1/admin/runs"] = {"user": "alice"}
    checked = 0
    for route in routes:
        if not isinstance(route.reply, type) or (route.method != "GET" and route.path not in bodies):
            continue
        path = route.path.format(run_id=run, evidence_id=evidence, task_id=run, document_id=document)
        if "evidence" in path:
            path = path.replace(run, done)
        reply = http.request(route.method, path, json=bodies.get(route.path), params=queries.get(route.path))
        assert reply.status_code == route.status, (path, reply.text)
        data = _checked(route.reply, reply)
        checked += 1
        if route.method == "POST":
            finish(http, data.get("id") or data["task_id"])
    assert checked >= 12
    http.delete(f"/v1/knowledge/{document}?purge=1")  # the server is that of other tests
    _checked(_reply(routes, "DELETE", "/v1/runs/{run_id}"), http.delete(f"/v1/runs/{run}"))


def _reply(routes: list[Endpoint], method: str, path: str) -> type[BaseModel]:
    reply = next(route.reply for route in routes if (route.method, route.path) == (method, path))
    assert isinstance(reply, type)
    return reply


def test_every_event_has_the_data_of_its_kind(http: httpx.Client, served: Served) -> None:
    records: dict[str, Any] = {
        get_args(record.model_fields["kind"].annotation)[0]: record for record in event_records()
    }
    with served.gate.closed():
        run = order(http, f"{QUESTION} schemas")
        with http.stream("GET", f"/v1/runs/{run}/events?deltas=1") as reply:
            served.gate.is_open.set()
            lines = [line.removeprefix("data: ") for line in reply.iter_lines() if line.startswith("data: ")]
    kinds = set()
    for event in map(json.loads, lines):
        kinds.add(event["kind"])
        checked = records[event["kind"]].model_validate(event).model_dump(mode="json")
        assert checked["data"] == event["data"]
    assert {"run.started", "progress", "query", "found", "source", "call.started", "call.finished"} <= kinds
    page = Path(__file__).parents[2] / "docs" / "reference" / "events.md"
    assert set(re.findall(r"^\| `([\w.]+)` \| `(\w+)` \|$", page.read_text(), re.MULTILINE)) == {
        (kind, data.__name__) for kind, data in DATA.items()
    }


def test_the_page_of_the_api_has_every_route_and_record(browser: Browser, document: dict[str, Any]) -> None:
    page = browser.open("/docs")
    routes = {" ".join(item.text().split()) for item in page.css("summary code")}
    assert routes == {f"{method.upper()} {path}" for path, methods in document["paths"].items() for method in methods}
    targets = {item.attributes["href"] for item in page.css("details a")}
    assert targets == {f"#{name}" for name in document["components"]["schemas"]} & targets
    assert {item.attributes["id"] for item in page.css("details p[id]")} == {*document["components"]["schemas"]}
    assert "contentSchema" in str(document["paths"]["/v1/runs/{run_id}/events"])


def test_every_error_is_described(http: httpx.Client, document: dict[str, Any], routes: list[Endpoint]) -> None:
    unknown = "00000000_20260101_000000"
    problems = {(route.method.lower(), openapi_path(route.path)): route.problem for route in routes}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if "{" not in path:
                continue
            where = re.sub(r"\{(run_id|task_id)\}", unknown, path).replace("{name}", "x").replace("{evidence_id}", "x")
            reply = http.request(method, where, json={"question_id": "x"} if "answers" in path else None)
            assert str(reply.status_code) in operation["responses"], (method, path, reply.text)
            _checked(problems[method, path], reply)
