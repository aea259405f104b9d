"""The calls of a run to the plugins that make something: sections, figures, files, vectors, scores, judgements."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from leadline.assemble import House, Member
from leadline.contracts import Call
from leadline.door.calls import Door
from leadline.door.keys import fingerprint
from leadline.door.kinds import Kind, Maker
from leadline.errors import ConfigError, PluginError
from leadline.models.embedding import EmbedCosts
from leadline.models.models import Models
from leadline.models.prices import Prices
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
    Ranking,
    Record,
    Report,
    RerankRequest,
    Section,
    SectionRequest,
)
from leadline.runs.folder import inside

Q = TypeVar("Q", bound=Record)
R = TypeVar("R", bound=Record)


class Making:
    """Makes for one run, by the one plugin of each kind that the settings name; its files go into `folder`."""

    def __init__(
        self, house: House, door: Door, chosen: Mapping[str, tuple[str, ...]], models: Models, folder: Path
    ) -> None:
        self._house = house
        self._door = door
        self._settings = house.settings
        self._chosen = chosen
        self._models = models
        self._folder = folder
        self._prices = Prices(self._settings.ai.prices)

    async def synthesize(self, request: SectionRequest) -> Section:
        """Write one section."""
        member = self._house.member("synthesizers", self._settings.research.synthesizer)
        kind = Kind(name="synthesize", reply=Section, composite=True)

        async def do(request: SectionRequest, call: Call) -> Section:
            section: Section = await (await member.get()).synthesize(request, call)
            return section

        return await self._door.call(kind, request, do, maker=self._with_tasks(member), task="synthesize")

    def _with_tasks(self, member: Member) -> Maker:
        """Return the identity of a plugin that asks models, with the models and prompts of its tasks."""
        maker = replace(member.maker, limiter=None)
        models = self._models.fingerprint(member.offer.tasks)
        return replace(maker, fingerprint=fingerprint({"own": maker.fingerprint, "tasks": models})) if models else maker

    async def draw(self, chart: Chart) -> Figure:
        """Draw a chart."""
        member = self._only("chart_runners", "charts.runner", "".join(self._chosen["charts.runner"]))
        runner = await member.get()
        if not runner.accepts(chart.language):
            raise PluginError(f"chart runner '{member.name}' does not draw '{chart.language}' (charts.runner)")
        return await self._leaf("draw", Figure, member, chart, runner.draw)

    async def draws(self, language: str) -> bool:
        """Return whether a chart runner is configured that draws this language."""
        names = self._chosen["charts.runner"]
        return any([(await self._house.member("chart_runners", name).get()).accepts(language) for name in names])

    async def execute(self, code: Code) -> Execution:
        """Run code in the sandbox."""
        member = self._only("sandboxes", "code.sandbox", self._settings.code.sandbox)
        return await self._leaf("execute", Execution, member, code, (await member.get()).execute)

    async def embed(self, texts: Sequence[str]) -> Embeddings:
        """Embed texts with the model that the settings name, else with the embedder's own."""
        name, _, model = self._settings.ai.embedder.partition(":")
        member = self._only("embedders", "ai.embedder", name)
        embedder = await member.get()
        costs = EmbedCosts(self._prices, embedder)
        request = EmbedRequest(model=model, texts=tuple(texts))
        return await self._leaf("embed", Embeddings, member, request, embedder.embed, costs=costs)

    async def rerank(self, query: str, texts: Sequence[str]) -> Ranking | None:
        """Rate texts with the configured reranker; None where none is configured."""
        if not self._settings.ai.reranker or not texts:
            return None
        member = self._house.member("rerankers", self._settings.ai.reranker)
        request = RerankRequest(query=query, texts=tuple(texts))
        reranker = await member.get()

        async def do(request: RerankRequest, call: Call) -> Ranking:
            ranking: Ranking = await reranker.rerank(request, call)
            if isinstance(ranking, Ranking) and len(ranking.scores) != len(request.texts):
                raise ValueError(f"it returned {len(ranking.scores)} scores for {len(request.texts)} texts")
            return ranking

        return await self._leaf("rerank", Ranking, member, request, do, free=member.offer.free)

    async def judge(self, request: JudgeRequest, name: str) -> Judgements:
        """Have claims judged by one judge."""
        member = self._house.member("claim_judges", name)
        judge = await member.get()
        return await self._leaf("judge", Judgements, member, request, judge.judge, free=member.offer.free)

    async def format(self, report: Report, name: str) -> Files:
        """Render a report; never kept, so that a better formatter serves old runs too. Spent time cuts none off."""
        member = self._house.member("report_formatters", name)
        formatter = await member.get()

        async def do(report: Report, call: Call) -> Files:
            files: Files = await formatter.format(report, call)
            if isinstance(files, Files):  # what it is otherwise is told by the door
                self._check_files(files)
            return files

        return await self._leaf("format", Files, member, report, do, keep=False, free=True)

    def _check_files(self, files: Files) -> None:
        if not files.files:
            raise ValueError("it gave no file")
        for file in files.files:
            inside(self._folder, file.name)

    def _only(self, kind: str, setting: str, name: str) -> Member:
        if not name:
            raise ConfigError(f"nothing is chosen for it: set {setting} to the name of one of the {kind}")
        return self._house.member(kind, name)

    async def _leaf(
        self,
        kind: str,
        reply: type[R],
        member: Member,
        request: Q,
        do: Callable[[Q, Call], Awaitable[R]],
        *,
        keep: bool = True,
        free: bool = False,
        costs: EmbedCosts | None = None,
    ) -> R:
        # A plugin that asks others through the run has their limits and times, and none of its own.
        calls = member.offer.calls or bool(member.offer.tasks)
        kept, alone = keep and member.offer.keep, not (keep or calls)
        form = Kind(name=kind, reply=reply, keep=kept, alone=alone, composite=calls, free=free)
        if costs and not calls:
            form = replace(form, need=costs.need, price=costs.priced)
        maker = self._with_tasks(member) if calls else member.maker
        return await self._door.call(form, request, do, maker=maker, task=kind)
