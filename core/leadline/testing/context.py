"""What plugins receive, for tests: a real context with parsers of your choice, a call, a run, findings."""

from __future__ import annotations

import inspect
import json
import weakref
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from types import SimpleNamespace
from typing import Any, Literal, TypeVar

from leadline._hosting.context import PluginContext
from leadline._runtime.calls.job import check_usage
from leadline._runtime.calls.keys import call_text, plain
from leadline._runtime.runs.findings_board import FindingsBoard, StageFindings
from leadline._runtime.runs.folder import path_inside, write_atomically
from leadline._runtime.task_groups import each
from leadline.contracts import Call, Context, Parser
from leadline.encoding import decode, encode, require_type
from leadline.errors import NeedsClarification, PluginError, Unsupported, UsageError
from leadline.findings import Key
from leadline.hookspecs import map_stage, offers_of
from leadline.records import Answer, Blob, Document, Json, Record, Usage
from leadline.schemas import answer_fault
from leadline.settings import Settings
from leadline.tasks import Task, checked

T = TypeVar("T")
U = TypeVar("U")
R = TypeVar("R", bound=Record)
# The verbs that ask plugins: a fake run has their replies from the test.
_VERBS = {"search", "fetch", "download", "retrieve", "synthesize", "draw", "execute", "embed", "judge", "format"}
_VECTORS = ("put", "remove", "search", "describe")


class FakeRun:
    """A run without plugins: facts, calls, files, notices and questions are real, and other replies are the test's.

        FakeRun(replies={"swot_points": Points(…), "search": lambda request: SearchPage(…)})

    A key of `replies` is the name of a task (`perform`) or of a verb: `search`, `fetch`, `download`, `synthesize`,
    `draw`, `execute`, `embed`, `rerank`, `retrieve`, `judge`, `format`, `vectors.put`, …. A reply is a record, an error
    to raise, or a function of the request; a list of them is in order, and its last item stays. `asked` records them.

    `answers` are those of a person to the questions of `ask`, in order: the content of an accepted answer, or a whole
    `Answer`. Without one there is nobody to ask. `questions` records those that were asked, `emitted` the events.
    """

    id = "test"
    question = "How deep is the harbour?"
    principal = None
    stages: tuple[str, ...] = ()
    models: Sequence[str] = ()
    finds_sources = True
    rounds_left = 0

    def __init__(
        self,
        settings: Settings | None = None,
        answers: Sequence[Answer | Json] = (),
        replies: Mapping[str, Any] | None = None,
        folder: Path | None = None,
    ) -> None:
        self.settings = settings or Settings()
        self.answers = list(answers)
        self.replies = {key: [*reply] if isinstance(reply, list) else reply for key, reply in (replies or {}).items()}
        self.asked: list[tuple[str, Any]] = []
        self.questions: list[tuple[str, Json]] = []
        self.tags: dict[str, str] = {}
        self.emitted: list[tuple[str, Json]] = []
        self._folder = folder
        self._stored: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        if name in _VERBS:
            return partial(self._reply, name)
        raise AttributeError(f"a run has no {name!r}")

    @property
    def folder(self) -> Path:
        """A folder that ends with the test."""
        if self._folder is None:
            self._folder = Path(mkdtemp(prefix="leadline-test-"))
            weakref.finalize(self, rmtree, self._folder, ignore_errors=True)
        return self._folder

    @property
    def notices(self) -> list[str]:
        """The notices so far."""
        return [str(data["message"]) for kind, data in self.emitted if kind == "notice"]

    def now(self) -> datetime:
        """Return a fixed time."""
        return datetime(2026, 1, 1, tzinfo=UTC)

    async def emit(self, kind: str, data: Json) -> None:
        """Record the event."""
        self.emitted.append((kind, data))

    async def ask(
        self, message: str, json_schema: Json, default: Json | None = None, *, wait: float | None = None
    ) -> Answer:
        """Return the next answer, else accept the default. Raises `NeedsClarification` if there is neither."""
        self.questions.append((message, json_schema))
        answer = self.answers.pop(0) if self.answers else default
        if answer is None:
            raise NeedsClarification(message)
        given = answer if isinstance(answer, Answer) else Answer(action="accept", content=answer)
        if fault := answer_fault(json_schema, given):
            raise UsageError(f"the answer to {message!r} does not fit the question: {fault}")
        return given

    async def perform(self, task: Task[R], /) -> R:
        """Return the reply to a task, which must pass its check. Raises `BadReply` if it does not."""
        reply = await self._reply(task.name, task.inputs)
        if isinstance(reply, Mapping):
            reply = task.reply.model_validate(reply)
        return checked(require_type(reply, task.reply), task)

    async def by_chat(self, task: str, role: str = "task") -> bool:
        """Return whether the test has a reply to this task."""
        return task in self.replies

    async def draws(self, language: str, /) -> bool:
        """Return whether the test has a figure."""
        return "draw" in self.replies

    async def rerank(self, query: str, texts: Sequence[str], /) -> Any:
        """Return the scores of the test; None without."""
        return await self._reply("rerank", query, texts) if "rerank" in self.replies and texts else None

    @property
    def vectors(self) -> Any:
        """The vector store of the test."""
        return SimpleNamespace(**{verb: partial(self._reply, f"vectors.{verb}") for verb in _VECTORS})

    async def call(
        self,
        kind: str,
        request: Record,
        do: Callable[[Any, Call], Any],
        reply: type[R],
        *,
        sample: int = 0,
        effect: bool = False,
    ) -> R:
        """Make a call once for equal content; request and reply pass through JSON as in a run."""
        key = call_text(kind, kind, "", plain(request), sample).decode()
        self.asked.append((kind, request))
        if key not in self._stored:
            self._stored[key] = encode(await do(request, FakeCall(run=self)), reply)[0]
        return decode(self._stored[key], reply)

    async def fact(self, name: str, make: Callable[[], Any]) -> Any:
        """Return the JSON value that `make` returned at first."""
        if name not in self._stored:
            value = make()
            self._stored[name] = json.dumps(await value if inspect.isawaitable(value) else value)
        return json.loads(self._stored[name])

    async def each(self, items: Sequence[T], do: Callable[[T], Awaitable[U]]) -> list[U]:
        """Call `do` for all items concurrently."""
        return await each(items, do)

    def prefetch(self, work: Coroutine[Any, Any, object], /) -> None:
        """Do nothing: a later stage makes the call itself."""
        work.close()

    async def save(self, file: Blob, /) -> Path:
        """Write a file into the folder."""
        return write_atomically(path_inside(self.folder, file.name), file.data)

    async def _reply(self, key: str, *request: Any, **options: Any) -> Any:
        self.asked.append((key, request[0] if len(request) == 1 else request))
        if key not in self.replies:
            raise PluginError(
                f"the test has no reply to {key!r}, which the plugin asks for: pass FakeRun(replies={{{key!r}: …}}); "
                f"it has: {', '.join(self.replies) or 'none'}"
            )
        reply = self.replies[key]
        if isinstance(reply, list):
            reply = reply.pop(0) if len(reply) > 1 else reply[0]
        if callable(reply) and not isinstance(reply, type):
            reply = reply(*request)
            reply = await reply if inspect.isawaitable(reply) else reply
        if isinstance(reply, Exception):
            raise reply
        return reply


