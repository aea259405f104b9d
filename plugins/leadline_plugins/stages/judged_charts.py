"""Charts held against their quotes by a model: what a number is of, figures alone do not tell."""

from __future__ import annotations

from collections.abc import Sequence

from leadline.contracts import Run
from leadline.findings import UNBORNE
from leadline_plugins.charts.draft import Draft
from leadline_plugins.charts.fitting import shows_a_whole, side_by_side, unfit
from leadline_plugins.charts.planning import Material
from leadline_plugins.charts.points import Point
from leadline_plugins.charts.tasks import PlannedChart
from leadline_plugins.stages.degrade import tell
from leadline_plugins.stages.putting import Passage, Put
from leadline_plugins.stages.questioning import ASK, BATCH, ask
from leadline_plugins.tasks.checking import ClaimVerdict

FEWEST = 3
"""Points that a chart compares at least, once those are left out that their quotes do not bear."""


async def judged(run: Run, material: Material, drafts: Sequence[Draft]) -> None:
    """Have a model hold each point against its quote, all in one call: a number may be of something else there."""
    if not await run.by_chat(ASK.name):
        return
    points = [(draft, point) for draft in drafts for point in draft.plan.points]
    numbered = {str(number): pair for number, pair in enumerate(points[:BATCH], start=1)}
    if not numbered:
        return
    if len(points) > BATCH:
        await tell(run, f"of the charts' {len(points)} points a model held the first {BATCH} against their quotes")
    said = await ask(run, [_claim(name, draft.plan, point, material) for name, (draft, point) in numbered.items()])
    against = [(*numbered[name], one) for name, one in said.by_id.items() if one.verdict in UNBORNE]
    for draft in drafts:
        wrong = [(point, one) for other, point, one in against if other is draft]
        if wrong:
            await _without(run, material, draft, wrong)


async def _without(run: Run, material: Material, draft: Draft, wrong: Sequence[tuple[Point, ClaimVerdict]]) -> None:
    """Leave points out that their quotes do not bear; too few are left to compare, and the chart goes.

    What has lost a part is no whole: rows are drawn beside each other then, and a program is not run.
    """
    why = "; ".join(_unsaid(point, one.reason) for point, one in wrong)
    gone = {id(point) for point, _ in wrong}
    kept = tuple(point for point in draft.plan.points if id(point) not in gone)
    left = draft.plan.model_copy(update={"points": kept})
    drawn = side_by_side(left) if material.language == "data" else left
    if len(kept) < FEWEST or shows_a_whole(drawn) or any(unfit(drawn)):
        draft.refuse(f"its quotes do not say this: {why}")
        await tell(run, f"the chart {draft.plan.title!r} was not drawn: {draft.problem}")
        return
    draft.refused.append(f"its quotes do not say this: {why}")
    draft.plan = drawn
    await tell(run, f"the chart {draft.plan.title!r} was drawn without what its quotes do not say: {why}")


def _unsaid(point: Point, reason: str) -> str:
    reason = reason.strip().rstrip(".。")
    return f"{point.name} ({reason})" if reason else point.name


def _claim(name: str, chart: PlannedChart, point: Point, material: Material) -> Put:
    """Return what a point of a chart says, as a claim with its quote."""
    value = "" if point.value is None else f"{point.value:,.12g} {chart.unit}".strip()
    place = "" if point.x is None else f"{chart.x_label} {point.x:,.12g}".strip()
    said = dict.fromkeys(filter(None, (point.series, point.label, point.date, place, value)))
    item = material.evidence[point.evidence_id]
    source = material.sources.get(item.source_id)
    passage = Passage(item.quote, title=source.hit.title if source else "", under=item.under)
    return Put(id=name, claim=f"{chart.title}: {', '.join(said)}", passages=(passage,))
