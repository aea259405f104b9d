"""Bodies that are large, deep, wrong or slow, on every route that takes one; and clients that read slowly."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from pydantic import ValidationError
from tests.server.attacks.conftest import Target
from tests.server.conftest import PATIENCE, finish, order, running

from leadline_server.openai.requests import ChatRequest

WRONG: list[bytes] = [
    *(b"", b"null", b"[]", b"1", b'"x"', b"NaN", b"{", b"\xff\xfe", b'{"question": NaN}', b"{}" * 3),
    *(b'{"question": {"$ne": 1}}', b'{"question": ["x"]}', b'{"question": "\\ud800"}', b'{"question": 1e400}'),
    *(b'{"question": "a?", "__proto__": {}}', b'{"question": "a?", "tags": {"a": {"b": 1}}}'),
    b'{"question": "a?", "set": {"research.max_queries": ' + b"9" * 5_000 + b"}}",
    *(json.dumps({"question": "a?", "set": {name: 10**400}}).encode() for name in ("report.length", "memory")),
    json.dumps({"question": "a?", "formats": ["a"] * 21}).encode(),
    json.dumps({"model": "leadline-research", "messages": [{"role": "user", "content": "x" * 40_000}]}).encode(),
    json.dumps(
        {
            "model": "leadline-research",
            "messages": [{"role": "user", "content": "a?"}],
            "leadline": {"tags": {str(number): "" for number in range(20)}},
        }
    ).encode(),
    json.dumps(
        {"model": "leadline-research", "messages": [{"role": "user", "content": "a?"}], "max_tokens": 10**400}
    ).encode(),
    b"[" * 100_000,
    b'{"a":' * 20_000 + b"1" + b"}" * 20_000,
    json.dumps({"question": "x" * 200_000}).encode(),
    json.dumps({f"k{n}": n for n in range(20_000)}).encode(),
]


@pytest.mark.parametrize("body", WRONG, ids=range(len(WRONG)))
def test_wrong_bodies_are_refused(attacked: Target, body: bytes) -> None:
    before = len(attacked.served.client("alice").get("/v1/runs", params={"limit": 500}).json()["runs"])
    for route in attacked.routes:
        if route.method != "POST" or (not body and "run_id" in route.names):
            continue  # stop, cancel and resume need no body
        reply = attacked.send("POST", route.at(**attacked.values), body=body)
        assert 400 <= reply.status < 500, (route, reply.status, reply.body[:300])
    after = len(attacked.served.client("alice").get("/v1/runs", params={"limit": 500}).json()["runs"])
    assert after == before


@pytest.mark.parametrize(
    "fields",
    [
        {"messages": [{"role": "user", "content": [0] * 100_000}]},
        {"messages": [{"role": "nobody"}] * 9_000},
        {"messages": [{"role": "user"}], "leadline": {"tags": {str(number): 0 for number in range(100_000)}}},
    ],
    ids=["parts", "messages", "tags"],
)
def test_thousands_of_wrong_items_raise_one_error(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as failed:
        ChatRequest.model_validate_json(json.dumps({"model": "leadline-research", **fields}))
    assert failed.value.error_count() <= 2  # a text, or a list of parts


@pytest.mark.parametrize(
    ("charset", "value"), [("punycode", "A" * 43), ("undefined", "a"), ("unicode_escape", "\\ud800")]
)
def test_a_form_whose_charset_makes_no_text_is_refused(attacked: Target, charset: str, value: str) -> None:
    form = f'--B\r\nContent-Disposition: form-data; name="form_token"\r\n\r\n{value}\r\n--B--\r\n'
    headers = {"Content-Type": f"multipart/form-data; boundary=B; charset={charset}"}
    reply = attacked.send("POST", "/documents", body=form.encode(), Cookie=f"leadline_form={'A' * 43}", **headers)
    assert reply.status == 400, reply.body


@pytest.mark.slow
def test_a_client_that_does_not_read_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leadline_server.command.STALL_TIMEOUT", 0.5)
    size = 64_000_000
    with running(tmp_path) as server:
        http = server.client()
        run = order(http)
        finish(http, run)
        (tmp_path / "runs" / run / "report.md").write_bytes(b"x" * size)
        host, port = urlsplit(server.url).netloc.split(":")
        with socket.socket() as raw:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            raw.settimeout(PATIENCE)
            raw.connect((host, int(port)))
            raw.sendall(f"GET /v1/runs/{run}/files/report.md HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            time.sleep(3)
            received = 0
            with contextlib.suppress(ConnectionError):
                while piece := raw.recv(1_000_000):
                    received += len(piece)
            assert received < size / 2  # what the buffers of the system held
        assert len(http.get(f"/v1/runs/{run}/files/report.md").content) == size  # to who reads
