"""The contracts: protocols that plugins fulfil by shape, and what plugins are handed.

One form throughout: an async verb takes a frozen record and a `Call` and returns a frozen record. One call is one
outside request (a chat, a page of search results, a fetch, an execution), so that limits, retry, price and journal are
right; no provider retries, pages, repairs or caches by itself. A plugin is made once for all runs of a client with
equal settings, and called concurrently on one event loop; what belongs to a user or a run comes with the call. A plugin
that is an async context manager is entered lazily and left at the end, by one task of its own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from datetime import datetime
from logging import Logger
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, Protocol, TypeVar

from leadline.findings import Findings
from leadline.records import (
    Answer,
    Blob,
    Chart,
    ChatReply,
    ChatRequest,
    Code,
    Document,
    Embeddings,
    EmbedRequest,
    Event,
    Execution,
    FetchRequest,
    Figure,
    Files,
    Json,
    Judgements,
    JudgeRequest,
    ModelTraits,
    Principal,
    Ranking,
    Record,
    Report,
    RerankRequest,
    SearchPage,
    SearchRequest,
    Section,
    SectionRequest,
    Usage,
)

if TYPE_CHECKING:
    from httpx import AsyncClient

    from leadline.settings.load import Settings
    from leadline.tasks import Task

P = ParamSpec("P")
T = TypeVar("T")
U = TypeVar("U")
Q = TypeVar("Q", bound=Record)
R = TypeVar("R", bound=Record)
Q_in = TypeVar("Q_in", bound=Record, contravariant=True)
R_out = TypeVar("R_out", bound=Record, covariant=True)

# --- what plugins are handed -----------------------------------------------------------------------------------------


class Run(Protocol):
    """One question going through one pipeline, and the one door to everything outside it.

    Each reply is journalled, and given again on resume and replay; so a stage is deterministic given its calls. Every
    verb raises `CallFailed` when the call failed for good, `CallRefused` when the house refused it.
    """

    id: str
    question: str
    """As it was asked."""
    tags: Mapping[str, str]
    """Cost centre, ticket, …"""
    principal: Principal | None
    settings: Settings
    folder: Path

    async def by_chat(self, task: str, role: str = "task") -> bool:
        """Return whether a language model is asked first for this task: work may then overlap with its latency."""
        ...

    @property
    def notices(self) -> Sequence[str]:
        """What was done with less so far: for the method section of the report."""
        ...

    @property
    def models(self) -> Sequence[str]:
        """The language models of which a reply was taken so far, each behind its provider: `openai:gpt-5`."""
        ...

    async def perform(self, task: Task[R], /) -> R:
        """Have a typed task done by the providers of `ai.providers`, in their order."""
        ...

    async def search(self, request: SearchRequest, /) -> SearchPage:
        """Search with the configured strategy over the configured engines."""
        ...

    async def fetch(self, request: FetchRequest, /) -> Document:
        """Fetch an address with the first fetcher that accepts it, and parse what came."""
        ...

    async def download(self, request: FetchRequest, /) -> Blob:
        """Fetch an address as it is, unparsed: what `accept` and `size` of the request allow."""
        ...

    async def synthesize(self, request: SectionRequest, /) -> Section:
        """Write one section with the configured synthesizer."""
        ...

    async def draw(self, chart: Chart, /) -> Figure:
        """Draw a chart with the configured chart runner."""
        ...

    async def draws(self, language: str, /) -> bool:
        """Return whether a chart runner is configured that draws charts in this language, as `data` or `python`."""
        ...

    async def execute(self, code: Code, /) -> Execution:
        """Run code in the configured sandbox."""
        ...

    async def embed(self, texts: Sequence[str], /) -> Embeddings:
        """Embed texts with the configured embedder."""
        ...

    async def rerank(self, query: str, texts: Sequence[str], /) -> Ranking | None:
        """Rate texts with the configured reranker (`ai.reranker`); None where none is configured."""
        ...

    async def judge(self, request: JudgeRequest, name: str, /) -> Judgements:
        """Have claims judged by the judge of that name."""
        ...

    async def format(self, report: Report, name: str, /) -> Files:
        """Render a report with the formatter of that name."""
        ...

    async def ask(self, message: str, json_schema: Json, default: Json | None = None) -> Answer:
        """Ask a person; where nobody can be asked, `default` is the answer, or `NeedsClarification` is raised."""
        ...

    async def call(
        self,
        kind: str,
        request: Q,
        do: Callable[[Q, Call], Awaitable[R]],
        reply: type[R],
        *,
        sample: int = 0,
        effect: bool = False,
    ) -> R:
        """Do other work outside. The same content is the same call: `sample` tells wanted repetitions apart.

        An effect is never cached or shared; after a crash in its midst it runs again, with the same `call.key`.
        """
        ...

    async def fact(self, name: str, make: Callable[[], Any]) -> Any:
        """Return what `make` gave (JSON) the first time this run asked for `name`: clocks, chance, the environment."""
        ...

    async def each(self, items: Sequence[T], do: Callable[[T], Awaitable[U]]) -> list[U]:
        """Do it for all items at once; the replies stand in the order of the items.

        The first real error is raised bare, the others as its notes; nothing is left running.
        """
        ...

    def ahead(self, work: Coroutine[Any, Any, object], /) -> None:
        """Begin work of which a later stage will ask the same calls: it finds them made, or under way.

        Nobody waits for it, and what fails in it is told where it is asked for again. It ends with the run.
        """
        ...

    @property
    def stages(self) -> tuple[str, ...]:
        """The names of the stages of the run's pipeline, in their order, those of a loop once."""
        ...

    @property
    def rounds_left(self) -> int:
        """How many rounds can follow this one at most; 0 outside of a loop."""
        ...

    async def save(self, file: Blob, /) -> Path:
        """Write a file into the run's folder, whole or not at all."""
        ...

    async def emit(self, kind: str, data: Json) -> None:
        """Send an event to every observer."""
        ...

    def now(self) -> datetime:
        """Return the moment the run began (UTC): one clock for the whole run, the same again on resume."""
        ...


