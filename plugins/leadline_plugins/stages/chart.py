"""Stage `chart`: charts of the numbers in the passages, planned by a model, checked, drawn, repaired once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from pydantic import Field

from leadline.computing import compute
from leadline.contracts import Context, Run
from leadline.errors import CallFailed, CallRefused
from leadline.findings import CHARTS, EVIDENCE, FIGURES, QUESTION, SECTIONS, SOURCES, Findings
from leadline.hookspecs import PluginSettings, StageOffer, hookimpl
from leadline.records import Chart, Figure, Source
from leadline.task_kinds import TaskKind
from leadline_plugins import expect
from leadline_plugins.charts.checks import checked
from leadline_plugins.charts.planning import (
    CHART_EXAMPLE,
    CHART_SCHEMA,
    PLAN_EXAMPLE,
    PLAN_SCHEMA,
    ChartPlan,
    ChartPlanRequest,
    ChartRepairRequest,
    PlannedChart,
    drawable,
    fewer_passages,
    figures,
    numeric,
)
from leadline_plugins.prompting.passages import shown
from leadline_plugins.prompts import template
from leadline_plugins.stages.degrade import perform_or, tell

ASK_PLAN = TaskKind(
    "chart_plan",
    ChartPlanRequest,
    ChartPlan,
    template("chart_plan"),
    shrink=fewer_passages,
    schema=PLAN_SCHEMA,
    example=PLAN_EXAMPLE,
    show=ChartPlanRequest.as_text,
    expects=expect.chart_plan,
)
ASK_REPAIR = TaskKind(
    "chart_repair",
    ChartRepairRequest,
    PlannedChart,
    template("chart_repair"),
    shrink=fewer_passages,
    schema=CHART_SCHEMA,
    example=CHART_EXAMPLE,
    show=ChartRepairRequest.as_text,
    expects=expect.chart_repair,
)


class ChartSettings(PluginSettings):
    """When charts are drawn."""

    mode: Literal["off", "auto", "on"] = Field("auto", description="off, auto (if there are enough numbers), on.")
    at_least: int = Field(3, ge=1, description="Numbers in the passages from which auto plans charts.")


class Charting:
    """Plans charts and draws them one after the other until too many have failed in a row."""

    def __init__(self, settings: ChartSettings) -> None:
        self._settings = settings
        self._at_least = settings.at_least if settings.mode == "auto" else 1

    async def run(self, findings: Findings, run: Run, /) -> None:
        """Add the figures that could be drawn, and the charts as planned."""
        if self._settings.mode == "off" or not run.settings.charts.max:
            return
        request = await self._request(findings, run)
        if request is None:
            return
        plan = await perform_or(run, ASK_PLAN.of(request), ChartPlan(), "no charts were planned")
        sources = {source.id: source for source in findings[SOURCES]}
        charts: list[Chart] = []
        drawn: dict[str, Figure] = {}
        failures, most = 0, max(1, run.settings.charts.max_failures)
        planned = plan.charts[: run.settings.charts.max]
        for place, one in enumerate(planned, start=1):
            if failures >= most:
                left = len(planned) - place + 1
                await tell(run, f"{left} more charts were skipped after {failures} failures in a row")
                break
            chart, figure = await _made(run, one, place, request, sources)
            charts.append(chart)
            failures = 0 if figure else failures + 1
            if figure:
                drawn[chart.id] = figure.model_copy(update={"section_id": _section(one, findings)})
        sections = findings[SECTIONS]
        order = {section.id: place for place, section in enumerate(sections)}
        # The text mentions figures by their numbers, so that these are given before the figures are placed.
        findings[FIGURES] = tuple(sorted(drawn.values(), key=lambda one: order.get(one.section_id, len(order))))
        findings[CHARTS] = tuple(charts)

    async def _request(self, findings: Findings, run: Run) -> ChartPlanRequest | None:
        """Return what a plan is asked with; None where there is no model, no material or no runner."""
        modelled, sections, known = await run.by_chat(ASK_PLAN.name), findings[SECTIONS], findings[SOURCES]
        evidence = findings[EVIDENCE]
        best = await compute(numeric, evidence, sections, self._at_least) if modelled else []
        if not best:
            if self._settings.mode == "on":
                why = "the passages have no numbers" if modelled else "no language model is set up"
                await tell(run, f"no charts were drawn: {why}")
            return None
        languages = [name for name in ("data", "python") if await run.draws(name)]
        if not languages:
            await tell(run, "charts were skipped: there is no chart runner (pip install 'leadline[charts]')")
            return None
        sources = shown(best, known)
        return ChartPlanRequest(
            question=findings[QUESTION],
            limit=run.settings.charts.max,
            language=languages[0],
            sections=tuple(section.title for section in sections),
            figures=figures(sections, sources),
            sources=sources,
            best_first=tuple(item.id for item in best),
        )


def _section(plan: PlannedChart, findings: Findings) -> str:
    sections = findings[SECTIONS]
    return sections[plan.section - 1].id if 0 < plan.section <= len(sections) else ""


async def _made(
    run: Run, plan: PlannedChart, place: int, request: ChartPlanRequest, sources: Mapping[str, Source]
) -> tuple[Chart, Figure | None]:
    """Return a chart and its figure; None where it was refused or could not be drawn, even after a repair."""
    refused: list[str] = []
    for left in range(run.settings.charts.repairs, -1, -1):
        found = checked(plan, request.sources, request.language)
        chart = drawable(found.chart, place, request, sources, refused)
        problem = found.problem
        if not problem:
            try:
                figure = await run.draw(chart)
            except CallRefused:
                raise
            except CallFailed as failed:
                problem = failed.record.message
            else:
                await _tell_changes(run, plan.title, found.dropped, found.changed, refused)
                return chart, figure
        refused.append(problem)
        repaired = await _repaired(run, plan, problem, request) if left else None
        if repaired is None:
            break
        plan = repaired
    await tell(run, f"the chart {plan.title!r} was not drawn: {refused[-1]}")
    return chart.model_copy(update={"refused": tuple(dict.fromkeys(refused))}), None


async def _tell_changes(run: Run, title: str, dropped: str, changed: str, refused: list[str]) -> None:
    if refused:
        await tell(run, f"the chart {title!r} was corrected before it was drawn: {refused[0]}")
    if dropped:
        await tell(run, f"the chart {title!r} was drawn without rows that its passages do not state: {dropped}")
    if changed:
        await tell(run, f"the chart {title!r} was drawn in another form than planned: {changed}")


async def _repaired(run: Run, plan: PlannedChart, error: str, request: ChartPlanRequest) -> PlannedChart | None:
    """Return the chart as a model corrects it; None where it fails or leaves the chart out."""
    asked = ChartRepairRequest(**{**dict(request), "limit": 1}, chart=plan, error=error)
    try:
        repaired = await run.perform(ASK_REPAIR.of(asked))
    except CallRefused:
        raise
    except CallFailed:
        return None
    return repaired if repaired.rows else None


def _make(settings: ChartSettings, context: Context) -> Charting:
    return Charting(settings)


@hookimpl
def leadline_stages() -> Iterator[StageOffer[Any]]:
    """Offer the stage."""
    yield StageOffer(
        _make,
        ChartSettings,
        "Draws charts of the numbers in the passages, where a model plans them",
        needs=(QUESTION, SECTIONS),
        wants=(EVIDENCE, SOURCES),
        may_give=(CHARTS, FIGURES),
        tasks=(ASK_PLAN, ASK_REPAIR),
    )
