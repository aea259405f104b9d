"""Real servers on loopback with a worker, in a thread of their own, over a small fake web."""

from __future__ import annotations

import asyncio
import os
import ssl
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from tests.server.queue.cluster import Cluster

import leadline
from leadline.contracts import Call
from leadline.plugin import middleware
from leadline.testing.fakes import fake_web
from leadline.testing.plugins import plugin
from leadline_server.command import Running, serve
from leadline_server.dispatchers import Embedded
from leadline_server.limits import Address, Limits
from leadline_server.processes import name_of
from leadline_server.queue import open_queue
from leadline_server.sign_in import AccessSettings
from leadline_server.store import Store
from leadline_server.worker import Worker

QUESTION = "How deep was the harbour measured at each sounding, in fathoms?"
SETTINGS = {
    "search.engines": ["fakeweb"],
    "read.fetchers": ["fakeweb"],
    "retry.base": 0,
    "cache.search": 0,
    "clarify.mode": "off",
}
# Seconds that anything may take on a slow machine.
PATIENCE = 60.0
_NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
Send = Callable[[Any], Awaitable[Any]]


class Gate:
    """A middleware that holds every search until the gate is open. Any thread may open and close it."""

    live = True

    def __init__(self) -> None:
        self.is_open = threading.Event()
        self.is_open.set()

    async def around(self, request: Any, call: Call, proceed: Send, /) -> Any:
        if type(request).__name__ == "SearchRequest":
            while not self.is_open.is_set():
                await asyncio.sleep(0.01)
        return await proceed(request)

    @contextmanager
    def closed(self) -> Iterator[None]:
        self.is_open.clear()
        try:
            yield
        finally:
            self.is_open.set()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database; empty for the files of the folder."""
    if request.param == "sqlite":
        return ""
    running: Cluster = request.getfixturevalue("postgres")
    return running.database(uuid4().hex)


@pytest.fixture
def stores(url: str, tmp_path: Path) -> Iterator[Callable[..., Store]]:
    """Open the tables of a server, by default those of the first machine."""
    with ExitStack() as stack:
        yield lambda machine="runs": stack.enter_context(closing(Store(tmp_path / machine, url)))


@dataclass
class Served:
    """A running server, its folder, the tokens of its users, and the gate of its searches."""

    url: str
    folder: Path
    gate: Gate
    tokens: dict[str, str]
    end: Callable[[], object]
    clients: list[httpx.Client] = field(default_factory=list)

    def client(self, user: str = "", **headers: str) -> httpx.Client:
        given = {"Authorization": f"Bearer {self.tokens[user]}"} if user else {}
        client = connected(self.url, given | headers)
        self.clients.append(client)
        return client


def connected(url: str, headers: dict[str, str] | None = None, **more: Any) -> httpx.Client:
    """Return a client that reads no certificates, which would take longer than most tests."""
    return httpx.Client(base_url=url, timeout=PATIENCE, headers=headers, trust_env=False, verify=_NO_TLS, **more)


@contextmanager
def running(
    folder: Path,
    *users: str,
    limits: Limits | None = None,
    host: str = "127.0.0.1",
    names: Sequence[str] = (),
    port: int = 0,
    access: AccessSettings | None = None,
    plugins: Sequence[EntryPoint] = (),
    worker_places: int = 50,
    database: str = "",
    **settings: Any,
) -> Iterator[Served]:
    """Run a server in a thread until the end of the context."""
    gate, store = Gate(), Store(folder / "runs", database)
    known = {token.name for token in store.tokens()}
    tokens = {user: store.add_token(user, user) for user in users if user not in known}
    places = {"plugins.knowledge.folder": str(folder / "knowledge"), "plugins.flat.folder": str(folder / "vectors")}
    values = (
        SETTINGS
        | places
        | {"middleware": ["gate"]}
        | {name.replace("__", "."): value for name, value in settings.items()}
    )
    started, found, failures = threading.Event(), list[tuple[asyncio.AbstractEventLoop, Running]](), []
    offer = middleware("For a test")(lambda: gate)

    def client_of() -> leadline.Client:
        return leadline.Client(
            plugins=[fake_web(), plugin("gate", offer), *plugins],
            folder=folder / "runs",
            cache=folder / "cache",
            set={key: value for key, value in values.items() if key != "clarify.mode"}
            | {"plugins.clarify.mode": values["clarify.mode"]},
        )

    async def main() -> None:
        def tell(server: Running) -> None:
            found.append((asyncio.get_running_loop(), server))
            started.set()

        queue = open_queue("", folder / "runs")
        async with client_of() as working:
            working.plugins.pipeline()
            name = name_of(os.getpid())
            worker = Worker(working, queue, Embedded(queue, name), name)
            task = asyncio.create_task(worker.work(worker_places))
            while not (queue.workers() or task.done()):  # the documents are warm
                await asyncio.sleep(0.01)
            url = f"http://{host}:{port}" if port else ""
            chosen = limits or Limits(requests=100_000, runs=50)
            address = Address(host, port, names, chosen, url, access or AccessSettings())
            try:
                await serve(client_of(), store, queue, address, tell)
            finally:
                worker.closing.set()
                await task
                queue.close()

    def work() -> None:
        try:
            asyncio.run(main())
        except BaseException as error:
            failures.append(error)
        finally:
            started.set()

    thread = threading.Thread(target=work, name="server of a test")
    thread.start()
    try:
        started.wait(PATIENCE)
        if failures:
            raise failures[0]
        loop, server = found[0]
        served = Served(server.url, folder, gate, tokens, partial(loop.call_soon_threadsafe, server.end))
        try:
            yield served
        finally:
            for client in served.clients:
                client.close()
            with suppress(RuntimeError):  # a test has ended it
                served.end()
    finally:
        thread.join(PATIENCE)
        store.close()
    assert not thread.is_alive(), "the server did not end"
    assert not failures


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server of one person: no tokens."""
    with running(tmp_path_factory.mktemp("served")) as server:
        yield server


