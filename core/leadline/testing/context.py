"""What the house lends a plugin, for tests: the real context over parsers of the test's choice, and a call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from leadline.contracts import Call, Context, Parser
from leadline.errors import Unsupported
from leadline.findings import Key
from leadline.hookspecs import StageOffer
from leadline.hosting.context import HouseContext
from leadline.records import Blob, Document, Json, Usage
from leadline.runs.board import Board, View
from leadline.settings.model import Settings


class FakeRun:
    """What a plugin may ask of its run without a door: settings, a clock that stands, notices. Keeps what was told."""

    id = "test"
    question = "How deep is the harbour?"
    principal = None

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self.tags: dict[str, str] = {}
        self.told: list[tuple[str, Json]] = []

    def now(self) -> datetime:
        """Return the same moment each time."""
        return datetime(2026, 1, 1, tzinfo=UTC)

    async def emit(self, kind: str, data: Json) -> None:
        """Keep the event."""
        self.told.append((kind, data))


def fake_findings(offer: StageOffer[Any], values: Mapping[Key[Any], Any]) -> View:
    """Return findings as a run hands them to a stage: what its offer does not declare is a fault, as is a wrong type.

    `values` is what stands there before it; `patch` of what is returned has what the stage wrote, by key.
    """
    board = Board()
    for key, value in values.items():
        board.put(key, value)
    return View("tested", board, (*offer.needs, *offer.wants), (*offer.gives, *offer.may_give))


class FakeCall:
    """A call without a run; keeps what was emitted and spent."""

    task = "test"
    key = "test"
    traceparent = ""

    def __init__(self, seconds: float = 60.0) -> None:
        self.followed = True
        self.run: Any = None
        self.emitted: list[tuple[str, str]] = []
        self.spent: list[Usage] = []
        self._seconds = seconds

    def remaining(self) -> float:
        """Return the seconds it was made with."""
        return self._seconds

    def emit(self, kind: Literal["text", "reasoning"], delta: str) -> None:
        """Keep the piece."""
        self.emitted.append((kind, delta))

    def spend(self, usage: Usage) -> None:
        """Keep the usage."""
        self.spent.append(usage)


class _Parsers:
    """The parsers of a context; made after it, for they are lent it."""

    def __init__(self) -> None:
        self.parsers: Sequence[Parser] = ()

    def parses(self, media_type: str) -> bool:
        return any(parser.accepts(media_type) for parser in self.parsers)

    async def parse(self, blob: Blob, call: Call) -> Document:
        for parser in self.parsers:
            if parser.accepts(blob.media_type):
                return await parser.parse(blob, call)
        raise Unsupported(f"{blob.name}: no parser accepts {blob.media_type}")


def fake_context(cache_dir: Path, *parsers: Callable[[Context], Parser], name: str = "test") -> HouseContext:
    """Return a context whose `parse` asks these parsers, each made with it, in order."""
    reader = _Parsers()
    context = HouseContext(name, cache_dir, reader)
    reader.parsers = [make(context) for make in parsers]
    return context