def fake_findings(stage: object, values: Mapping[Key[Any], Any]) -> StageFindings:
    """Return findings as a decorated stage receives them; keys that it does not declare and wrong types are errors.

    `values` are the findings before the stage; `patch` of the result has what the stage wrote, by key.
    """
    offer: Any = offers_of(stage)["stages"]
    board = FindingsBoard()
    for key, value in values.items():
        board.put(key, value)
    if isinstance(offer, map_stage):  # its results are returned, not written
        return StageFindings(offer.make.__name__, board, (offer.over, *offer.needs, *offer.wants), ())
    return StageFindings(offer.make.__name__, board, (*offer.needs, *offer.wants), (*offer.gives, *offer.may_give))


class FakeCall:
    """A call that records what was emitted and spent; `run` is a `FakeRun`, for plugins that ask others."""

    task = "test"
    key = "test"
    traceparent = ""

    def __init__(self, seconds: float = 60.0, run: Any = None) -> None:
        self.followed = True
        self.run: Any = run
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
        """Record the usage. Raises `TypeError` and `ValueError` for an invalid one, as in a run."""
        check_usage(usage)
        self.spent.append(usage)


# Makes the call for a request.
NewCall = Callable[[], FakeCall]


class _TestContext(PluginContext):
    """A context with parsers of its own; they are created after it because they receive it."""

    parsers: Sequence[Parser] = ()

    def parses(self, media_type: str) -> bool:
        return any(parser.accepts(media_type) for parser in self.parsers)

    async def parse(self, blob: Blob, call: Call) -> Document:
        for parser in self.parsers:
            if parser.accepts(blob.media_type):
                return await parser.parse(blob, call)
        raise Unsupported(f"{blob.name}: no parser accepts {blob.media_type}")


def fake_context(cache_dir: Path, *parsers: Callable[[Context], Parser], name: str = "test") -> PluginContext:
    """Return a context with these parsers, in order; each is created with the context."""
    context = _TestContext(name, cache_dir)
    context.parsers = [make(context) for make in parsers]
    return context
