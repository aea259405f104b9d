"""Stage `chart`: charts of the numbers in the evidence, planned by the model, checked, drawn, put right once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from pydantic import Field

from leadline.computing import compute
from leadline.contracts import Context, Run
from leadline.findings import CHARTS, EVIDENCE, FIGURES, QUESTION, SECTIONS, SOURCES, Findings
from leadline.hookspecs import PluginSettings, StageOffer, hookimpl
from leadline.records import Evidence
from leadline.task_kinds import TaskKind
from leadline_plugins import expect
from leadline_plugins.charts.draft import Draft
from leadline_plugins.charts.forms import FORMS
from leadline_plugins.charts.planning import BEST, Material, own, passages
from leadline_plugins.charts.quoted import comparable, numeric
from leadline_plugins.charts.tasks import ChartPlan, ChartPlanRequest, PlannedChart
from leadline_plugins.prompts import template
from leadline_plugins.shrinking import less_evidence
from leadline_plugins.stages.degrade import perform_or, tell
from leadline_plugins.stages.drafted_charts import ASK_REPAIR, draw_all
from leadline_plugins.stages.showing import asked

ASK_PLAN = TaskKind(
    "chart_plan", ChartPlanRequest, ChartPlan, template("chart_plan"), shrink=less_evidence, expects=expect.chart_plan
)


class ChartSettings(PluginSettings):
    """When charts are drawn."""

    mode: Literal["off", "auto", "on"] = Field("auto", description="off, auto (where there are numbers), on.")
    at_least: int = Field(3, ge=1, description="Figures of one kind from which auto looks for charts.")


class Charting:
    """Plans, then draws the charts, until too many have failed in a row."""

    def __init__(self, settings: ChartSettings) -> None:
        self._settings = settings
        self._least = settings.at_least if settings.mode == "auto" else 0

    async def run(self, findings: Findings, run: Run, /) -> None:
        """Give the figures that could be drawn, and the charts as planned."""
        if self._settings.mode == "off" or not run.settings.charts.max:
            return
        known = own(findings[EVIDENCE], findings[SECTIONS])
        quotes = set(await compute(_to_plan, tuple(dict.fromkeys(item.quote for item in known)), self._least))
        evidence = [item for item in known if item.quote in quotes][:BEST]
        if not await self._wanted(run, evidence):
            return
        languages = [language for language in ("data", "python") if await run.draws(language)]
        if not languages:
            await tell(run, "no charts were drawn: there is no chart runner (pip install 'leadline[charts]')")
            if self._settings.mode == "auto":
                return  # a plan is paid for: nobody asked for one that nobody draws
        sources = {source.id: source for source in findings[SOURCES]}
        best = {item.id: item for item in evidence}
        material = Material(findings[QUESTION], (*languages, "data")[0], best, sources)
        outline = tuple(section.title for section in findings[SECTIONS])
        plan = await _plan(run, material, outline)
        drafts = [Draft(chart, place) for place, chart in enumerate(plan, start=1)]
        findings[FIGURES] = tuple(await draw_all(run, material, drafts)) if languages else ()
        findings[CHARTS] = tuple(draft.kept(material) for draft in drafts)

    async def _wanted(self, run: Run, evidence: Sequence[Evidence]) -> bool:
        modelled = await run.by_chat(ASK_PLAN.name)
        wanted = modelled and bool(evidence)
        if self._settings.mode == "on" and not wanted:
            why = "no language model is set up" if not modelled else "the evidence has no numbers"
            await tell(run, f"no charts were drawn: {why}")
        return wanted


def _to_plan(quotes: Sequence[str], at_least: int) -> list[str]:
    """Return the quotes that a plan is made from."""
    found = numeric(quotes, BEST)
    return comparable(found, at_least) if at_least else found


async def _plan(run: Run, material: Material, outline: tuple[str, ...]) -> tuple[PlannedChart, ...]:
    request = ChartPlanRequest(
        question=asked(material.question),
        limit=run.settings.charts.max,
        forms=FORMS,
        language=material.language,
        outline=outline,
        evidence=passages(material.evidence.values(), material.sources),
    )
    plan = await perform_or(run, ASK_PLAN.of(request), ChartPlan(), "no charts were planned")
    return plan.charts[: run.settings.charts.max]


def _make(settings: ChartSettings, context: Context) -> Charting:
    return Charting(settings)


@hookimpl
def leadline_stages() -> Iterator[StageOffer[Any]]:
    """Offer the stage."""
    yield StageOffer(
        _make,
        ChartSettings,
        "Draws charts of the numbers in the evidence, where a model plans them",
        needs=(QUESTION, SECTIONS),
        wants=(EVIDENCE, SOURCES),
        may_give=(CHARTS, FIGURES),
        tasks=(ASK_PLAN, ASK_REPAIR),
    )
