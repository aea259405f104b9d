"""Very many connections and streams."""

from __future__ import annotations

import contextlib
import re
import resource
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from tests.server.conftest import PATIENCE, Served, events, finish, order, running

from leadline_server.limits import Limits

MANY = 1_000


def opened(server: Served, path: str, user: str = "") -> socket.socket:
    """Open a stream and return its connection."""
    host, port = urlsplit(server.url).netloc.split(":")
    raw = socket.create_connection((host, int(port)), timeout=PATIENCE)
    token = f"Authorization: Bearer {server.tokens[user]}\r\n" if user else ""
    raw.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{token}\r\n".encode())
    return raw


@pytest.fixture
def _files() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < 4 * MANY:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4 * MANY), hard))


@pytest.mark.slow
@pytest.mark.usefixtures("_files")
def test_a_thousand_streams_of_one_principal_are_refused_but_for_its_places(tmp_path: Path) -> None:
    with running(tmp_path, "alice", "bob") as server:
        alice, bob = server.client("alice"), server.client("bob")
        with contextlib.ExitStack() as stack, server.gate.closed():
            run = order(alice)
            events(alice, run, until="run.started")
            raws = [stack.enter_context(opened(server, f"/v1/runs/{run}/events", "alice")) for _ in range(MANY)]
            codes = [raw.recv(20).split()[1] for raw in raws]
            served = codes.count(b"200")
            assert served in (Limits().streams, Limits().streams - 1)  # the place of the first one may not be free yet
            assert codes.count(b"429") == MANY - served
            began = time.monotonic()
            assert bob.get("/v1/runs").status_code == 200
            other = order(bob)
            assert events(bob, other, until="run.started")
            assert time.monotonic() - began < PATIENCE
        while alice.get(f"/v1/runs/{run}/events").status_code == 429:  # until the server sees that the others left
            time.sleep(0.1)
        assert finish(alice, run)["status"] == finish(bob, other)["status"] == "complete"


@pytest.mark.slow
@pytest.mark.usefixtures("_files")
def test_a_thousand_streams_are_served_where_they_are_allowed(tmp_path: Path) -> None:
    with running(tmp_path, limits=Limits(streams=MANY + 1, requests=100_000)) as server:
        http = server.client()
        with contextlib.ExitStack() as stack:
            with server.gate.closed():
                run = order(http)
                events(http, run, until="run.started")
                raws = [stack.enter_context(opened(server, f"/v1/runs/{run}/events")) for _ in range(MANY)]
                assert [raw.recv(20).split()[1] for raw in raws].count(b"200") == MANY
                assert http.get("/healthz").status_code == 200
            for raw in raws:
                received = b""
                while b"event: run.finished" not in received:
                    received += raw.recv(1_000_000)
        assert finish(http, run)["status"] == "complete"


@pytest.mark.slow
@pytest.mark.usefixtures("_files")
def test_a_thousand_connections_without_a_request_do_no_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leadline_server.protocol.HEAD_TIMEOUT", 3.0)
    with running(tmp_path) as server:
        host, port = urlsplit(server.url).netloc.split(":")
        with contextlib.ExitStack() as stack:
            raws = [
                stack.enter_context(socket.create_connection((host, int(port)), timeout=PATIENCE)) for _ in range(MANY)
            ]
            http = server.client()
            run = order(http)
            assert finish(http, run)["status"] == "complete"
            assert all(raw.recv(1) == b"" for raw in raws)


@pytest.mark.slow
def test_connections_do_not_take_the_files_that_the_server_needs(tmp_path: Path) -> None:
    """With 300 open files at most, 260 connections are too many: new requests are refused, and later served."""
    few = 300
    process = subprocess.Popen(
        [sys.executable, "-m", "leadline", "serve", "--port", "0", "--folder", str(tmp_path / "runs")],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (few, few)),
    )
    try:
        assert process.stderr
        url = re.search(r"http://[\d.:]+", process.stderr.readline())
        assert url
        host, port = urlsplit(url[0]).netloc.split(":")
        with httpx.Client(base_url=url[0], timeout=PATIENCE, trust_env=False) as http:
            with contextlib.ExitStack() as stack:
                for _ in range(260):
                    stack.enter_context(socket.create_connection((host, int(port)), timeout=PATIENCE))
                assert http.get("/v1/runs", headers={"Connection": "close"}).status_code == 503
            deadline = time.monotonic() + PATIENCE
            while (code := http.get("/v1/runs").status_code) == 503 and time.monotonic() < deadline:
                time.sleep(0.2)
            assert code == 200
    finally:
        process.terminate()
        process.communicate()
