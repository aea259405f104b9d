"""Two principals never see each other's runs, events, files, cache, searches or ids."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from tests.server.attacks.conftest import MARK, QUESTION, UNKNOWN, Sent, Target
from tests.server.conftest import events, finish, order

_BODIES: dict[str, Any] = {
    "answers": {"question_id": "x"},
    "runs": {"question": "How deep?", "conversation": ""},
}


def told(reply: Sent, run: str) -> tuple[int, str]:
    """Return status and body without what differs between two replies about nothing."""
    body = reply.body.decode("utf-8", "replace").replace(run, "RUN")
    return reply.status, re.sub(r'(name="form_token" value=|nonce=)"[^"]*"|Request \w{16}<', "", body)


def test_every_route_is_the_same_for_a_run_of_another_as_for_none(attacked: Target) -> None:
    tried = 0
    for route in attacked.routes:
        if not {"run_id", "task_id"} & set(route.names):
            continue
        body = json.dumps(_BODIES.get(route.path.rpartition("/")[2], {})).encode() if route.method == "POST" else None
        found = []
        for run in (attacked.run, UNKNOWN):
            values = attacked.values | {"run_id": run, "task_id": run}
            found.append(told(attacked.send(route.method, route.at(**values), "bob", body), run))
        assert found[0] == found[1], route
        assert found[0][0] == 404 or (route.method in ("POST", "PATCH") and found[0][0] in (403, 415)), route
        assert MARK not in found[0][1], route
        tried += 1
    assert tried >= 10
    assert attacked.send("GET", f"/v1/runs/{attacked.run}").status == 200


@pytest.mark.parametrize("run", ["alice's", "none"])
@pytest.mark.parametrize(
    "path", ["/v1/compare?a={run}&b={run}", "/api/research/status?task_id={run}", "/compare?a={run}&b={run}"]
)
def test_runs_in_queries_are_of_the_principal(attacked: Target, path: str, run: str) -> None:
    asked = attacked.run if run == "alice's" else UNKNOWN
    reply = attacked.send("GET", path.format(run=asked), "bob")
    assert reply.status == 404
    assert MARK.encode() not in reply.body


def test_no_list_search_or_page_shows_a_run_of_another(attacked: Target) -> None:
    for route in attacked.routes:
        if route.method == "GET" and not {"run_id", "task_id"} & set(route.names):
            path = route.at(**attacked.values)
            lists = route.path.endswith("runs")
            for query in ("", f"?q={MARK}", "?q=harbour", f"?tag=mark={MARK}", "?limit=500")[: 5 if lists else 1]:
                body = attacked.send("GET", path + query, "bob").body.decode("utf-8", "replace")
                assert attacked.run not in body, (path, query)
                own = (f'"{MARK}"', f"={MARK}", f"%3D{MARK}", f">{MARK}<")  # what bob asks for
                assert body.count(MARK) == sum(map(body.count, own)), path
    found = attacked.served.client("alice").get("/v1/runs", params={"q": MARK}).json()["runs"]
    assert attacked.run in [one["id"] for one in found]


@pytest.mark.parametrize("field", ["conversation", "follow_up", "parent", "run_id", "principal"])
def test_an_order_names_no_run_of_another(attacked: Target, field: str) -> None:
    bob = attacked.served.client("bob")
    before = bob.get("/v1/runs").json()["runs"]
    replies = [bob.post("/v1/runs", json={"question": "And how wide?", field: run}) for run in (attacked.run, UNKNOWN)]
    for reply in replies:
        assert MARK not in reply.text
        if reply.status_code == 202:  # a conversation of bob's own with that name, in which there is nothing
            view = finish(bob, reply.json()["id"])
            assert MARK not in json.dumps(view)
            files = [bob.get(f"/v1/runs/{view['id']}/files/{name}").text for name in view["files"]]
            assert not any(MARK in text for text in files)
    if replies[0].status_code != 202:
        assert {reply.status_code for reply in replies} <= {404, 422}
        assert len(bob.get("/v1/runs").json()["runs"]) == len(before)


def test_a_tag_of_bob_does_not_join_a_run_of_alice(attacked: Target) -> None:
    """Repetitions by key, and chats of clients of OpenAI's API, are looked up within a principal."""
    ids = set()
    for user in ("alice", "bob"):
        http = attacked.served.client(user)
        key = {"Idempotency-Key": "the same", "X-OpenWebUI-Chat-Id": "the same"}
        ids.add(http.post("/v1/runs", json={"question": QUESTION}, headers=key).json()["id"])
        messages = [{"role": "user", "content": QUESTION}]
        chat = http.post("/v1/chat/completions", json={"model": "leadline-research", "messages": messages}, headers=key)
        assert chat.status_code == 200
        ids.add(chat.headers["x-leadline-run"])
    assert len(ids) == 4


def test_results_that_one_paid_for_are_not_told_to_another(attacked: Target) -> None:
    """The time of a cached reply would tell that somebody had asked the same."""
    origins = []
    for user in ("alice", "bob", "alice"):
        http = attacked.served.client(user)
        told = events(http, order(http, "How many fathoms did the lead line measure in the harbour at the mole?"))
        found = [json.loads(one["data"])["data"] for one in told if one["event"] == "call.finished"]
        origins.append({one.get("from") for one in found})
    assert "cache" not in origins[0] | origins[1]
    assert "cache" in origins[2]


def test_ids_cannot_be_guessed(attacked: Target) -> None:
    """The part before the time is random: 8 hexadecimal digits, and a foreign one is as good as none."""
    alice = attacked.served.client("alice")
    with attacked.served.gate.closed():
        ids = [order(alice, "How deep?") for _ in range(5)]
        assert len({one.partition("_")[0] for one in ids}) == 5
        for one in ids:
            assert alice.post(f"/v1/runs/{one}/cancel").status_code == 200
