"""A server under attack: all its routes, a finished run of alice, and clients that send anything."""

from __future__ import annotations

import http.client
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from starlette.routing import Mount, Route
from tests.server.conftest import PATIENCE, Served, finish, order, running

from leadline.contracts import Call
from leadline.records import Blob, FetchRequest, Hit, SearchPage, SearchRequest
from leadline.testing import fakes
from leadline_server import command
from leadline_server.app import App
from leadline_server.limits import Limits

# A word of alice's run that nobody else may ever see.
MARK = "sounding-of-alice"
QUESTION = f"How deep was the harbour of {MARK} measured at each sounding, in fathoms?"
_PARAMETER = re.compile(r"\{(\w+)(?::\w+)?\}")
UNKNOWN = "00000000_20260101_000000"

# What third parties write: the only engine and its pages are hostile.
SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'><svg onload=alert(3)>"
PLACES = [
    'https://example.org/a"onmouseover=alert(4)//<script>alert(5)</script>',
    "https://example.org/b'><img src=x onerror=alert(6)>",
    "https://example.org/c?x=javascript:alert(7)",
]
TEXT = " ".join(
    f"The harbour measured {place + 7} fathoms at sounding {place}."
    + (f" {SCRIPT} [x](javascript:alert(8)) measured {place} fathoms at that sounding." if place % 5 == 0 else "")
    for place in range(20)
)


async def _search(self: object, request: SearchRequest, call: Call, /) -> SearchPage:
    return SearchPage(hits=tuple(Hit(url=url, title=f"{SCRIPT} harbour", snippet=TEXT[:300]) for url in PLACES))


async def _fetch(self: object, request: FetchRequest, call: Call, /) -> Blob:
    return Blob(name=f"{SCRIPT}.txt", media_type="text/plain", data=TEXT.encode())


@dataclass(frozen=True)
class Known:
    """A route by method and path, with the names of the parameters in its path; False if it reads no query."""

    method: str
    path: str
    reads_query: bool = True

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(_PARAMETER.findall(self.path))

    def at(self, **values: str) -> str:
        """Return the path with these values, as they are."""
        return _PARAMETER.sub(lambda found: values.get(found[1], "x"), self.path)


@dataclass(frozen=True)
class Sent:
    """A reply."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass
class Target:
    """A server with the users alice and bob, its routes, and values of its parameters in alice's finished run."""

    served: Served
    routes: list[Known]
    run: str
    values: dict[str, str]

    def send(self, method: str, path: str, user: str = "alice", body: bytes | None = None, **headers: str) -> Sent:
        """Send a path as it is, in which a client of good manners would change something."""
        host, port = urlsplit(self.served.url).netloc.split(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=PATIENCE)
        try:
            connection._validate_path = lambda _: None  # type: ignore[attr-defined]
            connection.putrequest(method, path, skip_host="Host" in headers, skip_accept_encoding=True)
            if user:
                connection.putheader("Authorization", f"Bearer {self.served.tokens[user]}")
            if body is not None:
                headers = {"Content-Type": "application/json", "Content-Length": str(len(body))} | headers
            for name, value in headers.items():
                connection.putheader(name.replace("_", "-"), value)
            connection.endheaders(body)
            reply = connection.getresponse()
            found = {name.lower(): value for name, value in reply.getheaders()}
            streams = found.get("content-type", "").startswith("text/event-stream")
            try:
                content = reply.read1(65_536) if streams else reply.read()
            except ConnectionResetError:  # the server refused the head while its end was still being sent
                assert reply.status >= 400
                content = b""
            return Sent(reply.status, found, content)
        finally:
            connection.close()


@contextmanager
def target(folder: Path, **settings: Any) -> Iterator[Target]:
    """Run a server of alice and bob, and a run of alice."""
    apps: list[App] = []

    class Recorded(App):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            apps.append(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "App", Recorded)
        limits = Limits(requests=1_000_000, runs=1_000, guesses=1_000_000)
        with running(folder, "alice", "bob", limits=limits, **settings) as served:
            alice = served.client("alice")
            run = order(alice, QUESTION, tags={"mark": MARK, "note": SCRIPT})
            finish(alice, run)
            view = alice.get(f"/v1/runs/{run}").json()
            assert view["status"] in ("complete", "partial"), (view["reason"], view["errors"], view["calls"])
            report = alice.get(f"/v1/runs/{run}/files/report.json").json()
            values = {
                "run_id": run,
                "task_id": run,
                "evidence_id": report["evidence"][0]["id"],
                "names": report["evidence"][0]["id"],
                "name": "report.md",
                "model": "leadline-research",
                "path": "page.css",
            }
            yield Target(served, sorted(_known(apps[0]), key=lambda one: one.path), run, values)


def _known(app: App) -> Iterator[Known]:
    without_query = {"/settings"} | {one.path for one in app.endpoints if not one.query}
    for route in app.routes:
        if isinstance(route, Mount):
            yield Known("GET", f"{route.path}/{{path:path}}")
        elif isinstance(route, Route):
            methods = route.methods or {"GET", "POST", "DELETE"}  # those of an application of its own
            reads_query = route.path not in without_query
            yield from (Known(method, route.path, reads_query) for method in sorted(methods - {"HEAD"}))


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    """A server under attack, whose runs cite hostile pages."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fakes.FakeEngine, "search", _search)
        patch.setattr(fakes.FakePages, "fetch", _fetch)
        with target(tmp_path_factory.mktemp("attacked"), cache__search="3600") as found:
            yield found
