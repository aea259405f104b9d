"""What plugins receive, for tests: a real context with parsers of your choice, a call, a run, findings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from leadline._hosting.context import PluginContext
from leadline._runtime.runs.findings_board import FindingsBoard, StageFindings
from leadline.contracts import Call, Context, Parser
from leadline.errors import NeedsClarification, Unsupported, UsageError
from leadline.findings import Key
from leadline.hookspecs import map_stage, offers_of
from leadline.records import Answer, Blob, Document, Json, Usage
from leadline.schemas import answer_fault
from leadline.settings import Settings


class FakeRun:
    """A run with settings, a fixed clock and notices that makes no calls; `emitted` records its events.

    `answers` are those of a person to the questions of `ask`, in order: the content of an accepted answer, or a whole
    `Answer`. Without one there is nobody to ask. `questions` records those that were asked.
    """

    id = "test"
    question = "How deep is the harbour?"
    principal = None
    stages: tuple[str, ...] = ()

    def __init__(self, settings: Settings | None = None, answers: Sequence[Answer | Json] = ()) -> None:
        self.settings = settings or Settings()
        self.answers = list(answers)
        self.questions: list[tuple[str, Json]] = []
        self.tags: dict[str, str] = {}
        self.emitted: list[tuple[str, Json]] = []

    def now(self) -> datetime:
        """Return a fixed time."""
        return datetime(2026, 1, 1, tzinfo=UTC)

    async def emit(self, kind: str, data: Json) -> None:
        """Record the event."""
        self.emitted.append((kind, data))

    async def ask(self, message: str, json_schema: Json, default: Json | None = None, *, wait: float = 300) -> Answer:
        """Return the next answer, else accept the default. Raises `NeedsClarification` if there is neither."""
        self.questions.append((message, json_schema))
        answer = self.answers.pop(0) if self.answers else default
        if answer is None:
            raise NeedsClarification(message)
        given = answer if isinstance(answer, Answer) else Answer(action="accept", content=answer)
        if fault := answer_fault(json_schema, given):
            raise UsageError(f"the answer to {message!r} does not fit the question: {fault}")
        return given


def fake_findings(stage: object, values: Mapping[Key[Any], Any]) -> StageFindings:
    """Return findings as a decorated stage receives them; keys that it does not declare and wrong types are errors.

    `values` are the findings before the stage; `patch` of the result has what the stage wrote, by key.
    """
    offer: Any = offers_of(stage)["stages"]
    board = FindingsBoard()
    for key, value in values.items():
        board.put(key, value)
    if isinstance(offer, map_stage):  # its results are returned, not written
        return StageFindings("tested", board, (offer.over, *offer.needs, *offer.wants), ())
    return StageFindings("tested", board, (*offer.needs, *offer.wants), (*offer.gives, *offer.may_give))


class FakeCall:
    """A call without a run that records what was emitted and spent."""

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
        """Return the seconds that were passed to the constructor."""
        return self._seconds

    def emit(self, kind: Literal["text", "reasoning"], delta: str) -> None:
        """Record the piece."""
        self.emitted.append((kind, delta))

    def spend(self, usage: Usage) -> None:
        """Record the usage."""
        self.spent.append(usage)


# Makes the call for a request.
NewCall = Callable[[], FakeCall]


class _Parsers:
    """The parsers of a context, created after it because they receive it."""

    def __init__(self) -> None:
        self.parsers: Sequence[Parser] = ()

    def parses(self, media_type: str) -> bool:
        return any(parser.accepts(media_type) for parser in self.parsers)

    async def parse(self, blob: Blob, call: Call) -> Document:
        for parser in self.parsers:
            if parser.accepts(blob.media_type):
                return await parser.parse(blob, call)
        raise Unsupported(f"{blob.name}: no parser accepts {blob.media_type}")


def fake_context(cache_dir: Path, *parsers: Callable[[Context], Parser], name: str = "test") -> PluginContext:
    """Return a context with these parsers, in order; each is created with the context."""
    reader = _Parsers()
    context = PluginContext(name, cache_dir, reader)
    reader.parsers = [make(context) for make in parsers]
    return context
