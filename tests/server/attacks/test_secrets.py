"""Secrets and private paths in replies, events, files and logs."""

from __future__ import annotations

import errno
import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.server.attacks.conftest import Target, target
from tests.server.conftest import events, finish, order, running

from leadline.contracts import Call
from leadline.plugin import search_provider
from leadline.records import SearchPage, SearchRequest
from leadline.testing.plugins import plugin

KEY = "sk-secret-0123456789abcdef0123456789abcdef"


@pytest.fixture(scope="module")
def keeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    """A server with a key, whose model cannot be reached."""
    folder = tmp_path_factory.mktemp("keeper")
    openai = {"api_key": KEY, "base_url": "http://127.0.0.1:9/v1", "model": "m"}
    with target(folder, ai__providers=["openai", "embedded"], plugins__openai=openai) as found:
        yield found


def test_no_route_tells_a_key_or_a_folder_of_the_server(keeper: Target) -> None:
    folder = str(keeper.served.folder)
    for route in keeper.routes:
        for values in (keeper.values, dict.fromkeys(keeper.values, "00000000_20260101_000000")):
            body = b'{"question": ""}' if route.method == "POST" else None
            if route.method == "DELETE":
                continue
            text = keeper.send(route.method, route.at(**values), body=body).body.decode("utf-8", "replace")
            assert KEY not in text, route
            assert "Traceback (most" not in text, route
            if not route.path.endswith("/settings"):  # which shows the operator's settings, as documented
                assert folder not in text, route


def test_no_event_file_or_log_of_a_run_tells_a_key(keeper: Target, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    alice = keeper.served.client("alice")
    run = order(alice, "How deep was the harbour?")
    view = finish(alice, run)
    assert KEY not in json.dumps(view)
    assert KEY not in json.dumps(events(alice, run))
    for path in Path(keeper.served.folder).rglob("*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path
    assert KEY not in caplog.text
    for user, token in keeper.served.tokens.items():
        assert token not in caplog.text, user
        assert token not in json.dumps(view)


class Broken:
    """Engines with a fault, and without room on a disk of the server."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def search(self, request: SearchRequest, call: Call, /) -> SearchPage:
        if "sounding" in request.query:
            raise OSError(errno.ENOSPC, "No space left on device", str(self._folder / "runs" / "x"))
        raise KeyError("no such key")


@pytest.mark.parametrize(
    ("question", "engines"),
    [
        ("How deep was the harbour, as sailors say?", ["broken"]),
        ("How deep at each sounding?", ["broken", "fakeweb"]),
    ],
)
def test_no_exit_of_a_run_with_faults_tells_a_traceback_or_a_folder(
    tmp_path: Path, question: str, engines: list[str]
) -> None:
    offer = search_provider("For a test")(lambda: Broken(tmp_path))
    broken = plugin("broken", offer)
    with running(tmp_path, plugins=[broken], search__engines=engines, retry__attempts=1) as served:
        http = served.client()
        run = order(http, question)
        view = finish(http, run)
        stored = (tmp_path / "runs" / run / "metadata.json").read_text()
        assert ("Traceback (most" if "sailors" in question else "No space left") in stored  # the operator has it
        exits = [f"/v1/runs/{run}/files/{name}" for name in (*view["files"], "metadata.json", "events.jsonl")]
        exits += [f"/v1/runs/{run}", f"/v1/runs/{run}/events", "/v1/runs", f"/api/research/status?task_id={run}"]
        exits += [f"/runs/{run}", f"/runs/{run}/details", f"/runs/{run}/trail", "/runs"]
        for path in exits:
            text = http.get(path, headers={"Accept": "text/html" if path.startswith("/runs") else "*/*"}).text
            assert "Traceback (most" not in text, path
            assert str(tmp_path / "runs") not in text, path
        assert "search_results.json" in view["files"]


def test_errors_of_settings_do_not_repeat_their_values(keeper: Target) -> None:
    alice = keeper.served.client("alice")
    for body in (
        {"question": "a?", "set": {"language": KEY}},
        {"question": "a?", "pipeline": "x", "set": {"plugins.openai.api_key": KEY}},
        {"question": {"key": KEY}},
    ):
        reply = alice.post("/v1/runs", json=body)
        assert reply.status_code in (202, 403, 422)
        if reply.status_code == 202:
            finish(alice, reply.json()["id"])
        else:
            assert KEY not in reply.text or "language" in reply.text
