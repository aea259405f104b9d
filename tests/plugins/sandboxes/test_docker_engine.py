"""How a sandbox reaches its engine and its interpreter."""

from __future__ import annotations

import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import httpx
import pytest

from leadline.errors import Unsupported
from leadline.testing.context import fake_context
from leadline_plugins.sandboxes.bubblewrap import BubblewrapSettings, arguments
from leadline_plugins.sandboxes.docker import DockerSettings, ready
from leadline_plugins.sandboxes.docker.engine import client_for


@pytest.mark.parametrize(
    ("host", "base"),
    [("unix:///run/engine.sock", "http://engine"), ("tcp://127.0.0.1:2375", "http://127.0.0.1:2375")],
)
async def test_it_is_reached_by_httpxs_own_transport(tmp_path: Path, host: str, base: str) -> None:
    context = fake_context(tmp_path)
    client = client_for(host, context.http)
    assert isinstance(client._transport, httpx.AsyncHTTPTransport)
    assert client.base_url == base
    await context.close()


@pytest.mark.parametrize(("status", "problem"), [(200, None), (404, "has no image 'small': build it with `python -m")])
def test_an_engine_without_the_image_is_named_before_a_run(status: int, problem: str | None) -> None:
    class Images(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            assert self.path == "/images/small/json"
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Images) as server:
        Thread(target=server.handle_request).start()
        found = ready(DockerSettings(host=f"tcp://127.0.0.1:{server.server_port}", image="small"))
    assert found is None if problem is None else problem in str(found)


def test_an_interpreter_below_tmp_is_mounted_over_the_empty_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    parts = arguments(BubblewrapSettings())
    assert parts.index("--tmpfs") < parts.index(str(tmp_path))


def test_another_address_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match="neither unix://SOCKET nor tcp://HOST:PORT"):
        client_for("ssh://host", fake_context(tmp_path).http)
