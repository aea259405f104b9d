"""The contracts: protocols that plugins implement, and the objects that plugins receive.

A contract is an async method that takes a frozen record and a `Call` and returns a frozen record. One call is one
outside request (a chat, a page of search results, a download, an execution), so that limits, retries, prices and the
journal are exact. A provider therefore never retries, pages, repairs or caches by itself.

The core creates a provider once for all runs of a client with equal settings and calls it concurrently on one event
loop; data of a user or a run arrives with the call. A provider that is an async context manager is entered before its
first call and exited at the end, both in the same task. Both have a time limit.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from logging import Logger
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, Protocol, TypeVar

from leadline.findings import Findings
from leadline.records import (
    AddedDocuments,
    Answer,
    Blob,
    Chart,
    ChatReply,
    ChatRequest,
    Code,
    Document,
    DocumentChange,
    DocumentList,
    DocumentSelection,
    Embeddings,
    EmbedRequest,
    Event,
    Execution,
    FetchRequest,
    Figure,
    Files,
    Hit,
    Json,
    Judgements,
    JudgeRequest,
    ModelTraits,
    NewDocuments,
    PassageRequest,
    Passages,
    Principal,
    Ranking,
    Record,
    Report,
    RerankRequest,
    SearchPage,
    SearchRequest,
    Synthesis,
    SynthesisRequest,
    Usage,
    VectorBatch,
    VectorCollection,
    VectorCount,
    VectorListing,
    VectorMatches,
    VectorQuery,
    VectorRemoval,
)

if TYPE_CHECKING:
    from asyncio import Event as Closing

    from httpx import AsyncClient

    from leadline.settings import Settings
    from leadline.tasks import Task

P = ParamSpec("P")
T = TypeVar("T")
U = TypeVar("U")
Q = TypeVar("Q", bound=Record)
R = TypeVar("R", bound=Record)
Q_in = TypeVar("Q_in", bound=Record, contravariant=True)
R_out = TypeVar("R_out", bound=Record, covariant=True)

# --- objects that plugins receive --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Check:
    """What `leadline doctor` found of one part, and the next command; `bad` prevents research."""

    what: str
    state: Literal["ok", "note", "bad"]
    detail: str
    next: str = ""


class Run(Protocol):
    """One question processed by one pipeline, as every provider sees it (`call.run`); stages get a `StageRun`.

    Each method that makes a call raises `CallFailed` if the call failed for good, and `CallRefused` if Leadline refused
    it: budget, deadline, stop, or a middleware's rule. Only a provider with `work="composite"` or tasks in `uses` may
    use one.
    """

    id: str
    question: str
    """As the user asked it."""
    tags: Mapping[str, str]
    """Labels of the caller: cost centre, ticket, …"""
    principal: Principal | None
    settings: Settings

    def now(self) -> datetime:
        """Return the time at which the run began, in UTC; the same throughout the run and after a resume."""

    async def emit(self, kind: str, data: Json) -> None:
        """Send an event to every observer."""

    async def by_chat(self, task: str, role: str = "task") -> bool:
        """Return whether a language model is the first choice for this task, so that work can overlap its latency."""

    async def perform(self, task: Task[R], /) -> R:
        """Perform a typed task with the providers of `ai.providers`, in order."""

    async def execute(self, code: Code, /) -> Execution:
        """Run code in the configured sandbox."""

    async def embed(self, texts: Sequence[str], /, embedder: str = "", *, keep: bool = True) -> Embeddings:
        """Embed texts with the embedder `NAME` or `NAME:MODEL`, by default that of `ai.embedder`.

        `knowledge.embedder` is the other choice. Without `keep`, the journal does not store the vectors.
        """

    @property
    def vectors(self) -> Vectors:
        """The vector store of `knowledge.store`."""

    async def ask(
        self, message: str, json_schema: Json, default: Json | None = None, *, wait: float | None = None
    ) -> Answer:
        """Ask the user and return the answer; its action is `decline` if the run is to go on without one.

        If there is nobody to ask now, return `default`; without one raise `NeedsClarification`, which ends the session:
        the run waits without a process until somebody answers, and continues with the answer: let the error pass. After
        `wait` seconds, `default` counts, or `CallFailed` is raised. Equal questions of a run are one question, and a
        resumed run has the answers it got.
        """

    async def each(self, items: Sequence[T], do: Callable[[T], Awaitable[U]]) -> list[U]:
        """Call `do` for all items concurrently and return the results in the order of the items.

        The first error is raised itself, the others are added to it as notes. No task is left running.
        """


class StageRun(Run, Protocol):
    """The run of a stage, which makes all outside requests through it.

    The journal stores each reply and returns it on resume and replay, so a stage is deterministic given its calls.
    """

    folder: Path

    @property
    def notices(self) -> Sequence[str]:
        """What the run had to do without so far, for the method section of the report."""

    @property
    def models(self) -> Sequence[str]:
        """The language models whose replies were used so far, as `provider:model`, for example `openai:gpt-5`."""

    async def search(self, request: SearchRequest, /) -> SearchPage:
        """Search with the configured strategy over the configured engines."""

    async def fetch(self, request: FetchRequest, /) -> Document:
        """Fetch a URL with the first fetcher that accepts it, and parse the response."""

    async def download(self, request: FetchRequest, /) -> Blob:
        """Fetch a URL without parsing it, within the `accept` and `size` of the request."""

    async def synthesize(self, request: SynthesisRequest, /) -> Synthesis:
        """Write sections of the report with the configured synthesizer."""

    async def draw(self, chart: Chart, /) -> Figure:
        """Draw a chart with the configured chart runner."""

    async def draws(self, language: str, /) -> bool:
        """Return whether a configured chart runner draws charts in this language, such as `data` or `python`."""

    async def retrieve(self, request: PassageRequest, /) -> Passages:
        """Return the passages of stored documents (`knowledge.base`) that answer a question best."""

    async def rerank(self, query: str, texts: Sequence[str], /) -> Ranking | None:
        """Rate texts with the reranker of `ai.reranker`; None if none is configured."""

    async def judge(self, request: JudgeRequest, name: str, /) -> Judgements:
        """Judge claims with the judge of that name."""

    async def format(self, report: Report, name: str, /) -> Files:
        """Render a report with the formatter of that name."""

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
        """Make any other outside request by calling `do`. `kind` names it in the journal.

        Calls of a run with equal content are one call; a different `sample` marks a deliberate repetition. A call with
        an `effect` outside is not interrupted when the run stops; if the process dies during it, it runs again with the
        same `call.key`.
        """

    async def fact(self, name: str, make: Callable[[], Any]) -> Any:
        """Return the JSON value that `make` returned, or what it had to wait for, when this run first asked for `name`.

        For values that differ between runs: the time, random numbers, the environment.
        """

    def prefetch(self, work: Coroutine[Any, Any, object], /) -> None:
        """Start calls that a later stage will make; that stage reuses the result or joins the call in flight.

        The work is cancelled when the run ends. Its failures are reported where a stage makes the call itself.
        """

    @property
    def stages(self) -> tuple[str, ...]:
        """The names of the stages of the pipeline in order; stages of a loop appear once."""

    @property
    def finds_sources(self) -> bool:
        """True if a stage of the pipeline may find sources; the report of any other needs none."""

    @property
    def rounds_left(self) -> int:
        """The maximum number of rounds after this one; 0 outside a loop."""

    async def save(self, file: Blob, /) -> Path:
        """Write a file into the folder of the run, atomically, and return its path."""


class Vectors(Protocol):
    """The configured vector store, with the methods of `VectorStore`; each makes one call."""

    async def put(self, request: VectorBatch, /) -> VectorCount: ...
    async def remove(self, request: VectorRemoval, /) -> VectorCount: ...
    async def search(self, request: VectorQuery, /) -> VectorMatches: ...
    async def describe(self, request: VectorListing, /) -> VectorCollection: ...


class Call(Protocol):
    """One outside request. On `CancelledError`, release your resources and let it propagate."""

    task: str
    """The purpose: `write`, `search`, …"""
    key: str
    """An idempotency key: the same for every attempt."""
    traceparent: str
    """The value of the W3C `traceparent` header."""

    @property
    def run(self) -> Run:
        """The run that makes the request."""

    @property
    def followed(self) -> bool:
        """True if somebody receives the pieces of a streamed reply; otherwise streaming is unnecessary."""

    def remaining(self) -> float:
        """Return the seconds until the deadline."""

    def emit(self, kind: Literal["text", "reasoning"], delta: str) -> None:
        """Send a piece of a streamed reply, from any thread. Return the complete reply at the end all the same."""

    def spend(self, usage: Usage) -> None:
        """Report usage, from any thread; it counts even if the call fails afterwards."""


class Context(Protocol):
    """What a plugin receives when it is created."""

    name: str
    """The name of the plugin's settings section."""
    log: Logger
    cache_dir: Path
    """A folder for this plugin alone, kept across runs."""
    caches: bool
    """False if the user wants no replies of other runs (`--no-cache`): neither read nor write what you keep of them."""
    own: tuple[Path, ...]
    """Leadline's folders for runs and caches; they contain no documents of the user."""

    def http(self, **options: Any) -> AsyncClient:
        """Return an httpx client with the proxy and certificates of the environment; Leadline closes it.

        It has no timeout but 10 s for a connection: the deadline of the call limits a request, and cancels it.
        `options` are those of `httpx.AsyncClient`.
        """

    async def in_thread(self, do: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run blocking code in one of the eight threads of this plugin."""

    async def parse(self, blob: Blob, call: Call) -> Document:
        """Parse bytes with the configured parsers. Raises `Unsupported` if none accepts the media type."""

    def parses(self, media_type: str) -> bool:
        """Return whether a configured parser accepts this media type."""


# --- contracts -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Search:
    """An engine as strategies see it: one page with as many pages of results as the limit of the request needs.

    `free`: it contacts nobody, such as an index on this machine, or has the stored documents. A strategy never drops it
    as too slow.
    """

    ask: Callable[[SearchRequest], Coroutine[Any, Any, SearchPage]]
    free: bool = False

    def __call__(self, request: SearchRequest) -> Coroutine[Any, Any, SearchPage]:
        """Search."""
        return self.ask(request)


class AIProvider(Protocol):
    """A vendor of language models. The core renders typed tasks as chats, and parses and repairs the replies."""

    def traits(self, model: str, /) -> ModelTraits: ...
    async def chat(self, request: ChatRequest, call: Call, /) -> ChatReply: ...


class TaskProvider(Protocol):
    """Performs typed tasks without a chat; raises `Unsupported` for a task that it does not know.

    A provider with `algorithm=True`, such as `embedded`, is not used for tasks that require understanding
    language; the stages then work without them.
    """

    async def perform(self, task: Task[R], call: Call, /) -> R: ...


class SearchProvider(Protocol):
    """A search engine: one request, one page of hits, best first.

    A list is the only page; the core requests the page after a `SearchPage` with its `cursor`.
    """

    async def search(self, request: SearchRequest, call: Call, /) -> SearchPage | list[Hit]: ...


class SearchStrategy(Protocol):
    """Combines several engines for one query. `engines` are in the order of the settings.

    Each engine call is journalled and limited like any call, and raises `CallFailed` if it fails. If all engines fail,
    raise their failures together as an `ExceptionGroup`.
    """

    async def search(self, request: SearchRequest, engines: Mapping[str, Search], call: Call, /) -> SearchPage: ...


class Fetcher(Protocol):
    """Downloads a URL: the engine that found it if it accepts it, else the first fetcher in the settings that does."""

    def accepts(self, url: str, /) -> bool: ...
    async def fetch(self, request: FetchRequest, call: Call, /) -> Blob: ...


class Parser(Protocol):
    """Turns bytes into a document. The first parser in the settings that accepts a media type is used."""

    def accepts(self, media_type: str, /) -> bool: ...
    async def parse(self, blob: Blob, call: Call, /) -> Document: ...


class Synthesizer(Protocol):
    """Writes sections of a report from its book of evidence. A section without text is left out of the report."""

    async def synthesize(self, request: SynthesisRequest, call: Call, /) -> Synthesis: ...


class ChartRunner(Protocol):
    """Draws charts in the languages it accepts, such as `data`, `python` or `vega-lite`."""

    def accepts(self, language: str, /) -> bool: ...
    async def draw(self, chart: Chart, call: Call, /) -> Figure: ...


class Sandbox(Protocol):
    """Runs code in isolation."""

    async def execute(self, code: Code, call: Call, /) -> Execution: ...


class ReportFormatter(Protocol):
    """Renders a report as files, without side effects; publishing belongs in a stage."""

    async def format(self, report: Report, call: Call, /) -> Files: ...


class Embedder(Protocol):
    """Turns texts into vectors."""

    async def embed(self, request: EmbedRequest, call: Call, /) -> Embeddings: ...


class VectorStore(Protocol):
    """Keeps the vectors of passages in collections, and finds the nearest.

    A collection exists once a document is put into it; its vectors have the size of the first one. `put` replaces all
    vectors of a document: a search finds either the old ones or the new ones, also after a crash.
    """

    async def put(self, request: VectorBatch, call: Call, /) -> VectorCount: ...
    async def remove(self, request: VectorRemoval, call: Call, /) -> VectorCount: ...
    async def search(self, request: VectorQuery, call: Call, /) -> VectorMatches: ...
    async def describe(self, request: VectorListing, call: Call, /) -> VectorCollection: ...


class KnowledgeBase(SearchProvider, Protocol):
    """A search engine that keeps documents; `knowledge.base` names one.

    Its offer is one of search providers, with `work="composite"` if it uses the embedder and the vector store of the
    run. Each principal has documents of its own, and finds the shared ones as well; without one, a call works on the
    shared ones.
    """

    async def add(self, request: NewDocuments, call: Call, /) -> AddedDocuments: ...
    async def remove(self, request: DocumentSelection, call: Call, /) -> DocumentList: ...
    async def change(self, request: DocumentChange, call: Call, /) -> DocumentList: ...
    async def documents(self, request: DocumentSelection, call: Call, /) -> DocumentList: ...
    async def retrieve(self, request: PassageRequest, call: Call, /) -> Passages: ...

    def folder(self, principal: Principal | None) -> Path:
        """Return the folder of a principal's documents, for backups and erasure."""

    async def import_folder(self, folder: Path | None) -> int | None:
        """Bring all documents of a machine, by default this one, to where several machines keep theirs.

        Return the number of those that were not there, or None if documents are kept on this machine.
        """

    async def export_folder(self, folder: Path) -> bool:
        """Write all documents into a folder, as one machine has them; return False if this is one."""


class Reranker(Protocol):
    """Rates texts by how well they answer a query."""

    async def rerank(self, request: RerankRequest, call: Call, /) -> Ranking: ...


class ClaimJudge(Protocol):
    """Decides whether cited passages support claims.

    Leadline calls the judges of `verify.judges` in order; each leaves claims that it cannot decide to the next one. A
    judge quotes the exact words of the passage that support its verdict.
    """

    async def judge(self, request: JudgeRequest, call: Call, /) -> Judgements: ...


class Stage(Protocol):
    """A step of a pipeline that reads and writes findings."""

    async def run(self, findings: Findings, run: StageRun, /) -> None: ...


class ReportChecker(Stage, Protocol):
    """A stage that also checks reports outside of runs: `checker` in a `defaults.toml` names it."""

    async def check_report(self, report: Report | str, run: StageRun, /, *, fetch: bool) -> Json:
        """Return what was found. A report as data is judged by its stored sources, one in Markdown by fetched ones."""


class MapStage(Protocol[Q_in, R_out]):
    """A step that processes items one by one, each as soon as it is available. Results keep the order of the items.

    `findings` show the state at the start of the group of map stages. A map stage may have a second method,
    `rest(items, findings, run)`, for decisions that need all items: it is called once per round, when all items are
    known, concurrently with the last ones.
    """

    async def map(self, item: Q_in, findings: Findings, run: StageRun, /) -> Sequence[R_out]: ...


class Middleware(Protocol):
    """Wraps each outside request between journal and provider: changes request or reply, or raises `Refused`.

    Work that contacts nobody is no outside request: calls of providers with `work="local"`, formatting, and questions
    to the user. If a refusal leaves nothing to report, the run ends as `failed` with its reason.

    With `live = False`, streamed deltas are held back until the middleware has seen the whole reply.
    """

    live: bool

    async def around(self, request: Q, call: Call, proceed: Callable[[Q], Awaitable[R]], /) -> R: ...


class Observer(Protocol):
    """Receives the events of a run in order. It has its own queue, so it can neither slow a run nor break it.

    An observer with `deltas = False` receives no pieces of streamed replies (`call.delta`). If nobody receives them,
    replies need not be streamed at all.
    """

    async def observe(self, event: Event, /) -> None: ...


@dataclass(frozen=True)
class Submission:
    """An order of a server's queue: a run, how often it was ordered before, and who ordered it."""

    run_id: str
    number: int = 0
    principal: str = field(default="", compare=False)
    priority: int = field(default=0, compare=False)


CarryOut = Callable[[Submission, int], Coroutine[Any, Any, None]]


class Dispatcher(Protocol):
    """Brings the orders of a server to its workers: which process carries one out, and when.

    `runs.dispatcher` names it. Orders and runs are kept elsewhere. Every method may be called in several processes, and
    repeated after a crash.
    """

    async def submit(self, order: Submission, /) -> None:
        """Accept an order, once however often it is repeated. Principals take turns; a higher priority comes first."""

    async def cancel(self, order: Submission, /) -> None:
        """Drop an order that was withdrawn, unless it is carried out already."""

    async def work(self, carry_out: CarryOut, /, *, slots: int, closing: Closing) -> None:
        """Carry out orders, at most `slots` at once, until `closing` is set; return when the last one has returned.

        `carry_out` takes an order and the number of the attempt, which is higher than those before. If it raises, or
        its process dies, there is another attempt, by any worker. It is cancelled when another worker has the order.
        """
