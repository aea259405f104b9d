"""One run: a question going through one pipeline, and the verbs by which its stages reach what is outside.

Every verb goes through the run's one door; who answers is what the settings chose.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from leadline.assemble import House
from leadline.concurrency.tasking import each
from leadline.contracts import Call
from leadline.door.active import call_now, stage_now
from leadline.door.ahead import Ahead
from leadline.door.calls import Door
from leadline.door.faults import wished, words
from leadline.door.kinds import Kind, Maker
from leadline.errors import CallFailed, LeadlineError, PluginFault
from leadline.events import Bus
from leadline.findings import Key
from leadline.journal.wire import indented
from leadline.models.models import Models
from leadline.pipeline import Step
from leadline.records import (
    Answer,
    Blob,
    Chart,
    Code,
    Document,
    Embeddings,
    Execution,
    FetchRequest,
    Figure,
    Files,
    Json,
    Judgements,
    JudgeRequest,
    Principal,
    Ranking,
    Record,
    Report,
    SearchPage,
    SearchRequest,
    Section,
    SectionRequest,
)
from leadline.runs.budget import Budget
from leadline.runs.folder import inside, write_whole
from leadline.runs.making import Making
from leadline.runs.person import Asker, Person
from leadline.runs.reading import Reading
from leadline.runs.searching import Searching
from leadline.runs.state import RunState
from leadline.settings.load import Settings
from leadline.tasks import Task

T = TypeVar("T")
U = TypeVar("U")
Q = TypeVar("Q", bound=Record)
R = TypeVar("R", bound=Record)


@dataclass
class ActiveRun:
    """A run while it goes on (`leadline.contracts.Run`); the engine drives it, the stages use it."""

    id: str
    question: str
    folder: Path
    began: datetime
    house: House
    bus: Bus
    budget: Budget
    state: RunState
    settings: Settings
    chosen: Mapping[str, tuple[str, ...]]
    tags: Mapping[str, str] = field(default_factory=dict)
    principal: Principal | None = None
    asker: Asker | None = None
    readonly: bool = False
    """A replay: nothing is written."""
    rounds_left: int = 0
    _ahead: Ahead = field(default_factory=Ahead)

    def open(self, door: Door) -> None:
        """Take the door; made after the run, since the door hands the run to its calls."""
        self.door = door
        providers, closing = self.chosen["ai.providers"], lambda: self.budget.reserved
        self._models = Models(self.house, door, self.settings, providers, self._notice, closing)
        engines = self.chosen["search.engines"]
        self._searching = Searching(self.house, door, self.settings, engines, self._notice)
        self._reading = Reading(self.house, door, self.chosen["read.fetchers"], self.chosen["read.parsers"])
        self._making = Making(self.house, door, self.chosen, self._models, self.folder)
        self._person = Person(self.asker, self.settings.clarify.timeout, door, self.bus, self.state)

    # --- verbs ---

    async def perform(self, task: Task[R], /) -> R:
        """Have a typed task done."""
        return await self._models.perform(task)

    async def search(self, request: SearchRequest, /) -> SearchPage:
        """Search with the configured strategy over the configured engines."""
        return await self._searching.search(request)

    async def fetch(self, request: FetchRequest, /) -> Document:
        """Fetch an address and parse what came; the two are one call to the caller."""
        return await self._reading.read(request)

    async def download(self, request: FetchRequest, /) -> Blob:
        """Fetch an address as it is."""
        return await self._reading.fetch(request)

    async def synthesize(self, request: SectionRequest, /) -> Section:
        """Write one section."""
        return await self._making.synthesize(request)

    async def draw(self, chart: Chart, /) -> Figure:
        """Draw a chart."""
        return await self._making.draw(chart)

    async def draws(self, language: str, /) -> bool:
        """Return whether a chart runner is configured that draws this language."""
        return await self._making.draws(language)

    async def execute(self, code: Code, /) -> Execution:
        """Run code in the sandbox."""
        return await self._making.execute(code)

    async def embed(self, texts: Sequence[str], /) -> Embeddings:
        """Embed texts with the model that the settings name, else with the embedder's own."""
        return await self._making.embed(texts)

    async def rerank(self, query: str, texts: Sequence[str], /) -> Ranking | None:
        """Rate texts with the configured reranker; None where none is configured."""
        return await self._making.rerank(query, texts)

    async def judge(self, request: JudgeRequest, name: str, /) -> Judgements:
        """Have claims judged by the judge of that name; judgements on other claims are dropped with a notice."""
        made = await self._making.judge(request, name)
        asked = {claim.id for claim in request.claims}
        kept = tuple(one for one in made.judgements if one.claim_id in asked)
        if others := len(made.judgements) - len(kept):
            what = "judgement names a claim" if others == 1 else "judgements name claims"
            await self._notice(f"judge {name}: {others} {what} that it was not asked about; dropped")
        return Judgements(judgements=kept)

    async def format(self, report: Report, name: str, /) -> Files:
        """Render a report; never kept, so that a better formatter serves old runs too. Spent time cuts none off."""
        try:
            files = await self._making.format(report, name)
        except CallFailed as failed:
            self.state.unformatted[name] = failed  # the journal, of which all else is told, does not have it
            raise
        self.state.unformatted.pop(name, None)
        return files

    async def ask(self, message: str, json_schema: Json, default: Json | None = None) -> Answer:
        """Ask a person; where nobody can be asked, `default` is the answer."""
        return await self._person.ask(message, json_schema, default)

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
        """Do other work outside."""
        form = Kind(name=kind, reply=reply, effect=effect)
        return await self.door.call(form, request, do, maker=Maker(name=kind), sample=sample, task=kind)

    async def fact(self, name: str, make: Callable[[], Any]) -> Any:
        """Return what `make` gave the first time this run asked."""
        return await self.door.fact(name, make)

    async def each(self, items: Sequence[T], do: Callable[[T], Awaitable[U]]) -> list[U]:
        """Do it for all items at once, replies in their order."""
        return await each(items, do)

    def ahead(self, work: Coroutine[Any, Any, object], /) -> None:
        """Begin work of which a later stage will ask the same calls."""
        self._ahead.begin(work)

    async def leave_ahead(self) -> None:
        """Stop what was begun ahead and nobody has asked for."""
        await self._ahead.leave()

    async def save(self, file: Blob, /) -> Path:
        """Write a file into the run's folder, whole or not at all."""
        return await asyncio.to_thread(self._saved, file)

    def _saved(self, file: Blob) -> Path:
        path = inside(self.folder, file.name)
        return path if self.readonly else write_whole(path, file.data)

    async def emit(self, kind: str, data: Json) -> None:
        """Send an event to every observer; a notice once, and it stays with the call that is under way."""
        if kind == "notice":
            message = str(data.get("message", ""))
            if call := call_now.get():
                call.notices.append(message)
            if not self.state.notice(message):
                return  # told before: a round, or another task, has met the same
        await self.bus.emit(kind, data)

    async def by_chat(self, task: str, role: str = "task") -> bool:
        """Return whether a language model is asked first for this task."""
        return await self._models.by_chat(task, role)

    async def _notice(self, message: str) -> None:
        await self.emit("notice", {"message": message})

    @property
    def stages(self) -> tuple[str, ...]:
        """The names of the stages of the pipeline, in their order."""
        return tuple(step.name for step in self.state.steps)

    @property
    def notices(self) -> tuple[str, ...]:
        """What was done with less so far, in an order that does not hang on timing; of the settings nothing is said."""
        return tuple(sorted({*self.state.notices} - {*self.house.loaded.notices}))

    @property
    def models(self) -> tuple[str, ...]:
        """The language models of which a reply was taken so far."""
        return self.door.models()

    def now(self) -> datetime:
        """Return the moment the run began."""
        return self.began

    # --- what the engine needs ---

    async def ends_before(self, number: int) -> bool:
        """Return whether the run winds down, or did when it was recorded, before this round of the loop."""
        return await self.door.ends_before(f"round {number}")

    async def turn(self) -> None:
        """Wait for this run's turn: what stages do at their beginning would add up in one turn of the event loop."""
        await self.door.turn()

    async def made(self, step: Step) -> Any:
        """Return the stage itself."""
        return await self.house.member("stages", step.name).get()

    @contextmanager
    def inside(self, step: Step) -> Iterator[None]:
        """Attribute what is done in this context to the stage, its faults too; a closing one may use the reserve."""
        token = stage_now.set(step.name)
        try:
            if getattr(step.offer, "closing", False):
                with self.budget.closing(step.name):
                    yield
            else:
                yield
        except BaseException as error:
            if isinstance(error, LeadlineError) or wished(error):
                raise
            raise PluginFault(self._blamed(step, error)) from error
        finally:
            stage_now.reset(token)

    def _blamed(self, step: Step, error: BaseException) -> str:
        who = str(self.house.loaded.plugins[step.name]).removeprefix("plugin ")
        return f"stage {who} raised {words(error)}; this is a fault of the plugin"

    async def progress(self, step: str, status: Any, data: dict[str, Any]) -> None:
        """Tell where the run stands."""
        self.state.step(step, status, str(data.get("reason", "")))
        await self.bus.emit("progress", {"step": step, "status": status, "data": data})

    async def keep(self, key: Key[Any], value: Any) -> None:
        """Save a finding that has a file, as JSON."""
        await self.save(Blob(name=key.file, media_type="application/json", data=indented(value) + b"\n"))