@pytest.fixture(scope="session")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with the users alice and bob."""
    with running(tmp_path_factory.mktemp("team"), "alice", "bob") as server:
        yield server


@pytest.fixture
def http(served: Served) -> httpx.Client:
    return served.client()


def order(http: httpx.Client, question: str = QUESTION, **more: Any) -> str:
    """Order a run and return its id."""
    reply = http.post("/v1/runs", json={"question": question, **more})
    assert reply.status_code == 202, reply.text
    return str(reply.json()["id"])


def events(http: httpx.Client, run: str, after: int | None = None, until: str = "") -> list[dict[str, Any]]:
    """Return the frames of a run, until one of the kind `until` or to the end; `id` is missing where they have none."""
    found: list[dict[str, Any]] = []
    headers = {} if after is None else {"Last-Event-ID": str(after)}
    with http.stream("GET", f"/v1/runs/{run}/events", headers=headers) as reply:
        assert reply.status_code == 200, reply.read()
        frame: dict[str, str] = {}
        for line in reply.iter_lines():
            if line:
                name, _, value = line.partition(": ")
                frame[name] = value
                continue
            if "data" in frame:
                found.append(frame)
                if frame["event"] == until:
                    break
            frame = {}
    return found


def finish(http: httpx.Client, run: str) -> dict[str, Any]:
    """Wait for the end of a run, and return it."""
    assert events(http, run)[-1]["event"] == "run.finished"
    view: dict[str, Any] = http.get(f"/v1/runs/{run}").json()
    return view


@pytest.fixture(scope="session")
def done(served: Served) -> str:
    """The id of a finished run."""
    with connected(served.url) as http:
        run = order(http, tags={"team": "harbour"})
        assert finish(http, run)["status"] == "complete"
    return run
