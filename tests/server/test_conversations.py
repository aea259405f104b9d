"""Conversations over HTTP: a run follows another, and what new questions remember is listed and forgotten."""

from __future__ import annotations

import json

import httpx
from tests.server.conftest import QUESTION, Served, finish, order


def test_a_run_follows_the_last_one_of_its_conversation(http: httpx.Client, served: Served) -> None:
    first = order(http, QUESTION, conversation="harbours")
    finish(http, first)
    second = order(http, "And how was it measured there?", conversation="harbours")
    view = finish(http, second)
    assert (view["conversation"], view["follows"]) == ("harbours", first)
    stored = json.loads((served.folder / "runs" / second / "conversation.json").read_text())
    assert [turn["run_id"] for turn in stored["turns"]] == [first]
    listed = http.get("/v1/runs", params={"conversation": "harbours"}).json()["runs"]
    assert {run["id"]: run["follows"] for run in listed} == {first: "", second: first}


def test_a_run_is_named_by_the_one_that_follows_it(http: httpx.Client, done: str) -> None:
    view = finish(http, order(http, "And how was it measured there?", follows=done))
    assert (view["conversation"], view["follows"]) == (done, done)
    other = http.post("/v1/runs", json={"question": QUESTION, "follows": done, "conversation": "other"})
    assert other.status_code == 422, other.text
    assert "is in the conversation" in other.json()["message"]
    unknown = http.post("/v1/runs", json={"question": QUESTION, "follows": "00000000_20260101_000000"})
    assert unknown.status_code == 422
    message = "follows: there is no such run"
    assert unknown.json() == {"code": "invalid_request", "message": message, "hint": "GET /v1/runs lists the runs"}


def test_an_active_run_is_not_followed_but_its_request_may_be_repeated(http: httpx.Client, served: Served) -> None:
    body, key = {"question": "Which lighthouse?", "conversation": "lights"}, {"Idempotency-Key": "once"}
    with served.gate.closed():
        first = http.post("/v1/runs", json=body, headers=key).json()["id"]
        assert http.post("/v1/runs", json=body, headers=key).json()["id"] == first
        refused = http.post("/v1/runs", json=body)
        assert refused.status_code in (409, 422), refused.text
        assert "follow it up when it has ended" in refused.json()["message"]
        http.post(f"/v1/runs/{first}/cancel")
    finish(http, first)
    assert http.post("/v1/runs", json=body, headers=key).json()["id"] == first


def test_memory_is_listed_and_forgotten(http: httpx.Client, done: str) -> None:
    assert done in [run["id"] for run in http.get("/v1/memory").json()["runs"]]
    assert http.delete(f"/v1/memory/{done}").status_code == 200
    assert done not in [run["id"] for run in http.get("/v1/memory").json()["runs"]]
    assert http.get(f"/v1/runs/{done}").status_code == 200
    assert http.delete("/v1/memory/00000000_20260101_000000").status_code == 404
    finish(http, order(http, QUESTION))
    assert http.delete("/v1/memory").status_code == 200
    assert http.get("/v1/memory").json()["runs"] == []
