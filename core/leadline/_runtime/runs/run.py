"""`Run`: one run of a question, the same object for all who work on it.

Users hold it (`leadline.Run`): they observe, stop and cancel it, answer its questions and await its result. Stages and
providers work through it: `leadline.contracts.StageRun` documents these methods, each of which makes one call to the
plugin that the settings chose. `session.py` takes it from its start to its end, and `engine.py` walks its pipeline.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from leadline._hosting.faults import words
from leadline._runtime.calls.budget import Budget, Limits
from leadline._runtime.calls.call_path import CallPath, CallRules
from leadline._runtime.calls.job import Kind, ProviderIdentity, current_call, current_stage, new_span, stage_span
from leadline._runtime.calls.keys import fingerprint
from leadline._runtime.calls.retry import RetryPolicy
from leadline._runtime.event_bus import Bus
from leadline._runtime.journal.journal import Journal
from leadline._runtime.journal.rows import CHAT, call_counts, models
from leadline._runtime.models.prices import EmbedEstimates, Prices
from leadline._runtime.models.task_performer import TaskPerformer
from leadline._runtime.plugins import PluginRuntime, ProviderInstance
from leadline._runtime.runs.earlier_sessions import PreviousOutput
from leadline._runtime.runs.findings_board import FindingsBoard
from leadline._runtime.runs.folder import path_inside, write_atomically
from leadline._runtime.runs.interprocess import LiveText, Message
from leadline._runtime.runs.metadata import citations, dump, report_files, retention, targets, usage_of, wall_seconds
from leadline._runtime.runs.questions import ASK, Asker, Questions, UserQuestion
from leadline._runtime.runs.retrieval import DocumentReader, EngineSearch
from leadline._runtime.runs.run_request import RunRequest
from leadline._runtime.runs.run_state import MetadataWriter, RunState
from leadline._runtime.task_groups import Prefetch, contained, each
from leadline._settings.secrets import Secrets
from leadline.contracts import Call, Middleware, Observer
from leadline.encoding import json_bytes
from leadline.errors import (
    AlreadyAnswered,
    CallFailed,
    ConfigError,
    LeadlineError,
    NeedsClarification,
    PluginError,
    PluginFault,
    Unanswered,
)
from leadline.events import Subscription, utc_now
from leadline.findings import Key
from leadline.pipeline import Pipeline, Step
from leadline.records import (
    Answer,
    Blob,
    Chart,
    Code,
    Conversation,
    Embeddings,
    EmbedRequest,
    Execution,
    Figure,
    Files,
    Json,
    Judgements,
    JudgeRequest,
    Notice,
    PassageRequest,
    Passages,
    Principal,
    Ranking,
    Record,
    Report,
    RerankRequest,
    Synthesis,
    SynthesisRequest,
    VectorBatch,
    VectorCollection,
    VectorCount,
    VectorListing,
    VectorMatches,
    VectorQuery,
    VectorRemoval,
)
from leadline.research_findings import AUDIT, FOUND, REPORT, VERIFICATION
from leadline.runs import Metadata, OpenQuestion, Result
from leadline.settings import Settings

Q = TypeVar("Q", bound=Record)
R = TypeVar("R", bound=Record)

_ASK = Kind(name=ASK, reply=Answer)
# Without a time limit: `Questions` has it, because a question is not asked again when the time is over.
_PERSON = ProviderIdentity(name="person", timeout=math.inf, local=True)


@dataclass(frozen=True)
class RunOptions:
    """Those who answer the questions of a run, observe it, and have the plugins of other pipelines."""

    asker: Asker | None = None
    # Further observers than those of the settings; only these follow a replay.
    observers: Mapping[str, Observer] = field(default_factory=dict)
    # Returns the plugins for another pipeline of a run.
    switch: Callable[[RunRequest, str], PluginRuntime] | None = None
    # Returns whether the run is the caller's: earlier owners lose it.
    owns: Callable[[], bool] | None = None


class Run:
    """A run, as `Client.start` and `Client.resume` return it, and as its stages see it."""

    def __init__(
        self,
        request: RunRequest,
        folder: Path,
        journal: Journal,
        bus: Bus,
        options: RunOptions,
        conversation: Conversation | None,
    ) -> None:
        """Create a run over an open journal. It has no plugins before `use`."""
        self.id = request.run_id
        self.folder = folder
        self.question = request.question
        self.tags: Mapping[str, str] = request.tags
        # Title, pin and tags that a user changed after an earlier session.
        self.labels: Mapping[str, Any] = {}
        self.principal: Principal | None = request.principal
        self.conversation = conversation
        self.journal = journal
        # A replay writes nothing.
        self.readonly = journal.readonly
        self.bus = bus
        self.options = options
        self.state = RunState()
        self.metadata = MetadataWriter(self.summary, None if self.readonly else folder, journal.write_file)
        # The findings of the present pass through the pipeline.
        self.board = FindingsBoard()
        self.rounds_left = 0
        # The output of an earlier session that completed the run.
        self.previous: PreviousOutput | None = None
        # The plugins of the pipeline with which the run continued; the client releases them.
        self.switched: PluginRuntime | None = None
        self.cancel_reason = "cancelled"
        # The result, once the run has ended.
        self.ended: Result | None = None
        self._questions = Questions(self._questions_changed, self._asked, options.asker)
        # The spans of the running stages, by name.
        self._stage_spans: dict[str, str] = {}
        self._prefetch = Prefetch()
        self._events: Subscription
        self._task: asyncio.Task[Result]

    def use(
        self, request: RunRequest, plugins: PluginRuntime, pipeline: Pipeline, middleware: Mapping[str, Middleware]
    ) -> None:
        """Work with these plugins, by this pipeline: from the start, or when the run continues by another one."""
        self.request = request
        self.plugins = plugins
        self.pipeline = pipeline
        self.settings = settings = plugins.settings
        self.choices = (*((request.route,) if request.route else ()), *plugins.loaded.choices)
        self.stages = tuple(step.name for step in pipeline.steps())
        self.finds_sources = pipeline.finds_sources
        self.secrets = secrets_of_run(request, plugins)
        self.state.use(self.secrets, self.stages)
        self.budget = budget_for(settings, pipeline)
        self.retry = RetryPolicy(settings.retry.attempts, settings.retry.base)
        rules = CallRules(
            self.retry,
            self.secrets,
            middleware,
            answers=None if self.readonly else plugins.answers,
            principal=self.principal.id if self.principal else "",
        )
        self.calls = CallPath(self, self.journal, self.budget, self.bus, rules)
        # Models, engines and documents, the rest of `leadline.contracts.StageRun`.
        self._models = TaskPerformer(plugins, self.calls, self._notice, lambda: self.budget.in_closing_stage)
        self.perform, self.by_chat, self.model_of = self._models.perform, self._models.by_chat, self._models.model_of
        self.search = EngineSearch(plugins, self.calls, self._notice, self.folder.parent).search
        reader = DocumentReader(plugins, self.calls, self._notice)
        self.fetch, self.parse, self.download = reader.read, reader.parse, reader.fetch
        self.fact, self.each, self.prefetch = self.calls.fact, each, self._prefetch.start

    # --- for users ---------------------------------------------------------------------------------------------------

    def begin(self, walk: Coroutine[Any, Any, Result]) -> None:
        """Walk the run to its end in a task."""
        self._events = self.bus.subscribe()
        self._task = asyncio.create_task(walk, name=f"run {self.id}")

    def events(self) -> Subscription:
        """Return all events of this session, as an async iterator for one reader that ends with the run."""
        return self._events

    def subscribe(self, *, deltas: bool = True) -> Subscription:
        """Return the events from now on, for a further reader; without `deltas`, no reply is streamed for it."""
        return self.bus.subscribe(deltas=None if deltas else False)

    def publish(self) -> None:
        """Let readers in other processes on this machine have the pieces of streamed replies, until the run ends.

        `Client.events` receives them through a socket in the folder of the run, which only this user can open.
        """
        sending = asyncio.create_task(LiveText(self.bus, self.folder).send(), name=f"text of {self.id}")
        self._task.add_done_callback(lambda _: sending.cancel())

    def stop(self, reason: str = "stopped") -> None:
        """Stop searching and write up the findings so far; the run ends as `partial`.

        Closing stages make no new model calls once they have started; calls in flight are awaited.
        """
        self.state.stopped = True
        writing = self.state.current_step in self.pipeline.closing_stages()
        self.calls.shutdown.begin(Notice(reason, "stopped"), writing=writing)

    def questions(self) -> tuple[OpenQuestion, ...]:
        """Return the questions of the run that wait for an answer, the oldest first."""
        return self._questions.open

    async def answer(self, question_id: str, answer: Answer | Json) -> None:
        """Answer an open question, and return when the answer is stored; a mapping is the content of an accepted one.

        Raises `AlreadyAnswered`, or `UsageError` if no such question is open.
        """
        if any((row.key, row.kind, row.outcome) == (question_id, _ASK.name, "reply") for row in self.calls.rows()):
            raise AlreadyAnswered(question_id)
        given = answer if isinstance(answer, Answer) else Answer(action="accept", content=answer)
        self._questions.answer(question_id, given)
        await self.calls.in_flight.ended(question_id)
        if not any(row.key == question_id for row in self.calls.rows()):
            raise LeadlineError(f"the run ended before the answer to question {question_id} was stored")

    async def take(self, message: Message) -> None:
        """Do what a message of another process asks for."""
        match message.action:
            case "stop":
                self.stop(message.reason)
            case "cancel":
                self.cancel_soon(message.reason)
            case "answer" if message.answer:
                await self.answer(message.question_id, message.answer)

    def awaited_replies(self) -> int:
        """Return the number of model replies for which a stopped run still waits."""
        return self.calls.shutdown.awaited_chats

    def when_ended(self, do: Callable[[Run], object]) -> None:
        """Call a function on the event loop when the run has ended in any way."""
        self._task.add_done_callback(lambda _: do(self))

    async def cancel(self, reason: str = "cancelled") -> None:
        """End the run at once. Completed calls are kept, and `resume` continues from there."""
        self.cancel_soon(reason)
        await asyncio.wait({self._task})

    async def leave(self, reason: str, grace: float) -> None:
        """Cancel the run when its requests in flight have returned, at most `grace` seconds from now."""
        await self.calls.finish_requests(grace)
        self.cancel_soon(reason)

    def cancel_soon(self, reason: str = "cancelled") -> None:
        """Cancel the run without waiting for its end, for code that is being cancelled itself."""
        if not self._task.done():
            self.cancel_reason = reason
            self.calls.interrupted = True
            # Not at once: a task that is cancelled before its first step never enters `walk`, which ends the run.
            self._task.get_loop().call_soon(self._task.cancel)

    async def result(self) -> Result:
        """Wait for the end of the run and return its result."""
        try:
            return await asyncio.shield(self._task)
        except asyncio.CancelledError:
            if self._task.cancelled() and self.ended is not None:
                return self.ended
            raise

    @property
    def usage(self) -> dict[str, Any]:
        """The tokens and the cost of the model calls so far, as in the metadata, and their number `chats`."""
        rows = self.journal.rows()
        return {**usage_of(rows), "chats": sum(row.kind == CHAT for row in rows)}

    def snapshot(self) -> Metadata:
        """Return the state of the run as of now, as `metadata.json` has it up to 0.2 s later."""
        return self.ended.metadata if self.ended else self.summary()

    def summary(self, *, ended: bool = False) -> Metadata:
        """Return the metadata as of now; the exit code is known once the run has ended."""
        request, state, board, chosen = self.request, self.state, self.board, self.plugins.chosen
        now, rows, sessions = utc_now(), self.journal.rows(), self.journal.sessions()
        seconds, usage, retained = wall_seconds(sessions, now), usage_of(rows), retention(board)
        report, answered_models = board.get(REPORT), models(rows)
        asked, status = self.questions(), state.status
        if status == "waiting" and not asked:  # for an answer after the session, once that has ended
            asked, status = (tuple(self._questions.left), status) if ended else ((), "running")
        metadata = Metadata(
            run_id=self.id,
            trace_id=request.trace_id,
            question=self.question,
            pipeline=request.pipeline,
            status=status,
            reason=state.reason,
            exit_code=state.exit_code if ended else None,
            began=request.began,
            ended=now if ended else None,
            seconds=round(seconds, 3),
            sessions=max(1, self.journal.session),
            interrupted_calls=sum(session.interrupted for session in sessions),
            steps=state.steps,
            current_step="" if ended else state.current_step,
            iterations=board.rounds,
            choices=self.choices,
            notices=tuple(dict.fromkeys(state.notices)),
            providers=chosen.get("ai.providers", ()),
            models=answered_models,
            engines=chosen.get("search.engines", ()),
            calls=call_counts(self.calls.rows()),
            cached=sum(row.cached for row in rows),
            usage=usage,
            budget=self.budget.spent(),
            retention=retained,
            citations=citations(report),
            missing_words=report.missing_words if report else (),
            verification=dump(board.get(VERIFICATION), exclude={"verdicts", "uncited", "evidence_index"}),
            audit=dump(board.get(AUDIT)),
            targets=targets(seconds, state.steps, usage, len(board.get(FOUND)), retained if answered_models else None),
            files=report_files(self.folder),
            errors=tuple(state.errors),
            versions=request.versions,
            tags=request.tags,
            principal=self.principal.id if self.principal else "",
            questions=asked,
            conversation=request.conversation,
            follows=request.follows,
        )
        return metadata.model_copy(update=self.labels)

    # --- other plugins, each by the one that the settings chose ------------------------------------------------------

    async def synthesize(self, request: SynthesisRequest, /) -> Synthesis:
        instance = self.plugins.instance("synthesizers", self.settings.research.synthesizer)
        kind, identity = Kind("synthesize", Synthesis, composite=True), self._identity_with_tasks(instance)
        do = instance.method("synthesize")
        return await self.calls.call(kind, request, do, provider=identity, task="synthesize")

    async def draw(self, chart: Chart, /) -> Figure:
        instance = self._configured("chart_runners", "charts.runner", "".join(self.plugins.chosen["charts.runner"]))
        runner = await self._entered(instance)
        if not runner.accepts(chart.language):
            raise PluginError(f"chart runner '{instance.name}' does not draw '{chart.language}' (charts.runner)")
        return await self._call_provider(instance, Kind("draw", Figure), chart)

    async def draws(self, language: str, /) -> bool:
        for name in self.plugins.chosen["charts.runner"]:
            try:
                if (await self._entered(self.plugins.instance("chart_runners", name))).accepts(language):
                    return True
            except CallFailed as failed:
                await self._notice(f"no charts by {name}: {failed.record.message}")
        return False

    async def execute(self, code: Code, /) -> Execution:
        instance = self._configured("sandboxes", "code.sandbox", self.settings.code.sandbox)
        return await self._call_provider(instance, Kind("execute", Execution), code)

    async def embed(self, texts: Sequence[str], /, embedder: str = "", *, keep: bool = True) -> Embeddings:
        name, _, model = (embedder or self.settings.ai.embedder).partition(":")
        instance = self._configured("embedders", "ai.embedder", name)
        embedder = await self._entered(instance)
        costs = EmbedEstimates(Prices(self.settings.ai.prices), embedder)
        request = EmbedRequest(model=model, texts=tuple(texts))
        embed = instance.method("embed")

        async def do(request: EmbedRequest, call: Call) -> Embeddings:
            reply: Embeddings = await embed(request, call)
            if isinstance(reply, Embeddings) and len(reply.vectors) != len(request.texts):
                raise ValueError(f"it returned {len(reply.vectors)} vectors for {len(request.texts)} texts")
            if isinstance(reply, Embeddings) and len({len(vector) for vector in reply.vectors}) > 1:
                raise ValueError("it returned vectors of different lengths")
            return reply

        kind = Kind("embed", Embeddings, keep=keep, need=costs.need, price=costs.priced)
        return await self._call_provider(instance, kind, request, do)

    @property
    def vectors(self) -> VectorCalls:
        store = self._configured("vector_stores", "knowledge.store", self.settings.knowledge.store)
        return VectorCalls(store, self.calls)

    async def retrieve(self, request: PassageRequest, /) -> Passages:
        base = self._configured("search_providers", "knowledge.base", self.settings.knowledge.base)
        do, kind = base.method("retrieve"), Kind(name="retrieve", reply=Passages, composite=True)
        identity = replace(base.identity, limiter=None)
        return await self.calls.call(kind, request, do, provider=identity, task="retrieve")

    async def rerank(self, query: str, texts: Sequence[str], /) -> Ranking | None:
        if not self.settings.ai.reranker or not texts:
            return None
        instance = self.plugins.instance("rerankers", self.settings.ai.reranker)
        rerank = instance.method("rerank")

        async def do(request: RerankRequest, call: Call) -> Ranking:
            ranking: Ranking = await rerank(request, call)
            if isinstance(ranking, Ranking) and len(ranking.scores) != len(request.texts):
                raise ValueError(f"it returned {len(ranking.scores)} scores for {len(request.texts)} texts")
            return ranking

        request = RerankRequest(query=query, texts=tuple(texts))
        kind = Kind("rerank", Ranking, free=instance.offer.work == "local")
        return await self._call_provider(instance, kind, request, do)

    async def judge(self, request: JudgeRequest, name: str, /) -> Judgements:
        """Have claims judged by one judge; judgements of other claims are dropped with a notice."""
        instance = self.plugins.instance("claim_judges", name)
        kind = Kind("judge", Judgements, free=instance.offer.work == "local")
        reply = await self._call_provider(instance, kind, request)
        claim_ids = {claim.id for claim in request.claims}
        asked = tuple(judgement for judgement in reply.judgements if judgement.claim_id in claim_ids)
        if dropped := len(reply.judgements) - len(asked):
            noun = "judgement names a claim" if dropped == 1 else "judgements name claims"
            await self._notice(f"judge {name}: {dropped} {noun} that it was not asked about; dropped")
        return Judgements(judgements=asked)

    async def format(self, report: Report, name: str, /) -> Files:
        """Render a report. The files are not kept, so that a replay uses the current formatter."""
        instance = self.plugins.instance("report_formatters", name)
        render = instance.method("format")

        async def do(report: Report, call: Call) -> Files:
            files: Files = await render(report, call)
            if isinstance(files, Files):  # any other type is reported by the call path
                if not files.files:
                    raise ValueError("it returned no file")
                for file in files.files:
                    path_inside(self.folder, file.name)
            return files

        try:
            files = await self._call_provider(instance, Kind("format", Files, keep=False, free=True), report, do)
        except CallFailed as failed:
            self.state.format_failures[name] = failed
            raise
        self.state.format_failures.pop(name, None)
        return files

    def _configured(self, kind: str, setting: str, name: str) -> ProviderInstance:
        if not name:
            raise ConfigError(f"{setting} is empty: set it to the name of one of the {kind}")
        return self.plugins.instance(kind, name)

    async def _entered(self, instance: ProviderInstance) -> Any:
        """Return a provider before its call. Raises `CallFailed` if it cannot be entered, as the call would."""
        try:
            return await instance.get()
        except Exception as error:
            raise await self.calls.fault("enter", instance.identity, error) from error

    def _identity_with_tasks(self, instance: ProviderInstance) -> ProviderIdentity:
        """Return the identity of a plugin that calls models: it depends on the models and prompts of its tasks."""
        identity = replace(instance.identity, limiter=None)
        tasks = self._models.fingerprint(instance.offer.tasks)
        if not tasks:
            return identity
        return replace(identity, fingerprint=fingerprint({"own": identity.fingerprint, "tasks": tasks}))

    async def _call_provider(
        self,
        instance: ProviderInstance,
        kind: Kind[R],
        request: Q,
        do: Callable[[Q, Call], Awaitable[R]] | None = None,
    ) -> R:
        """Make a call to a plugin, by default of the method that its kind names."""
        keep = kind.keep and instance.offer.cache_key is not None
        # A plugin that makes calls through the run is subject to their limits and timeouts, and has none itself.
        if instance.offer.work == "composite" or instance.offer.tasks:
            form, identity = Kind(kind.name, kind.reply, composite=True, keep=keep), self._identity_with_tasks(instance)
        else:
            form, identity = replace(kind, keep=keep, unshared=not kind.keep), instance.identity
        return await self.calls.call(form, request, do or instance.method(kind.name), provider=identity, task=kind.name)

    # --- questions, own calls ----------------------------------------------------------------------------------------

    async def ask(
        self, message: str, json_schema: Json, default: Json | None = None, *, wait: float | None = None
    ) -> Answer:
        question = UserQuestion(message=message, json_schema=json_schema)
        key = self.calls.key_of(_ASK, question, provider=_PERSON)
        # An answer that was given in an earlier session needs nobody.
        if self.options.asker is None and not self.journal.has(key):
            if default is not None:
                return Answer(action="accept", content=default)
            asked = datetime.fromisoformat(await self.fact(f"asked {key}", lambda: utc_now().isoformat()))
            opened = question.opened(key, asked, wait)
            if opened.until is None or utc_now() < opened.until:
                self._questions.left.append(opened)
                raise NeedsClarification(message)

        async def do(question: UserQuestion, call: Call) -> Answer:
            if self.options.asker is None:
                raise Unanswered(f"nobody answered within {wait:g} s")
            return await self._questions.ask(question, call, wait)

        try:
            return await self.calls.call(_ASK, question, do, provider=_PERSON, task="ask")
        except CallFailed as failed:
            if default is None or failed.record.type != Unanswered.__name__:
                raise
            return Answer(action="accept", content=default)

    async def _questions_changed(self) -> None:
        if self.state.status in ("running", "waiting"):
            self.state.status = "waiting" if self._questions.open else "running"
            await self.metadata.update()

    async def asks(self) -> None:
        """Report the questions with which the session ends; the metadata have them already."""
        for question in self._questions.left if self.state.status == "waiting" else ():
            await self._asked(question)

    async def _asked(self, question: OpenQuestion) -> None:
        data = {"id": question.id, "message": question.message, "schema": dict(question.json_schema)}
        await self.bus.emit("question", {**data, "seconds": question.seconds})

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
        form = Kind(name=kind, reply=reply, effect=effect)
        return await self.calls.call(form, request, do, provider=ProviderIdentity(name=kind), sample=sample, task=kind)

    # --- the run itself ----------------------------------------------------------------------------------------------

    def now(self) -> datetime:
        return self.request.began

    async def close(self) -> None:
        """Cancel prefetched work and calls in flight."""
        await self._prefetch.stop()
        await self.calls.in_flight.close()

    async def save(self, file: Blob, /) -> Path:
        def write() -> Path:
            return write_atomically(path_inside(self.folder, file.name), file.data)

        return path_inside(self.folder, file.name) if self.readonly else await self.journal.write_file(write)

    async def emit(self, kind: str, data: Json) -> None:
        """Send an event to every observer. A notice is sent once, and stored with the current call for replays."""
        if kind == "notice":
            message = Notice.read(data.get("message"))
            if call := current_call.get():
                call.notices.append(message)
            if not self.state.add_notice(message):
                return
        await self.bus.emit(kind, data)

    async def _notice(self, message: str) -> None:
        await self.emit("notice", {"message": message})

    @property
    def notices(self) -> tuple[str, ...]:
        """The notices of the run so far, without those of the settings; sorted, because their order varies."""
        return tuple(sorted({*self.state.notices} - {*self.plugins.loaded.notices}))

    @property
    def models(self) -> tuple[str, ...]:
        return models(self.calls.rows())

    # --- for the engine ----------------------------------------------------------------------------------------------

    async def shuts_down_before(self, number: int) -> bool:
        """Return whether the run winds down, or did when it was recorded, before this round of the loop."""
        return await self.calls.shuts_down_before(f"round {number}")

    async def stage(self, step: Step) -> Any:
        """Return the stage plugin."""
        return await self.plugins.instance("stages", step.name).open()

    @contextmanager
    def in_stage(self, step: Step) -> Iterator[None]:
        """Attribute calls and faults of this context to the stage; a closing stage may use the reserved budget."""
        name, span = current_stage.set(step.name), stage_span.set(self._stage_spans.get(step.name, ""))
        try:
            with self.budget.closing() if step.closing else nullcontext(), contained():
                yield
        except LeadlineError:
            raise
        except Exception as error:
            plugin = self.plugins.instance("stages", step.name).identity
            who, line = plugin.who.removeprefix("plugin "), plugin.line_of(error)
            raise PluginFault(f"stage {who} raised {words(error)}{line}; this is a bug in the plugin") from error
        finally:
            current_stage.reset(name)
            stage_span.reset(span)

    async def report_progress(self, step: str, status: Any, data: dict[str, Any]) -> None:
        """Record and emit the progress of a stage, which is a span from its start to its end."""
        self.state.set_step(step, "idle" if data.get("idle") else status, str(data.get("reason", "")))
        self.metadata.update_soon()
        if status == "started":
            self._stage_spans[step] = new_span()
        # A stage that could not start has no span.
        span = self._stage_spans.get(step, "") if status == "started" else self._stage_spans.pop(step, "")
        await self.bus.emit("progress", {"step": step, "status": status, "data": data}, span_id=span)

    async def save_finding(self, key: Key[Any], value: Any) -> None:
        """Save a finding as JSON in the file that its key names."""
        data = json_bytes(value) + b"\n"
        await self.save(Blob(name=key.file, media_type="application/json", data=data))


@dataclass(frozen=True)
class VectorCalls:
    """Implements `leadline.contracts.Vectors` over one chosen store."""

    store: ProviderInstance
    calls: CallPath

    async def put(self, request: VectorBatch, /) -> VectorCount:
        return await self._call("put", request, VectorCount, effect=True)

    async def remove(self, request: VectorRemoval, /) -> VectorCount:
        return await self._call("remove", request, VectorCount, effect=True)

    async def search(self, request: VectorQuery, /) -> VectorMatches:
        return await self._call("search", request, VectorMatches)

    async def describe(self, request: VectorListing, /) -> VectorCollection:
        return await self._call("describe", request, VectorCollection)

    async def _call(self, method: str, request: Record, reply: type[R], *, effect: bool = False) -> R:
        """Make one call; only searches are journalled: the others belong to no report."""
        keep = method == "search" and self.store.offer.cache_key is not None
        kind = Kind(name=f"vectors.{method}", reply=reply, keep=keep, unshared=effect)
        do = self.store.method(method)
        return await self.calls.call(kind, request, do, provider=self.store.identity, task="vectors")


def secrets_of_run(request: RunRequest, plugins: PluginRuntime) -> Secrets:
    """Return the secrets of the settings and the credential of the principal."""
    credential = request.principal.credential if request.principal else None
    own = [credential.get_secret_value()] if credential else []
    return Secrets([*plugins.loaded.secrets, *own], plugins.loaded.private)


def budget_for(settings: Settings, pipeline: Pipeline) -> Budget:
    """Return the budget of the settings; its reserve is for the closing stages."""
    limits = Limits(
        model_calls=settings.budget.model_calls,
        tokens=settings.budget.tokens,
        queries=settings.research.max_queries,
        money=settings.budget.money,
        seconds=settings.budget.seconds,
    )
    ask_models = any(step.closing and step.offer.tasks for step in pipeline.steps())
    return Budget(limits, reserve=settings.budget.reserve, ask_models=ask_models)
