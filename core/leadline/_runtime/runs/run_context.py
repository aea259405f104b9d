"""The run as its stages see it (`leadline.contracts.Run`): methods that reach models, engines, pages and other plugins.

Each method names the plugins that the settings chose and makes one call through the run's call path.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from leadline._hosting.faults import words
from leadline._runtime.calls.budget import Budget, Limits
from leadline._runtime.calls.call_path import CallPath
from leadline._runtime.calls.job import Kind, ProviderIdentity, current_call, current_stage, new_span, stage_span
from leadline._runtime.calls.keys import fingerprint
from leadline._runtime.calls.retry import RetryPolicy
from leadline._runtime.event_bus import Bus
from leadline._runtime.journal.journal import Journal
from leadline._runtime.journal.rows import models
from leadline._runtime.models.prices import EmbedEstimates, Prices
from leadline._runtime.models.task_performer import TaskPerformer
from leadline._runtime.plugins import PluginRuntime, ProviderInstance
from leadline._runtime.runs.folder import path_inside, write_atomically
from leadline._runtime.runs.questions import Asker, Questions, UserQuestion
from leadline._runtime.runs.retrieval import DocumentReader, EngineSearch
from leadline._runtime.runs.run_request import RunRequest
from leadline._runtime.runs.run_state import MetadataWriter, RunState
from leadline._runtime.task_groups import Prefetch, each
from leadline._settings.secrets import Secrets
from leadline.contracts import Call, Middleware
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
from leadline.findings import Key
from leadline.pipeline import Pipeline, Step
from leadline.records import (
    Answer,
    Blob,
    Chart,
    Code,
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
from leadline.runs import OpenQuestion
from leadline.settings import Settings

T = TypeVar("T")
U = TypeVar("U")
Q = TypeVar("Q", bound=Record)
R = TypeVar("R", bound=Record)


_ASK = Kind(name="ask", reply=Answer)
# Without a time limit: `Questions` has it, because a question is not asked again when the time is over.
_PERSON = ProviderIdentity(name="person", timeout=math.inf, local=True)


class RunContext:
    """One session of a run. `leadline.contracts.Run` documents the methods for stages; the engine uses the others."""

    def __init__(
        self,
        request: RunRequest,
        folder: Path,
        plugins: PluginRuntime,
        journal: Journal,
        bus: Bus,
        pipeline: Pipeline,
        *,
        metadata: MetadataWriter,
        middleware: Mapping[str, Middleware],
        asker: Asker | None = None,
    ) -> None:
        self.request = request
        self.id = request.run_id
        self.question = request.question
        self.tags: Mapping[str, str] = request.tags
        self.principal: Principal | None = request.principal
        self.folder = folder
        self.plugins = plugins
        self.settings = plugins.settings
        self.choices = (*((request.route,) if request.route else ()), *plugins.loaded.choices)
        self.journal = journal
        self.bus = bus
        self.rounds_left = 0
        # A replay writes nothing.
        self.readonly = journal.readonly
        self.stages = tuple(step.name for step in pipeline.steps())
        self.finds_sources = pipeline.finds_sources
        secrets, retry = secrets_of_run(request, plugins), plugins.settings.retry
        self.state = RunState(secrets, self.stages)
        self.budget = budget_for(plugins.settings, pipeline)
        self.calls = CallPath(
            self,
            journal,
            self.budget,
            bus,
            retry=RetryPolicy(retry.attempts, retry.base),
            secrets=secrets,
            middleware=middleware,
            offline=journal.readonly,
            answers=None if journal.readonly else plugins.answers,
            principal=request.principal.id if request.principal else "",
        )
        self.questions = Questions(self._questions_changed, self._asked, asker)
        self.metadata = metadata
        # The spans of the running stages, by name.
        self._stage_spans: dict[str, str] = {}
        self._prefetch = Prefetch()
        # Models, engines and documents, the rest of `leadline.contracts.Run`.
        self._models = TaskPerformer(plugins, self.calls, self._notice, lambda: self.budget.in_closing_stage)
        self.perform, self.by_chat, self.model_of = self._models.perform, self._models.by_chat, self._models.model_of
        self.search = EngineSearch(plugins, self.calls, self._notice, folder.parent).search
        reader = DocumentReader(plugins, self.calls, self._notice)
        self.fetch, self.parse, self.download = reader.read, reader.parse, reader.fetch
        self.fact, self.each, self.prefetch = self.calls.fact, each, self._prefetch.start

    # --- other plugins, each by the one that the settings chose ------------------------------------------------------

    async def synthesize(self, request: SynthesisRequest, /) -> Synthesis:
        instance = self.plugins.instance("synthesizers", self.settings.research.synthesizer)

        async def do(request: SynthesisRequest, call: Call) -> Synthesis:
            written: Synthesis = await (await instance.get()).synthesize(request, call)
            return written

        kind = Kind(name="synthesize", reply=Synthesis, composite=True)
        return await self.calls.call(kind, request, do, provider=self._identity_with_tasks(instance), task="synthesize")

    async def draw(self, chart: Chart, /) -> Figure:
        instance = self._configured("chart_runners", "charts.runner", "".join(self.plugins.chosen["charts.runner"]))
        runner = await self._entered(instance)
        if not runner.accepts(chart.language):
            raise PluginError(f"chart runner '{instance.name}' does not draw '{chart.language}' (charts.runner)")
        return await self._call_provider("draw", Figure, instance, chart, instance.method("draw"))

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
        return await self._call_provider("execute", Execution, instance, code, instance.method("execute"))

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

        return await self._call_provider("embed", Embeddings, instance, request, do, keep=keep, costs=costs)

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
        return await self._call_provider("rerank", Ranking, instance, request, do, free=instance.offer.work == "local")

    async def judge(self, request: JudgeRequest, name: str, /) -> Judgements:
        """Have claims judged by one judge; judgements of other claims are dropped with a notice."""
        instance = self.plugins.instance("claim_judges", name)
        do = instance.method("judge")
        reply = await self._call_provider(
            "judge", Judgements, instance, request, do, free=instance.offer.work == "local"
        )
        claim_ids = {claim.id for claim in request.claims}
        kept = tuple(judgement for judgement in reply.judgements if judgement.claim_id in claim_ids)
        if dropped := len(reply.judgements) - len(kept):
            noun = "judgement names a claim" if dropped == 1 else "judgements name claims"
            await self._notice(f"judge {name}: {dropped} {noun} that it was not asked about; dropped")
        return Judgements(judgements=kept)

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
            files = await self._call_provider("format", Files, instance, report, do, keep=False, free=True)
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
        kind: str,
        reply: type[R],
        instance: ProviderInstance,
        request: Q,
        do: Callable[[Q, Call], Awaitable[R]],
        *,
        keep: bool = True,
        free: bool = False,
        costs: EmbedEstimates | None = None,
    ) -> R:
        # A plugin that makes calls through the run is subject to their limits and timeouts, and has none itself.
        composite = instance.offer.work == "composite" or bool(instance.offer.tasks)
        unshared = not (keep or composite)
        form = Kind(
            name=kind,
            reply=reply,
            keep=keep and instance.offer.cache_key is not None,
            unshared=unshared,
            composite=composite,
            free=free,
        )
        if costs and not composite:
            form = replace(form, need=costs.need, price=costs.priced)
        identity = self._identity_with_tasks(instance) if composite else instance.identity
        return await self.calls.call(form, request, do, provider=identity, task=kind)

    # --- questions, own calls ----------------------------------------------------------------------------------------

    async def ask(self, message: str, json_schema: Json, default: Json | None = None, *, wait: float = 300) -> Answer:
        question = UserQuestion(message=message, json_schema=json_schema)
        # An answer that was given in an earlier session needs nobody.
        if self.questions.asker is None and not self.calls.is_stored(_ASK, question, provider=_PERSON):
            if default is None:
                raise NeedsClarification(message)
            return Answer(action="accept", content=default)

        async def do(question: UserQuestion, call: Call) -> Answer:
            return await self.questions.ask(question, call, wait)

        try:
            return await self.calls.call(_ASK, question, do, provider=_PERSON, task="ask")
        except CallFailed as failed:
            if default is None or failed.record.type != Unanswered.__name__:
                raise
            return Answer(action="accept", content=default)

    async def answer(self, question_id: str, answer: Answer) -> None:
        """Answer an open question and wait until the answer is stored. Raises `UsageError` and `LeadlineError`."""
        if any((row.key, row.kind, row.outcome) == (question_id, _ASK.name, "reply") for row in self.calls.rows()):
            raise AlreadyAnswered(question_id)
        self.questions.answer(question_id, answer)
        await self.calls.in_flight.ended(question_id)
        if not any(row.key == question_id for row in self.calls.rows()):
            raise LeadlineError(f"the run ended before the answer to question {question_id} was stored")

    async def _questions_changed(self) -> None:
        if self.state.status in ("running", "waiting"):
            self.state.status = "waiting" if self.questions.open else "running"
            await self.metadata.update()

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
        return await asyncio.to_thread(self._save, file)

    def _save(self, file: Blob) -> Path:
        path = path_inside(self.folder, file.name)
        return path if self.readonly else write_atomically(path, file.data)

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
            if step.closing:
                with self.budget.closing():
                    yield
            else:
                yield
        except LeadlineError:
            raise
        except Exception as error:
            plugin = str(self.plugins.loaded.plugins[step.name]).removeprefix("plugin ")
            raise PluginFault(f"stage {plugin} raised {words(error)}; this is a bug in the plugin") from error
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
        data = json_bytes(value, indent=1) + b"\n"
        await self.save(Blob(name=key.file, media_type="application/json", data=data))


class VectorCalls:
    """Implements `leadline.contracts.Vectors` over one chosen store."""

    def __init__(self, store: ProviderInstance, calls: CallPath) -> None:
        self._store = store
        self._calls = calls

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
        kept = method == "search" and self._store.offer.cache_key is not None
        kind = Kind(name=f"vectors.{method}", reply=reply, keep=kept, unshared=effect)
        do = self._store.method(method)
        return await self._calls.call(kind, request, do, provider=self._store.identity, task="vectors")


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
