"""Evidence that an algorithm could not sort surely: a model is asked once which section each piece of it belongs to.

Only those pieces are shown, and it answers in their numbers: a fraction of what sorting everything would cost.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from leadline.contracts import Run
from leadline.findings import PlannedSection
from leadline.records import Evidence
from leadline.task_kinds import TaskKind
from leadline_plugins import expect
from leadline_plugins.prompts import template
from leadline_plugins.shrinking import fewer_pieces
from leadline_plugins.stages.degrade import perform_or, tell
from leadline_plugins.tasks.sorting import (
    PassageSource,
    Placed,
    PlaceRequest,
    Sorted,
    SortedSection,
    SortRequest,
    Unplaced,
)
from leadline_plugins.text.headings import unnamed

_SHARE, _LEAST = 0.25, 5
"""Of the chosen pieces, and how many in all, that must be unsure before a call is worth it."""
_NEARLY_ALL = 0.9
"""Of the pieces shown: a reply that finds no place for so many has misread the outline, or no section has evidence."""
_PLACES = 2
"""Sections at most that one piece serves."""
_QUOTE = 200
"""Characters of a quote that are shown: enough to tell what it speaks of."""


def _unusable(request: PlaceRequest, reply: Placed) -> str:
    """Say what is wrong with a reply that names things, and nothing that it was shown."""
    numbers = {piece.number for piece in request.pieces}
    ids = [section.id for section in request.sections]
    said = [section for section in reply.sections if section.pieces]
    known = any(section.id in ids and numbers.intersection(section.pieces) for section in said)
    if known or not said or numbers.intersection(reply.nowhere):
        return ""
    return f"it names no piece that was shown under the id of a section ({', '.join(ids)})"


PLACE = TaskKind(
    "place", PlaceRequest, Placed, template("place"), shrink=fewer_pieces, check=_unusable, expects=expect.place
)


async def settled(plan: Sorted, request: SortRequest, run: Run) -> Sorted:
    """Return the sorting with its unsure pieces where a chat puts them; where none can, as it is, and say so."""
    pieces = _unsure(plan, request.evidence)
    chosen = len({name for part in plan.sections for name in part.evidence_ids})
    if len(pieces) < max(_LEAST, _SHARE * chosen) or not await run.by_chat(PLACE.name):
        return plan
    outline = _outline(plan, request.plan.sections)
    pieces = pieces[: expect.MOST_PLACED]
    of_pieces = {item.source_id for item in pieces}
    sources = [source for source in request.sources if source.id in of_pieces]
    names = {source.id: str(place) for place, source in enumerate(sources, start=1)}
    asked = PlaceRequest(
        question=request.question,
        sections=tuple(
            PlannedSection(id=one.id, title=one.title, goal=one.goal, questions=one.questions)
            for one in outline.values()
        ),
        sources=tuple(PassageSource(id=names[one.id], title=one.hit.title) for one in sources),
        pieces=tuple(_shown(place, item, names) for place, item in enumerate(pieces, start=1)),
    )
    saying = "evidence whose section is not sure was sorted by algorithm alone"
    placed = await perform_or(run, PLACE.of(asked), Placed(sections=()), saying, closing=True)
    places = _places(placed, outline, pieces)
    strange = {pieces[number - 1].id for number in placed.nowhere if 0 < number <= len(pieces)} - places.keys()
    if len(strange) >= _NEARLY_ALL * len(pieces):
        nowhere = f"no section was found for {len(strange)} of the {len(pieces)} passages that were not sure of theirs"
        await tell(run, f"{nowhere}: they were sorted by algorithm alone")
        strange = set()
    return _moved(plan, outline, places | {name: frozenset() for name in strange})


def _unsure(plan: Sorted, evidence: Sequence[Evidence]) -> list[Evidence]:
    """Return what is unsure of the chosen evidence, best first."""
    left_open = set(plan.unsure) & {name for part in plan.sections for name in part.evidence_ids}
    return sorted((item for item in evidence if item.id in left_open), key=lambda item: -item.score)


def _shown(number: int, item: Evidence, names: Mapping[str, str]) -> Unplaced:
    quote = item.quote[:_QUOTE]
    under = unnamed(item.under, quote)
    return Unplaced(number=number, quote=quote, under=under, source_id=names.get(item.source_id, ""))


def _outline(plan: Sorted, planned: Sequence[PlannedSection]) -> dict[str, PlannedSection]:
    """Return the sections by their ids: those of the plan, which may have been left empty, and any others."""
    return {section.id: section for section in (*planned, *(part.section for part in plan.sections))}


Places = dict[str, frozenset[str]]
"""The sections of pieces, all by their ids; none for a piece that belongs nowhere. Of the others nothing is known."""


def _places(placed: Placed, outline: Mapping[str, PlannedSection], pieces: Sequence[Evidence]) -> Places:
    """Return where the reply places pieces: of more than two places the first two, of the unknown none."""
    found: defaultdict[int, dict[str, None]] = defaultdict(dict)
    for one in placed.sections:
        for number in one.pieces if one.id in outline else ():
            if 0 < number <= len(pieces):
                found[number][one.id] = None
    return {pieces[number - 1].id: frozenset(list(names)[:_PLACES]) for number, names in found.items()}


def _moved(plan: Sorted, outline: Mapping[str, PlannedSection], places: Places) -> Sorted:
    """Return the sorting with pieces moved behind what stands in their sections; no section is left empty."""
    parts = {part.section.id: part for part in plan.sections}
    chosen = list(dict.fromkeys(name for part in plan.sections for name in part.evidence_ids))
    sections = []
    for place, section in outline.items():
        part = parts.get(place, SortedSection(section=section, evidence_ids=()))
        kept = [name for name in part.evidence_ids if place in places.get(name, {place})]
        come = [name for name in chosen if place in places.get(name, ()) and name not in part.evidence_ids]
        sections.append(part.model_copy(update={"evidence_ids": (*kept, *come)}))
    return plan.model_copy(update={"sections": tuple(part for part in sections if part.evidence_ids)})
