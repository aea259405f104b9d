"""Distributions built and installed as a stranger's are, and a server on this machine for what they talk to."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
# One process for all: each wheel is hatchling's own work, without an interpreter a project.
_BUILD = """
import os, sys
from hatchling.build import build_wheel
for project in sys.argv[2:]:
    os.chdir(project)
    build_wheel(sys.argv[1])
"""
Reply = tuple[int, str, str]
"""Status, media type, body."""


Install = Callable[[Sequence[Path], Path], None]


def built_and_installed(projects: Sequence[Path], site: Path) -> None:
    wheels = site.with_name(site.name + "-wheels")
    wheels.mkdir()
    subprocess.run([sys.executable, "-c", _BUILD, str(wheels), *map(str, projects)], check=True, capture_output=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
    options = ["--no-index", "--no-deps", "--no-compile", "--target", str(site)]
    subprocess.run([*pip, *options, *map(str, sorted(wheels.glob("*.whl")))], check=True, capture_output=True)


@pytest.fixture(scope="session")
def install() -> Install:
    """Build the wheels of these projects, and have pip install them into a folder."""
    return built_and_installed


@pytest.fixture(scope="session")
def examples(tmp_path_factory: pytest.TempPathFactory, install: Install) -> Path:
    """Install every example plugin, each its own distribution, and the tests' own; returns the folder."""
    site = tmp_path_factory.mktemp("examples") / "site"
    kinds = sorted(path.parent for path in (ROOT / "examples" / "kinds").glob("*/pyproject.toml"))
    install([*kinds, ROOT / "examples" / "plugin", ROOT / "tests" / "end_to_end" / "probe"], site)
    return site


Cli = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def leadline_in() -> Cli:
    """Run the command line as a process of its own, with a folder of distributions beside those of this one."""

    def run(site: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join(filter(None, (str(site), os.environ.get("PYTHONPATH", ""))))
        return subprocess.run(
            [sys.executable, "-m", "leadline", *arguments],
            env={**os.environ, "PYTHONPATH": path, "COLUMNS": "200", **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )

    return run


class Server:
    """A web server on this machine: `url`, what it was `asked` (path with query, headers, body), and its replies."""

    def __init__(self, answer: Callable[[str, Any], Reply]) -> None:
        self.asked: list[tuple[str, dict[str, str], Any]] = []
        self.answer = answer
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = False
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        """Stop, and wait for it."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                length = int(self.headers.get("Content-Length", 0))
                body = json.loads(self.rfile.read(length)) if length else None
                server.asked.append((self.path, dict(self.headers), body))
                status, media_type, text = server.answer(self.path, body)
                self.send_response(status)
                self.send_header("Content-Type", media_type)
                self.send_header("Content-Length", str(len(text.encode())))
                self.end_headers()
                self.wfile.write(text.encode())

            do_POST = do_GET  # noqa: N815 - the names are http.server's

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        return Handler


Serve = Callable[[Callable[[str, Any], Reply]], Server]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Start servers that are stopped at the end of the test."""
    servers: list[Server] = []

    def start(answer: Callable[[str, Any], Reply]) -> Server:
        servers.append(Server(answer))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


@pytest.fixture(scope="session")
def small() -> Iterator[Any]:
    """Import the script of the small model's server, which stands beside the benchmarks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "tests" / "benchmarks"))
        import small_model

        if lacking := small_model.missing():
            pytest.skip(lacking)
        yield small_model


@pytest.fixture(scope="session")
def tools() -> Iterator[Any]:
    """Import the emulator's client side, which stands beside the benchmarks that are scripts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "tests" / "benchmarks"))
        import emulator_use

        yield emulator_use
