"""Charts on their way from plan to figure: put right, held against their quotes, drawn, or given up."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence

from leadline.contracts import Run
from leadline.errors import CallFailed, CallRefused
from leadline.records import Figure
from leadline.task_kinds import TaskKind
from leadline_plugins import expect
from leadline_plugins.charts.borne import invented
from leadline_plugins.charts.draft import Draft
from leadline_plugins.charts.fitting import no_whole, side_by_side, unfit
from leadline_plugins.charts.forms import FORMS
from leadline_plugins.charts.planning import Material, helpful, passages, repeated
from leadline_plugins.charts.points import Point
from leadline_plugins.charts.ranges import mixed
from leadline_plugins.charts.tasks import ChartRepairRequest, PlannedChart
from leadline_plugins.prompts import template
from leadline_plugins.shrinking import less_evidence
from leadline_plugins.stages.degrade import tell
from leadline_plugins.stages.judged_charts import judged
from leadline_plugins.stages.showing import asked

ASK_REPAIR = TaskKind(
    "chart_repair",
    ChartRepairRequest,
    PlannedChart,
    template("chart_repair"),
    shrink=less_evidence,
    expects=expect.chart_repair,
)


async def draw_all(run: Run, material: Material, plan: Sequence[Draft]) -> list[Figure]:
    """Return the figures of the charts that fit, say what is true, and could be drawn."""
    for draft in plan:
        _check(draft, material)
    await _each(run, plan, lambda draft: _put_right(run, material, draft), fails=lambda draft: bool(draft.problem))
    await judged(run, material, [draft for draft in plan if draft.problem == ""])
    await _once(run, [draft for draft in plan if draft.problem == ""])
    figures: dict[int, Figure] = {}

    async def draw(draft: Draft) -> None:
        if made := await _draw(run, material, draft):
            figures[draft.place] = made

    await _each(run, [draft for draft in plan if draft.problem == ""], draw, fails=lambda draft: True)
    for draft in plan:
        if draft.place in figures and draft.repairs:
            await tell(run, f"the chart {draft.plan.title!r} was put right before it was drawn: {draft.refused[0]}")
        if draft.place in figures and draft.turned:
            await tell(run, f"the chart {draft.plan.title!r} was drawn in another form than planned: {draft.turned}")
    return [figures[place] for place in sorted(figures)]


async def _once(run: Run, drafts: Sequence[Draft]) -> None:
    """Leave out what another chart shows as well."""
    for place, title in repeated([draft.plan for draft in drafts]).items():
        drafts[place].refuse(f"the chart {title!r} has its points")
        await tell(run, f"the chart {drafts[place].plan.title!r} was not drawn: {drafts[place].problem}")


async def _each(
    run: Run, drafts: Sequence[Draft], do: Callable[[Draft], Awaitable[None]], fails: Callable[[Draft], bool]
) -> None:
    """Do as many at once as may all fail, and tell which came to nothing; too many in a row, and the rest is given up.

    So none is paid for that would have been given up, had one been done after the other.
    """
    left, in_a_row = list(drafts), 0
    most = max(1, run.settings.charts.max_failures)
    while left:
        now = left[: _safe(map(fails, left), most - in_a_row, most)]
        left = left[len(now) :]
        await run.each(now, do)
        for draft in now:
            in_a_row = in_a_row + 1 if draft.problem else 0
            if draft.problem:
                await tell(run, f"the chart {draft.plan.title!r} was not drawn: {draft.problem}")
        if in_a_row >= most and left:
            await tell(run, f"{len(left)} more charts were given up after {in_a_row} failures in a row")
            for draft in left:
                draft.refuse("it was given up after others had failed")
            break


def _safe(fails: Iterable[bool], more: int, most: int) -> int:
    """Return of how many all may be done before so many have failed in a row: `more` now, `most` after a success."""
    count = 0
    for may_fail in fails:
        if not more:
            break
        more = more - 1 if may_fail else most
        count += 1
    return count


async def _put_right(run: Run, material: Material, draft: Draft) -> None:
    """Have a draft put right until nothing is wrong with it, as often as the settings say."""
    while draft.problem and draft.repairs < run.settings.charts.repairs:
        await _repair(run, material, draft)


async def _repair(run: Run, material: Material, draft: Draft) -> None:
    """Have a draft put right once, with all that is wrong with it in hand; a model may leave it out instead."""
    draft.repairs += 1
    draft.refused.append(draft.problem)
    request = ChartRepairRequest(
        question=asked(material.question),
        forms=FORMS,
        language=material.language,
        chart=draft.plan,
        error=draft.problem,
        evidence=passages(helpful(draft.plan, material.evidence), material.sources),
    )
    try:
        made = await run.perform(ASK_REPAIR.of(request))
    except CallRefused:
        raise
    except CallFailed as failed:
        draft.problem = failed.record.message
        return
    if not made.points and draft.plan.points:
        draft.problem, draft.repairs = f"it could not be put right ({draft.problem})", run.settings.charts.repairs
        return
    draft.plan = made
    _check(draft, material)


def _check(draft: Draft, material: Material) -> None:
    """Note all that is wrong with a draft: its form, what the form needs, and its numbers.

    Parts that make no whole need no model: rows are drawn beside each other as well. A program draws its own form.
    """
    if material.language == "data" and (why := no_whole(draft.plan)):
        draft.plan, draft.turned = side_by_side(draft.plan), why
        draft.refused.append(f"{why}: it is drawn as {draft.plan.chart_type}")
    known = material.evidence
    wrong = (*unfit(draft.plan), invented(draft.plan, known, material.sources), mixed(draft.plan, known))
    draft.problem = "; ".join(filter(None, wrong))


async def _draw(run: Run, material: Material, draft: Draft) -> Figure | None:
    """Return the figure of a draft; where the runner fails, it is put right and drawn once more, as often as is set."""
    while True:
        try:
            made = await run.draw(draft.planned(material))
        except CallRefused:
            raise
        except CallFailed as failed:
            draft.problem = failed.record.message
        else:
            return made
        before = {_key(point) for point in draft.plan.points}
        while draft.problem and draft.repairs < run.settings.charts.repairs:
            await _repair(run, material, draft)
        if draft.problem:
            return None
        if not before.issuperset(map(_key, draft.plan.points)):
            await judged(run, material, [draft])
        if draft.problem:
            return None


def _key(point: Point) -> tuple[object, ...]:
    return point.series, point.name, point.value, point.evidence_id
