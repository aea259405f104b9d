"""Ways around the list of settings that a request may change."""

from __future__ import annotations

from typing import Any

import pytest
from tests.server.attacks.conftest import Target

BYPASSES: list[dict[str, Any]] = [
    {"runs.folder": "/tmp"},
    {"plugins.web.allow": ["127.0.0.1"]},
    {"plugins.house": {"use": "mcp", "command": "/bin/sh", "args": ["-c", "id"]}},
    {"plugins.house.command": "/bin/sh"},
    {"plugins.openai.base_url": "http://169.254.169.254"},
    {"plugins.openai.api_key": "x"},
    {"plugins.python.sandbox": "none"},
    {"sandbox.providers": ["local"]},
    {"search.engines": ["house"]},
    {"search.folders": ["/etc"]},
    {"pipelines.x": {"stages": ["write"]}},
    {"pipelines": {}},
    {"pipeline": "research"},
    {"research": {"max_queries": 1_000_000}},
    {"budget": {"money": 1_000_000}},
    {"Research.max_queries": 1},
    {"research.max_queries ": 1},
    {"research..max_queries": 1},
    {"research.max_queries.x": 1},
    {"research․max_queries": 1},
    {"research.max_queries": 10**30},
    {"research.max_queries": -1},
    {"research.max_queries": True},
    {"research.max_queries": "1000000"},
    {"research.max_queries": [1]},
    {"research.max_queries": {"$set": 1}},
    {"budget.money": 1e308},
    {"budget.money": "1e9"},
    {"budget.seconds": None},
    {"report.formats": ["../../x"]},
    {"report.template": "/etc/passwd"},
    {"__class__": 1},
    {"settings": "/tmp/evil.toml"},
    {"middleware": []},
    {"observers": []},
    {"cache.folder": "/tmp"},
    {"verify.judges": []},
    {"ai.providers": ["openai"]},
]


@pytest.mark.parametrize("values", BYPASSES, ids=[next(iter(one)) for one in BYPASSES])
def test_a_request_changes_no_other_setting(attacked: Target, values: dict[str, Any]) -> None:
    alice = attacked.served.client("alice")
    before = alice.get("/v1/runs", params={"limit": 500}).json()["runs"]
    reply = alice.post("/v1/runs", json={"question": "How deep?", "set": values})
    assert reply.status_code in (403, 422), reply.text
    assert "Traceback" not in reply.text
    assert len(alice.get("/v1/runs", params={"limit": 500}).json()["runs"]) == len(before)


OPERATORS = (
    "ai.providers cache.model code.sandbox limits.web.at_once middleware observers pipelines.mine.stages "
    "plugins.local.folders plugins.openai.base_url prompts.plan report.citation_style runs.folder search.engines"
)


@pytest.mark.parametrize("key", OPERATORS.split())
def test_a_setting_of_the_operator_is_refused_whatever_its_value(attacked: Target, key: str) -> None:
    reply = attacked.served.client("alice").post("/v1/runs", json={"question": "a?", "set": {key: "x"}})
    assert (reply.status_code, reply.json()["code"]) == (403, "setting_not_allowed")


@pytest.mark.parametrize("path", ["/api/research/start", "/v1/chat/completions"])
def test_other_routes_take_no_settings(attacked: Target, path: str) -> None:
    alice = attacked.served.client("alice")
    messages = [{"role": "user", "content": "How deep?"}]
    body: dict[str, Any] = {"question": "How deep?"}
    if "chat" in path:
        body = {"model": "leadline-research", "messages": messages, "leadline": {"set": {"runs.folder": "/tmp"}}}
    before = alice.get("/v1/runs", params={"limit": 500}).json()["runs"]
    reply = alice.post(path, json=body | {"set": {"runs.folder": "/tmp"}})
    assert reply.status_code in (400, 403, 422), reply.text
    assert len(alice.get("/v1/runs", params={"limit": 500}).json()["runs"]) == len(before)


@pytest.mark.parametrize("name", ["../../x", "/etc/passwd", "nosuch", "research.toml", "", " ", "__init__"])
def test_formats_and_pipelines_are_names(attacked: Target, name: str) -> None:
    alice = attacked.served.client("alice")
    reply = alice.post("/v1/runs", json={"question": "How deep?", "formats": [name]})
    assert reply.status_code == 422, reply.text
    if name:
        reply = alice.post("/v1/runs", json={"question": "How deep?", "pipeline": name})
        assert reply.status_code == 422, reply.text