class Call(Protocol):
    """One request. Cancellation is asyncio's: close what you hold and let it pass."""

    run: Run
    task: str
    """What for: `write`, `search`, …"""
    key: str
    """The same on every attempt: an idempotency key."""
    traceparent: str
    """The W3C header."""

    @property
    def followed(self) -> bool:
        """Whether somebody takes the pieces of a streamed reply: where nobody does, it need not be streamed."""
        ...

    def remaining(self) -> float:
        """Return the seconds to the deadline."""
        ...

    def emit(self, kind: Literal["text", "reasoning"], delta: str) -> None:
        """Pass on a piece of a streamed reply, from any thread; the return value is the whole all the same."""
        ...

    def spend(self, usage: Usage) -> None:
        """Report usage, from any thread; it counts though the call then fails."""
        ...


class Context(Protocol):
    """What the house lends when a plugin is made."""

    name: str
    """Of its settings section."""
    log: Logger
    cache_dir: Path
    """Its own, kept across runs."""
    own: tuple[Path, ...]
    """The house's folders: where runs are kept, and what is kept across them. No document lies in them."""

    def http(self, **options: Any) -> AsyncClient:
        """Return an httpx client with the house's proxy, certificates and agent; closed by the house.

        `options` are httpx's. It speaks HTTP/1.1; whoever needs more gives a `transport`. With `held`, for streams of
        tokens over plain HTTP, no more of an answer is taken from the network than is read, where that can be done.
        """
        ...

    async def in_thread(self, do: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run blocking code in the house's threads."""
        ...

    async def parse(self, blob: Blob, call: Call) -> Document:
        """Read bytes with the configured parsers; raises `Unsupported` where none accepts the media type."""
        ...

    def parses(self, media_type: str) -> bool:
        """Return whether a configured parser accepts this media type."""
        ...


# --- contracts -----------------------------------------------------------------------------------------------------

Search = Callable[[SearchRequest], Awaitable[SearchPage]]
"""An engine behind the door, as strategies see it: as many of its pages as `limit` takes come as one."""


class AIProvider(Protocol):
    """A chat vendor; the core renders, parses and repairs the typed tasks."""

    def traits(self, model: str, /) -> ModelTraits: ...
    async def chat(self, request: ChatRequest, call: Call, /) -> ChatReply: ...


class TaskProvider(Protocol):
    """Answers typed tasks without chat; raises `Unsupported` for a task it does not know.

    One that sets `algorithm = True`, as `embedded` does, is not asked what only understanding language can answer: the
    stages then do without.
    """

    async def perform(self, task: Task[R], call: Call, /) -> R: ...


class SearchProvider(Protocol):
    """A search engine: one request, one page of hits. The core asks for the next one by the `cursor` of the last."""

    async def search(self, request: SearchRequest, call: Call, /) -> SearchPage: ...


class SearchStrategy(Protocol):
    """How several engines serve one query. `engines` are in the order of the settings, each behind the door.

    An engine that fails raises `CallFailed`; when all of them fail, raise the failures together as an
    `ExceptionGroup`.
    """

    async def search(self, request: SearchRequest, engines: Mapping[str, Search], call: Call, /) -> SearchPage: ...


class Fetcher(Protocol):
    """Address to bytes; the first in the settings that accepts an address reads it."""

    def accepts(self, url: str, /) -> bool: ...
    async def fetch(self, request: FetchRequest, call: Call, /) -> Blob: ...


class Parser(Protocol):
    """Bytes to text; the first in the settings that accepts a media type reads it."""

    def accepts(self, media_type: str, /) -> bool: ...
    async def parse(self, blob: Blob, call: Call, /) -> Document: ...


class Synthesizer(Protocol):
    """Writes one section from its evidence; a section without text is left out of the report."""

    async def synthesize(self, request: SectionRequest, call: Call, /) -> Section: ...


class ChartRunner(Protocol):
    """Draws charts in the languages it accepts, such as `data`, `python` or `vega-lite`."""

    def accepts(self, language: str, /) -> bool: ...
    async def draw(self, chart: Chart, call: Call, /) -> Figure: ...


class Sandbox(Protocol):
    """Runs code where it can do no harm."""

    async def execute(self, code: Code, call: Call, /) -> Execution: ...


class ReportFormatter(Protocol):
    """A report in, files out, and nothing else; publishing is a stage's effect."""

    async def format(self, report: Report, call: Call, /) -> Files: ...


class Embedder(Protocol):
    """Texts to vectors."""

    async def embed(self, request: EmbedRequest, call: Call, /) -> Embeddings: ...


class Reranker(Protocol):
    """Rates texts by how well they answer a query, better than words and vectors do."""

    async def rerank(self, request: RerankRequest, call: Call, /) -> Ranking: ...


class ClaimJudge(Protocol):
    """Decides whether cited passages support claims.

    The judges of `verify.judges` are asked in order; each leaves what it cannot decide to the next. A judge quotes the
    exact words on which a verdict rests.
    """

    async def judge(self, request: JudgeRequest, call: Call, /) -> Judgements: ...


class Stage(Protocol):
    """A step of a pipeline."""

    async def run(self, findings: Findings, run: Run, /) -> None: ...


class MapStage(Protocol[Q_in, R_out]):
    """A step that works item by item, each as soon as it is there; results stand in the order of the items.

    `findings` are as they were when the group of map stages began. A map stage may have a second verb, `rest(items,
    findings, run)`, called once when all items of the round are known, beside the last of them: a choice that must see
    them all.
    """

    async def map(self, item: Q_in, findings: Findings, run: Run, /) -> Sequence[R_out]: ...


class Middleware(Protocol):
    """Stands between journal and provider: changes a request or reply, or raises `Refused`.

    `live`: False holds back streamed deltas until it has seen the reply.
    """

    live: bool

    async def around(self, request: Q, call: Call, proceed: Callable[[Q], Awaitable[R]], /) -> R: ...


class Observer(Protocol):
    """Watches: events in their order, from a queue of its own; it cannot slow or break a run.

    One that has no use for the pieces of streamed replies (`call.delta`) sets `deltas = False` and is spared them:
    where nobody follows, replies need not be streamed at all.
    """

    async def observe(self, event: Event, /) -> None: ...
