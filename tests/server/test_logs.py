"""The log of a server: what is in it, in which form, and who changed what."""

from __future__ import annotations

import json
import logging
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.server.conftest import PATIENCE, Served, finish, order, running

from leadline.errors import Unavailable
from leadline.plugin import search_provider
from leadline.testing.plugins import plugin
from leadline_server import logs
from leadline_server.store import Store


class Lines:
    """The records of a test as a program reads them."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        self._caplog = caplog
        caplog.handler.setFormatter(logs.Lines("json"))

    def of(self, message: str) -> list[dict[str, Any]]:
        known = [json.loads(line) for line in self._caplog.text.splitlines() if line.startswith("{")]
        return [line for line in known if line["message"] == message]


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Iterator[Lines]:
    caplog.set_level(logging.INFO, "leadline")
    formatter = caplog.handler.formatter  # of all tests
    yield Lines(caplog)
    caplog.handler.setFormatter(formatter)


@search_provider("For a test")
class Down:
    async def search(self, request: Any, call: Any, /) -> Any:
        raise Unavailable("HTTP 503")


def test_a_run_is_told_from_its_request_to_its_end(lines: Lines, tmp_path: Path) -> None:
    down = plugin("down", Down)
    with running(tmp_path, "alice", plugins=[down], search__engines=["fakeweb", "down"]) as server:
        http = server.client("alice")
        run = order(http)
        reply = http.get("/v1/runs", params={"q": "a private word"}, headers={"X-Request-ID": "of-the-proxy-1"})
        assert reply.headers["x-request-id"] == "of-the-proxy-1"
        finish(http, run)
    requests = {line["request_id"]: line for line in lines.of("request")}
    listed = requests["of-the-proxy-1"]
    assert (listed["method"], listed["path"], listed["status"], listed["user"]) == ("GET", "/v1/runs", 200, "alice")
    assert "private" not in json.dumps(listed)
    [ordered], [begun], [ended] = map(lines.of, ("run ordered", "run begins", "run ended"))
    assert requests[ordered["request_id"]]["path"] == "/v1/runs"
    assert {line["run_id"] for line in (ordered, begun, ended)} == {run}
    assert (ended["status"], ended["user"], ended["input_tokens"]) == ("complete", "alice", 0)
    assert ended["seconds"] > 0
    failures = lines.of("provider failed")
    assert {(line["level"], line["provider"], line["run_id"]) for line in failures} == {("WARNING", "down", run)}
    assert failures[0]["type"] == "Unavailable"
    assert "HTTP 503" in "".join(line.get("reason", "") for line in failures)


def test_every_reply_has_the_id_of_its_request(lines: Lines, tmp_path: Path) -> None:
    with running(tmp_path) as server:
        http = server.client()
        paths = ("/", "/v1/runs/unknown", "/nowhere", "/healthz")
        ids = {path: http.get(path).headers["x-request-id"] for path in paths}
        forged = http.get("/v1/runs", headers={"X-Request-ID": "x level=ERROR"}).headers["x-request-id"]
        assert len(forged) == 16
        page = http.get("/nowhere", headers={"Accept": "text/html"})
        assert page.headers["x-request-id"] in page.text
    logged = {line["path"]: line["request_id"] for line in lines.of("request") if line["request_id"] in ids.values()}
    assert logged == {path: name for path, name in ids.items() if path != "/healthz"}  # probes ask all the time


def test_the_audit_log_has_who_logged_in_deleted_and_changed(team: Served) -> None:
    http = team.client()
    assert http.post("/v1/session", json={"token": "leadline_wrong"}).status_code == 401
    assert http.post("/v1/session", json={"token": team.tokens["alice"]}).status_code == 200
    assert http.delete("/v1/session", headers={"Origin": team.url}).status_code == 200
    alice = team.client("alice")
    run = order(alice)
    finish(alice, run)
    assert alice.delete(f"/v1/runs/{run}").status_code == 200
    path = team.folder / "runs" / logs.AUDIT
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    records = [json.loads(line) for line in path.read_text().splitlines()]
    told = [(record["action"], record["user"]) for record in records]
    assert told[:2] == [("token added", None)] * 2
    assert [*told[-4:]] == [
        ("login refused", None),
        ("logged in", "alice"),
        ("logged out", "alice"),
        ("run deleted", "alice"),
    ]
    assert (records[-1]["run_id"], records[-1]["address"]) == (run, "127.0.0.1")
    assert all(len(record["request_id"]) == 16 for record in records[-4:])
    assert team.tokens["alice"] not in path.read_text()


def test_lines_about_a_user_are_found_and_erased_whoever_wrote_them(stores: Callable[..., Store]) -> None:
    store, other = stores(), stores("other")
    store.add_token("phone", "alice")
    store.audit.write("logged in", "alice", by="proxy")
    other.audit.write("logged in", "bob", by="proxy")
    lines = [json.loads(line) for line in store.audit.records("alice")]
    assert [(line["action"], line["user"]) for line in lines] == [("token added", None), ("logged in", "alice")]
    store.audit.erase("alice")
    assert store.audit.records("alice") == []
    assert len(other.audit.records("bob")) == 1


def test_an_audit_log_that_cannot_be_written_stops_nothing(lines: Lines, tmp_path: Path) -> None:
    (tmp_path / logs.AUDIT).mkdir()
    store = Store(tmp_path)
    assert store.add_token("alice", "alice")
    store.close()
    assert lines.of("the audit log cannot be written")


def test_a_text_of_somebody_else_does_not_begin_a_line() -> None:
    record = logging.LogRecord("leadline.server", logging.INFO, "", 0, "a %s", ("b\nforged",), None)
    record.fields = {"path": "/x\ny", "status": 200, "user": None}
    with logs.context(request_id="r1"):
        line = logs.Lines("text").format(record)
    assert line.partition(" ")[2] == 'INFO leadline.server a b\\nforged request_id=r1 path="/x\\ny" status=200'


def test_a_log_that_nobody_reads_stops_nothing() -> None:
    code = (
        "import logging; from leadline_server import logs; logs.configure('json')\n"
        "log = logging.getLogger('leadline.server')\n"
        "for number in range(1_000): logs.write(log, 'request', path='/' + 'x' * 200)\n"
        "print('done', flush=True)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.readline() == b"done\n"
        assert process.wait(PATIENCE) == 0
        assert json.loads(process.stderr.readline())["message"] == "request"
