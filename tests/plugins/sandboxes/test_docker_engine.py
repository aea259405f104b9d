"""How a sandbox reaches its engine and its interpreter."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import ssl
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest
import trustme

from leadline.errors import Unavailable, Unsupported
from leadline.testing.context import fake_context
from leadline.testing.servers import scripted_server
from leadline_plugins.sandboxes.bubblewrap import BubblewrapSettings, arguments
from leadline_plugins.sandboxes.docker import DockerSettings, endpoint, ready
from leadline_plugins.sandboxes.docker.endpoint import Endpoint, client_for, endpoint_of


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand for the folder of the Docker client; no engine is named."""
    for name in ("DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    return tmp_path


def add_context(home: Path, name: str, host: str, **more: Any) -> Path:
    """Write what `docker context create` writes; return the folder of its certificates."""
    digest = hashlib.sha256(name.encode()).hexdigest()
    meta, tls = home / "contexts" / "meta" / digest, home / "contexts" / "tls" / digest / "docker"
    meta.mkdir(parents=True)
    (meta / "meta.json").write_text(json.dumps({"Name": name, "Endpoints": {"docker": {"Host": host, **more}}}))
    return tls


@pytest.mark.parametrize(
    ("host", "base"),
    [("unix:///run/engine.sock", "http://engine"), ("tcp://127.0.0.1:2375", "http://127.0.0.1:2375")],
)
async def test_it_is_reached_by_httpxs_own_transport(tmp_path: Path, host: str, base: str) -> None:
    context = fake_context(tmp_path)
    client = client_for(Endpoint(host), context.http)
    assert isinstance(client._transport, httpx.AsyncHTTPTransport)
    assert client.base_url == base
    await context.close()


def test_the_engine_is_the_one_of_the_docker_client(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("used", "named"):
        add_context(home, name, f"ssh://{name}")
    (home / "config.json").write_text('{"currentContext": "used"}')
    assert endpoint_of("") == Endpoint("ssh://used")
    monkeypatch.setenv("DOCKER_HOST", "tcp://10.0.0.1:2376")
    assert endpoint_of("") == Endpoint("tcp://10.0.0.1:2376")
    monkeypatch.setenv("DOCKER_TLS_VERIFY", "1")
    assert endpoint_of("") == Endpoint("tcp://10.0.0.1:2376", home)
    monkeypatch.setenv("DOCKER_CONTEXT", "named")
    assert endpoint_of("") == Endpoint("ssh://named")
    assert endpoint_of("used") == Endpoint("ssh://used")
    assert endpoint_of("unix:///a") == Endpoint("unix:///a")
    assert "there is no Docker context 'nosuch'; see `docker context ls`" in str(ready(DockerSettings(host="nosuch")))


@pytest.mark.parametrize("skips", [False, True])
async def test_certificates_of_a_context_are_used_and_checked(home: Path, skips: bool) -> None:
    authority, stranger = trustme.CA(), trustme.CA()
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    (stranger if skips else authority).issue_cert("127.0.0.1").configure_cert(served)
    authority.configure_trust(served)
    served.verify_mode = ssl.CERT_REQUIRED
    async with scripted_server({"/images/small/json": {}}, tls=served) as server:
        tls = add_context(home, "remote", f"tcp://127.0.0.1:{server.port}", SkipTLSVerify=skips)
        settings = DockerSettings(host="remote", image="small")
        assert "no engine responds" in str(await asyncio.to_thread(ready, settings))
        tls.mkdir(parents=True)
        mine = authority.issue_cert("client.example")
        authority.cert_pem.write_to_path(tls / "ca.pem")
        mine.private_key_pem.write_to_path(tls / "key.pem")
        mine.cert_chain_pems[0].write_to_path(tls / "cert.pem")
        assert await asyncio.to_thread(ready, settings) is None
        (tls / "ca.pem").write_text("none")
        assert "the certificates in" in str(await asyncio.to_thread(ready, settings))


# Forwards as `ssh -L` does, until its input ends.
FORWARDING = """#!{python}
import asyncio, sys

async def main():
    open({log!r}, "a").write(" ".join(sys.argv) + "\\n")
    local, _, remote = sys.argv[sys.argv.index("-L") + 1].partition(":")

    async def pump(reader, writer):
        while piece := await reader.read(1000):
            writer.write(piece)
        writer.close()

    async def forward(reader, writer):
        there = await asyncio.open_unix_connection(remote)
        await asyncio.gather(pump(reader, there[1]), pump(there[0], writer))

    async with await asyncio.start_unix_server(forward, local):
        await asyncio.to_thread(sys.stdin.read)

asyncio.run(main())
"""


async def test_ssh_forwards_to_the_engine_and_ends_with_the_client(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, program = home / "arguments", home / "ssh"
    program.write_text(FORWARDING.format(python=sys.executable, log=str(log)))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(home), prepend=os.pathsep)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nOK")
        writer.close()

    context = fake_context(home)
    async with await asyncio.start_unix_server(answer, home / "remote"):
        client = client_for(Endpoint(f"ssh://me@host:2222{home}/remote"), context.http)
        both = await asyncio.gather(client.get("/_ping"), client.get("/_ping"))
        assert [reply.text for reply in both] == ["OK", "OK"]
    await context.close()
    (started,) = log.read_text().splitlines()
    assert started.endswith("-- ssh://me@host:2222 cat")
    program.write_text("#!/bin/sh\necho 'Permission denied (publickey).' > $5\nexit 255\n")
    monkeypatch.setattr(endpoint, "_RETRIES", 1)
    lost = client_for(Endpoint("ssh://host"), fake_context(home).http)
    try:
        with pytest.raises(Unavailable, match=r"ssh does not reach ssh://host: Permission denied"):
            await lost.get("/_ping")
    finally:
        await lost.aclose()


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
    with pytest.raises(Unsupported, match="neither unix://SOCKET, tcp://HOST:PORT, ssh://"):
        client_for(Endpoint("npipe://host"), fake_context(tmp_path).http)
