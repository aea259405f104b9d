"""The emulator as a run uses it: started in a process of its own, its engines as a plugin, a client set up for it."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import leadline
from leadline.contracts import Call, Context
from leadline.plugin import Limits, search_provider
from leadline.records import Hit, SearchPage, SearchRequest
from leadline.testing.plugins import plugin


def question(number: int = 0) -> str:
    """Return a question; another number is another question, whose searches share nothing with those of this one."""
    return f"In case {1000 + number}, how do European ports pay for shore power, and what does it bring them?"


@dataclass(frozen=True)
class Emulator:
    """A running emulator."""

    port: int

    @property
    def base_url(self) -> str:
        """Where its model is."""
        return f"http://127.0.0.1:{self.port}/v1"

    def behave(self, **manners: Any) -> None:
        """Change its manners; its book begins anew."""
        self._ask("manners", json.dumps(manners).encode())

    def tally(self) -> dict[str, Any]:
        """Return its book."""
        book: dict[str, Any] = json.loads(self._ask("tally"))
        return book

    def _ask(self, what: str, body: bytes | None = None) -> bytes:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/{what}", body, timeout=60) as answer:
            content: bytes = answer.read()
            return content


@contextmanager
def emulator(**manners: Any) -> Iterator[Emulator]:
    """Run an emulator until the block is left."""
    command = [sys.executable, str(Path(__file__).with_name("emulator.py")), json.dumps(manners)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        try:
            yield Emulator(int(process.stdout.readline()))
        finally:
            process.stdin.close()


class Engine:
    """A search engine of the emulator."""

    def __init__(self, context: Context, url: str) -> None:
        self._http = context.http()
        self._url = url

    async def search(self, request: SearchRequest, call: Call, /) -> SearchPage:
        answer = await self._http.get(self._url, params={"q": request.query}, timeout=call.remaining())
        answer.raise_for_status()
        found = answer.json()["results"]
        return SearchPage(hits=tuple(Hit(**one) for one in found[: request.limit]))


def engines(port: int) -> list[EntryPoint]:
    """Return the engines as plugins: alpha, and beta that may hang."""
    return [plugin(name, _engine(f"http://127.0.0.1:{port}/search/{name}")) for name in ("alpha", "beta")]


def _engine(url: str) -> Any:
    return search_provider("The emulator's", limits=Limits(at_once=1000, timeout=30))(
        lambda context: Engine(context, url)
    )


def client(
    world: Emulator, folder: Path, settings: Mapping[str, Any] | None = None, plugins: Sequence[EntryPoint] = ()
) -> leadline.Client:
    """Return a client whose model, engines and pages are the emulator's, with other plugins beside them."""
    values = {
        "ai.providers": ["openai"],
        "plugins.openai.base_url": world.base_url,
        "plugins.openai.model": "emulated",
        "search.engines": ["alpha"],
        "read.fetchers": ["web"],
        "plugins.web.allow": ["127.0.0.0/8"],
        "plugins.web.ports": [world.port],
        # As who serves many runs from one process sets it: politeness to a dozen hosts is not what is measured.
        "plugins.web.per_host": 500,
        "limits.web.at_once": 500,
        "limits.openai.at_once": 500,
    }
    return leadline.Client(
        plugins=[*engines(world.port), *plugins],
        folder=folder / "runs",
        cache=folder / "cache",
        set=values | dict(settings or {}),
    )
