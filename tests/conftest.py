"""What holds for every test: no network but this machine's own, and no folder but the test's own.

Subprocesses inherit the private folders by their environment; the network is closed to the test process itself. Whole
runs, in `promises` and `end_to_end`, share the installed example plugins, the servers, and the emulator of models,
engines and pages.
"""

from __future__ import annotations

import ipaddress
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import EntryPoint
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# The same code passes or fails alike wherever `make test` runs it; `make test-all` looks for examples nobody knows yet.
# How long an example takes says more about what else the machine does.
settings.register_profile("exploring", max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("fixed", settings.get_profile("exploring"), max_examples=40, derandomize=True)
settings.load_profile("fixed")

# Containers set this at times. Without bytecode each process that a test starts would compile the whole of Leadline
# anew, and each worker of pytest all tests.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

_CONNECTS = ("connect", "connect_ex", "sendto")
"""The ways in which a socket leaves the machine."""


class NetworkBlocked(RuntimeError):
    """A test tried to reach another machine."""


def is_local(address: object) -> bool:
    """Tell whether a socket's address stays on this machine: loopback, or a path (Unix)."""
    if not isinstance(address, tuple):
        return True
    host = str(address[0])
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return host in ("", "localhost")


@pytest.fixture(scope="session")
def postgres() -> Iterator[Any]:
    from tests.server.queue.cluster import cluster, programs

    if programs() is None or find_spec("psycopg") is None:
        pytest.skip("needs Postgres and psycopg: apt-get install postgresql, pip install 'leadline[fleet]'")
    with cluster() as running:
        yield running


@pytest.fixture(autouse=True, scope="session")
def _no_network() -> Iterator[None]:
    """Refuse connections to other machines, and the look-up of their names."""
    with pytest.MonkeyPatch.context() as patch:
        for name in _CONNECTS:
            patch.setattr(socket.socket, name, _guarded(getattr(socket.socket, name)))
        patch.setattr(socket, "getaddrinfo", _guarded_lookup(socket.getaddrinfo))
        yield


def _guarded(real: Any) -> Any:
    def connect(self: socket.socket, *arguments: Any) -> Any:
        # The address is the last argument, also of sendto(data, flags, address).
        if not is_local(arguments[-1]):
            raise NetworkBlocked(f"tests stay on this machine: {arguments[-1]!r}")
        return real(self, *arguments)

    return connect


def _guarded_lookup(real: Any) -> Any:
    def getaddrinfo(host: Any, *arguments: Any, **options: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        if name is not None and not is_local((name, 0)):
            raise NetworkBlocked(f"tests look up no other machine: {name!r}")
        return real(host, *arguments, **options)

    return getaddrinfo


@pytest.fixture(autouse=True, scope="session")
def _built_in_plugins_load_once() -> Iterator[None]:
    """Load and check each built-in plugin once in a process, and not for each client of a test, 60 ms in all."""
    from leadline._hosting import catalog
    from leadline._hosting.loading import load_plugin as load

    loaded: dict[EntryPoint, Any] = {}

    def load_once(point: EntryPoint) -> Any:
        if not point.value.startswith(("leadline_plugins.", "leadline_server.")):
            return load(point)
        if point not in loaded:
            loaded[point] = load(point)
        return loaded[point]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalog, "load_plugin", load_once)
        yield


@pytest.fixture(scope="session")
def _all_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Name a new folder for each test; `mktemp` would read the names of all others first."""
    top = tmp_path_factory.mktemp("own")
    return (top / str(number) for number in count())


@pytest.fixture(autouse=True)
def own_folders(_all_folders: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the test a home, a cache, a configuration and a working folder of its own; returns their parent."""
    top = next(_all_folders)
    top.mkdir()
    for variable, name in (
        ("HOME", "home"),
        ("USERPROFILE", "home"),
        ("XDG_CACHE_HOME", "cache"),
        ("XDG_CONFIG_HOME", "config"),
        ("XDG_DATA_HOME", "data"),
    ):
        (top / name).mkdir(exist_ok=True)
        monkeypatch.setenv(variable, str(top / name))
    for variable in ("LEADLINE_CONFIG", "LEADLINE_DEBUG", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(variable, raising=False)
    (top / "work").mkdir()
    monkeypatch.chdir(top / "work")
    return top


ROOT = Path(__file__).parents[1]
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
    install(
        [*kinds, ROOT / "examples" / "commands", ROOT / "examples" / "plugin", ROOT / "tests" / "promises" / "probe"],
        site,
    )
    return site


@dataclass(frozen=True)
class Done:
    """What a command left behind."""

    code: int
    out: str
    err: str


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """Run a command in this process."""

    def run(*argv: str) -> Done:
        capsys.readouterr()
        from leadline.cli import main

        code = main(argv)
        out, err = capsys.readouterr()
        return Done(code, out, err)

    return run


@pytest.fixture
def leadline_in() -> Callable[..., subprocess.CompletedProcess[str]]:
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
def tools() -> Iterator[Any]:
    """Import the emulator's client side, which stands beside the benchmarks that are scripts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "tests" / "benchmarks"))
        import emulator_use

        yield emulator_use
