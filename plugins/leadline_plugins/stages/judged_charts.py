"""Charts held against their quotes by a model: what a number is of, figures alone do not tell."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence

from leadline.computing import compute
from leadline.contracts import Run
from leadline.findings import UNBORNE
from leadline_plugins.charts.doubts import Told, denied_by, doubts, renumbered
from leadline_plugins.charts.draft import Draft
from leadline_plugins.charts.fitting import FEWEST, shows_a_whole, side_by_side, unfit
from leadline_plugins.charts.planning import Material
from leadline_plugins.charts.points import Point
from leadline_plugins.charts.tasks import PlannedChart
from leadline_plugins.checks.causes import Cause
from leadline_plugins.stages.degrade import tell
from leadline_plugins.stages.putting import Passage, Put
from leadline_plugins.stages.questioning import ASK, BATCH, answers
from leadline_plugins.tasks.checking import ClaimVerdict


async def judged(run: Run, material: Material, drafts: Sequence[Draft]) -> None:
    """Have a model hold each point against its quote, all in one call: a number may be of something else there.

    It is told what rules find against a point; then only words of the passage keep that. Where no model says anything,
    what a repair has given another number, of another quote, is left out.
    """
    claims = [claim for draft in drafts for claim in await _claims(draft, material)]
    said = await _said(run, claims)
    doubted = {claim.id for claim in claims if claim.found}
    for draft in drafts:
        wrong = dict(_against(draft, said, doubted))
        draft.partial = frozenset(_partial(draft, said, wrong))
        if wrong:
            await _without(run, material, draft, wrong)


async def _said(run: Run, claims: Sequence[Put]) -> Mapping[str, ClaimVerdict]:
    """Return what a model says of points, by their ids; and tell of how many it says nothing."""
    if not claims or not await run.by_chat(ASK.name):
        return {}
    if len(claims) > BATCH:
        await tell(run, f"of the charts' {len(claims)} points a model held the first {BATCH} against their quotes")
    said = await answers(run, claims[:BATCH], _found, lambda one: False)
    if left := len(claims[:BATCH]) - len(said.by_id):
        why = f" ({said.why})" if said.why else ""
        await tell(run, f"no model held {left} of the charts' {len(claims)} points against their quotes{why}")
    return said.by_id


async def _found(claims: Sequence[Put]) -> dict[str, Cause]:
    return {claim.id: Cause(claim.found) for claim in claims if claim.found}


def _against(
    draft: Draft, said: Mapping[str, ClaimVerdict], doubted: Container[str]
) -> Iterator[tuple[int, ClaimVerdict]]:
    """Yield the points that do not stay, by their places, with the verdict on them."""
    changed = renumbered(draft.plan, draft.first)
    for place in range(len(draft.plan.points)):
        verdict = said.get(_id(draft, place))
        if verdict is None:
            if place in changed:
                yield place, ClaimVerdict(id="", verdict="unsupported", reason=changed[place])
        elif verdict.verdict in UNBORNE or (_id(draft, place) in doubted and verdict.verdict != "supported"):
            yield place, verdict
        elif verdict.words and denied_by(draft.plan, place, verdict.words):
            yield place, verdict.model_copy(update={"reason": f"the words shown for it deny it: “{verdict.words}”"})


def _partial(draft: Draft, said: Mapping[str, ClaimVerdict], wrong: Container[int]) -> Iterator[Point]:
    """Yield the points that stay, though their quotes say only a part of what they show."""
    for place, point in enumerate(draft.plan.points):
        verdict = said.get(_id(draft, place))
        if verdict and verdict.verdict == "partial" and place not in wrong:
            yield point


async def _claims(draft: Draft, material: Material) -> list[Put]:
    """Return what the points of a chart say, as claims with their quotes, and what rules find against them."""
    passages = {name: _passage(name, material) for name in {point.evidence_id for point in draft.plan.points}}
    told = {name: Told(one.text, f"{one.under}\n{one.title}") for name, one in passages.items()}
    found, changed = await compute(doubts, draft.plan, told), renumbered(draft.plan, draft.first)
    return [
        Put(
            id=_id(draft, place),
            claim=_said_of(point, draft.plan),
            passages=(passages[point.evidence_id],),
            found="; ".join(filter(None, (found.get(place), changed.get(place)))),
        )
        for place, point in enumerate(draft.plan.points)
    ]


def _passage(name: str, material: Material) -> Passage:
    item = material.evidence[name]
    source = material.sources.get(item.source_id)
    return Passage(item.quote, title=source.hit.title if source else "", under=item.under)


def _said_of(point: Point, chart: PlannedChart) -> str:
    """Return what a point of a chart says, as a claim."""
    value = "" if point.value is None else f"{point.value:,.12g} {chart.unit}".strip()
    place = "" if point.x is None else f"{chart.x_label} {point.x:,.12g}".strip()
    said = dict.fromkeys(filter(None, (point.series, point.label, point.date, place, value)))
    return f"{chart.title}: {', '.join(said)}"


def _id(draft: Draft, place: int) -> str:
    return f"{draft.place}.{place}"


async def _without(run: Run, material: Material, draft: Draft, wrong: Mapping[int, ClaimVerdict]) -> None:
    """Leave points out that their quotes do not bear; too few are left to compare, and the chart goes.

    What has lost a part is no whole: rows are drawn beside each other then, and a program is not run.
    """
    why = "; ".join(_unsaid(draft.plan.points[place], one.reason) for place, one in sorted(wrong.items()))
    kept = tuple(point for place, point in enumerate(draft.plan.points) if place not in wrong)
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
