"""Stage `chart`: a model plans charts of the numbers in the book; they are checked, drawn and repaired once.

The plan needs no text of the report, so that `synthesize` has it made while the sections are written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from leadline.contracts import StageRun
from leadline.errors import CallFailed, CallRefused
from leadline.findings import Findings
from leadline.plugin import PluginSettings, stage
from leadline.records import Book, Chart, Figure, Notice, Source
from leadline.research_findings import BOOK, CHARTS, FIGURES, QUESTION, SOURCES, Question
from leadline.tasks import TaskKind
from leadline.workers import compute
from leadline_plugins.charts.checks import checked
from leadline_plugins.charts.planning import (
    CHART_EXAMPLE,
    PLAN_EXAMPLE,
    ChartPlan,
    ChartPlanRequest,
    ChartRepairRequest,
    PlannedChart,
    drawable,
    numeric,
)
from leadline_plugins.prompting import estimates
from leadline_plugins.prompting.fallback import notify, perform_or
from leadline_plugins.prompting.inputs import template
from leadline_plugins.prompting.numbered_passages import group_by_source
from leadline_plugins.prompting.shrinking import halve_request_passages

PLAN_TASK = TaskKind(
    "chart_plan",
    ChartPlanRequest,
    ChartPlan,
    template("chart_plan"),
    shrink=halve_request_passages,
    example=PLAN_EXAMPLE,
    show=ChartPlanRequest.as_text,
    expects=estimates.chart_plan,
)
REPAIR_TASK = TaskKind(
    "chart_repair",
    ChartRepairRequest,
    PlannedChart,
    template("chart_repair"),
    shrink=halve_request_passages,
    example=CHART_EXAMPLE,
    show=ChartRepairRequest.as_text,
    expects=estimates.chart_repair,
)


# Numbers in the passages from which `auto` plans charts; repairs of one chart; failures in a row that end the work.
AT_LEAST, REPAIRS, MAX_FAILURES = 3, 1, 2


class ChartSettings(PluginSettings):
    """When to draw charts."""

    mode: Literal["off", "auto", "on"] = Field(
        "auto", description="Draw charts: off, auto (if there are enough numbers), on."
    )


@stage(
    "Draws charts of the numbers in the passages, where a model plans them",
    settings=ChartSettings,
    needs=(QUESTION, BOOK),
    wants=(SOURCES,),
    may_give=(CHARTS, FIGURES),
    uses=(PLAN_TASK, REPAIR_TASK, "charts.runner"),
)
class ChartStage:
    """Plans charts and draws them one by one, until several in a row have failed."""

    def __init__(self, settings: ChartSettings) -> None:
        self._settings = settings

    async def run(self, findings: Findings, run: StageRun, /) -> None:
        """Add the figures that could be drawn, and all planned charts."""
        if self._settings.mode == "off" or not run.settings.charts.max:
            return
        request = await _request(findings[BOOK], findings[QUESTION], self._settings, run)
        if isinstance(request, str):
            if request:
                await notify(run, request)
            return
        plan = await perform_or(run, PLAN_TASK.of(request), ChartPlan(), Notice("no charts were planned", "charts"))
        sources, outline = {source.id: source for source in findings[SOURCES]}, findings[BOOK].outline
        charts: list[Chart] = []
        drawn: dict[str, Figure] = {}
        failures = 0
        planned = plan.charts[: run.settings.charts.max]
        for number, chart_plan in enumerate(planned, start=1):
            if failures >= MAX_FAILURES:
                left = len(planned) - number + 1
                rest = "{left} more charts were skipped after {failures} failures in a row"
                await notify(run, rest, "chart_rest", left=left, failures=failures)
                break
            chart, figure = await _draw_with_repairs(run, chart_plan, number, request, sources)
            charts.append(chart)
            failures = 0 if figure else failures + 1
            if figure:
                section = outline[chart_plan.section - 1].id if 0 < chart_plan.section <= len(outline) else ""
                drawn[chart.id] = figure.model_copy(update={"section_id": section})
        order = {section.id: index for index, section in enumerate(outline)}
        # The text mentions figures by number, so figures are numbered before they are placed.
        findings[FIGURES] = tuple(sorted(drawn.values(), key=lambda figure: order.get(figure.section_id, len(order))))
        findings[CHARTS] = tuple(charts)


async def plan_ahead(book: Book, question: Question, run: StageRun) -> None:
    """Have the charts of a book planned before the stage `chart` asks for the same plan."""
    settings = run.settings.plugin("chart")
    if isinstance(settings, ChartSettings) and settings.mode != "off" and run.settings.charts.max:
        request = await _request(book, question, settings, run)
        if not isinstance(request, str):
            await run.perform(PLAN_TASK.of(request))


async def _request(book: Book, question: Question, settings: ChartSettings, run: StageRun) -> ChartPlanRequest | str:
    """Return the inputs of the plan; or why there are no charts, empty if nobody asked for any."""
    modelled, at_least = await run.by_chat(PLAN_TASK.name), AT_LEAST if settings.mode == "auto" else 1
    best = await compute(numeric, book.evidence, at_least) if modelled else []
    if not best:
        no_numbers = Notice("the passages have no numbers", "no_numbers")
        why = no_numbers if modelled else Notice("no language model is set up", "no_model")
        return Notice("no charts were drawn: {reason}", "no_charts", reason=why) if settings.mode == "on" else ""
    languages = [name for name in ("data", "python") if await run.draws(name)]
    if not languages:
        skipped = Notice("charts were skipped: there is no chart runner", "chart_skipped")
        return skipped.because("leadline plugins install 'leadline[charts]'")
    return ChartPlanRequest(
        question=question,
        limit=run.settings.charts.max,
        language=languages[0],
        sections=tuple(section.title for section in book.outline),
        sources=group_by_source(best, book.sources),
        best_first=tuple(item.id for item in best),
    )


async def _draw_with_repairs(
    run: StageRun, plan: PlannedChart, number: int, request: ChartPlanRequest, sources: Mapping[str, Source]
) -> tuple[Chart, Figure | None]:
    """Return a chart and its figure; None in place of the figure if drawing and repairs failed."""
    refused: list[str] = []
    for left in range(REPAIRS, -1, -1):
        check = checked(plan, request.sources, request.language)
        chart = drawable(check.chart, number, request, sources, refused)
        problem = check.problem
        if not problem:
            try:
                figure = await run.draw(chart)
            except CallRefused:
                raise
            except CallFailed as failed:
                problem = failed.record.message
            else:
                await _notify_changes(run, plan.title, check.dropped, check.changed, refused)
                return chart, figure
        refused.append(problem)
        repaired = await _repaired(run, plan, problem, request) if left else None
        if repaired is None:
            break
        plan = repaired
    await notify(run, "the chart '{title}' was not drawn: {reason}", "chart", title=plan.title, reason=refused[-1])
    return chart.model_copy(update={"refused": tuple(dict.fromkeys(refused))}), None


async def _notify_changes(run: StageRun, title: str, dropped: str, changed: str, refused: list[str]) -> None:
    corrected = "the chart '{title}' was corrected before it was drawn: {reason}"
    without = "the chart '{title}' was drawn without rows that its passages do not state: {reason}"
    turned = "the chart '{title}' was drawn in a different form than planned: {reason}"
    if refused:
        await notify(run, corrected, "chart_right", title=title, reason=refused[0])
    if dropped:
        await notify(run, without, "chart_without", title=title, reason=dropped)
    if changed:
        await notify(run, turned, "chart_turned", title=title, reason=changed)


async def _repaired(run: StageRun, plan: PlannedChart, error: str, request: ChartPlanRequest) -> PlannedChart | None:
    """Return the corrected chart; None if the call fails or the model drops the chart."""
    asked = ChartRepairRequest(**{**dict(request), "limit": 1}, chart=plan, error=error)
    try:
        repaired = await run.perform(REPAIR_TASK.of(asked))
    except CallRefused:
        raise
    except CallFailed:
        return None
    return repaired if repaired.rows else None
