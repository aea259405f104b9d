"""Path traversal and header injection through every parameter of every route."""

from __future__ import annotations

import pytest
from tests.server.attacks.conftest import Sent, Target

CLIMBS = [
    *("..", "../..", "..%2f..%2f..%2f..%2fetc%2fpasswd", "%2e%2e", "/etc/passwd", "%2fetc%2fpasswd", "//etc/passwd"),
    *("..\\..\\etc\\passwd", "....//....//etc/passwd", "%252e%252e%252fetc%252fpasswd", "%c0%ae%c0%ae/etc/passwd"),
    *("file:///etc/passwd", "%00", "report.md%00.html", "*", ".", "~", "$HOME", "%0d%0aX-Evil:%201", "a" * 4_000),
    *("%ff", "%ef%bc%8e%ef%bc%8e", "journal.sqlite", ".server.sqlite", "metadata.json/../journal.sqlite", "CON", "-1"),
    *("9" * 5_000, "http://[", "NaN", "%C2%B2"),
]


def assert_harmless(reply: Sent, path: str) -> None:
    assert reply.status < 500, (path, reply.status)
    assert "x-evil" not in reply.headers, path
    assert b"root:x:" not in reply.body, path
    assert not reply.body.startswith(b"SQLite format"), path


@pytest.mark.parametrize("climb", CLIMBS, ids=range(len(CLIMBS)))
def test_no_parameter_of_a_path_leads_elsewhere(attacked: Target, climb: str) -> None:
    tried = 0
    for route in attacked.routes:
        for name in route.names:
            path = route.at(**attacked.values | {name: climb})
            body = b"{}" if route.method == "POST" else None
            reply = attacked.send(route.method, path, body=body)
            assert_harmless(reply, path)
            if climb.startswith("%0d"):
                continue  # in a page it may be shown
            assert reply.status >= 400 or (name in ("path",) and reply.status == 200), (route, path, reply.status)
            tried += 1
    assert tried >= 12 or climb.startswith("%0d")
    assert attacked.send("GET", f"/v1/runs/{attacked.run}").status == 200  # it is still there


@pytest.mark.parametrize("climb", CLIMBS, ids=range(len(CLIMBS)))
def test_no_parameter_of_a_query_leads_elsewhere(attacked: Target, climb: str) -> None:
    names = ("q", "status", "tag", "after", "limit", "context", "download", "a", "b", "task_id", "format", "question")
    for route in attacked.routes:
        if route.method != "GET" or not route.reads_query:
            continue
        path = route.at(**attacked.values) + "?" + "&".join(f"{name}={climb}" for name in names)
        assert_harmless(attacked.send("GET", path), path)


def test_texts_of_requests_make_no_headers(attacked: Target) -> None:
    for route in attacked.routes:
        path = route.at(**attacked.values | dict.fromkeys(route.names, "%0d%0aX-Evil:%201%0d%0a%0d%0a"))
        reply = attacked.send(route.method, path, Idempotency_Key="k%0d%0aX-Evil: 1", Last_Event_ID="1%0d%0aX-Evil: 1")
        assert_harmless(reply, path)


@pytest.mark.parametrize("method", ["TRACE", "PUT", "PATCH", "CONNECT", "OPTIONS", "PROPFIND", "BREW"])
def test_other_methods_do_nothing(attacked: Target, method: str) -> None:
    for route in attacked.routes:
        reply = attacked.send(method, route.at(**attacked.values))
        refused = (400, 403, 404, 405, 501) if route.path == "/metrics" else (400, 404, 405, 415, 501)
        assert reply.status in refused, (route, reply.status)
        assert "access-control-allow-origin" not in reply.headers
