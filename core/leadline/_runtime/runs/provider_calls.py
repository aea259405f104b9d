"""The calls of a run to plugins other than models, engines and fetchers, each by the plugin that the settings chose."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from leadline._runtime.calls.call_path import CallPath
from leadline._runtime.calls.job import Kind, ProviderIdentity
from leadline._runtime.calls.keys import fingerprint
from leadline._runtime.models.cost_estimates import EmbedEstimates
from leadline._runtime.models.prices import Prices
from leadline._runtime.models.task_performer import TaskPerformer
from leadline._runtime.plugins import PluginRuntime, ProviderInstance
from leadline._runtime.runs.folder import path_inside
from leadline._runtime.runs.run_state import RunState
from leadline.contracts import Call
from leadline.errors import CallFailed, ConfigError, PluginError
from leadline.records import (
    Chart,
    Code,
    Embeddings,
    EmbedRequest,
    Execution,
    Figure,
    Files,
    Judgements,
    JudgeRequest,
    PassageRequest,
    Passages,
    Ranking,
    Record,
    Report,
    RerankRequest,
    Section,
    SectionRequest,
    VectorBatch,
    VectorCollection,
    VectorCount,
    VectorListing,
    VectorMatches,
    VectorQuery,
    VectorRemoval,
)
from leadline.settings import Settings

Q = TypeVar("Q", bound=Record)
R = TypeVar("R", bound=Record)


class ProviderCalls:
    """The part of `RunContext` that implements the methods of `leadline.contracts.Run` for these plugins."""

    plugins: PluginRuntime
    settings: Settings
    folder: Path
    state: RunState
    calls: CallPath
    _models: TaskPerformer

    async def _notice(self, message: str) -> None:
        raise NotImplementedError

    async def synthesize(self, request: SectionRequest, /) -> Section:
        instance = self.plugins.instance("synthesizers", self.settings.research.synthesizer)

        async def do(request: SectionRequest, call: Call) -> Section:
            section: Section = await (await instance.get()).synthesize(request, call)
            return section

        kind = Kind(name="synthesize", reply=Section, composite=True)
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
        return await self._call_provider("rerank", Ranking, instance, request, do, free=instance.offer.free)

    async def judge(self, request: JudgeRequest, name: str, /) -> Judgements:
        """Have claims judged by one judge; judgements of other claims are dropped with a notice."""
        instance = self.plugins.instance("claim_judges", name)
        do = instance.method("judge")
        reply = await self._call_provider("judge", Judgements, instance, request, do, free=instance.offer.free)
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

    # --- one call ----------------------------------------------------------------------------------------------------

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
        composite = instance.offer.calls or bool(instance.offer.tasks)
        unshared = not (keep or composite)
        form = Kind(
            name=kind, reply=reply, keep=keep and instance.offer.keep, unshared=unshared, composite=composite, free=free
        )
        if costs and not composite:
            form = replace(form, need=costs.need, price=costs.priced)
        identity = self._identity_with_tasks(instance) if composite else instance.identity
        return await self.calls.call(form, request, do, provider=identity, task=kind)


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
        kept = method == "search" and self._store.offer.keep
        kind = Kind(name=f"vectors.{method}", reply=reply, keep=kept, unshared=effect)
        do = self._store.method(method)
        return await self._calls.call(kind, request, do, provider=self._store.identity, task="vectors")
