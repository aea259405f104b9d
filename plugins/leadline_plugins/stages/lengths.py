"""How long each section is to be: its share of the report, and no longer than its evidence bears."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from leadline.contracts import Run
from leadline.findings import Question
from leadline.records import Evidence
from leadline_plugins.stages import material
from leadline_plugins.synthesizers.lengths import bearable
from leadline_plugins.tasks.sorting import Sorted
from leadline_plugins.text import is_cjk

_MORE = 1.5
"""What a section may have of its share where others cannot have theirs: one that takes it all outgrows the report."""
_NEARLY = 0.9
"""Of the length asked for: so much is as long as asked."""


def lengths(plan: Sorted, evidence: Iterable[Evidence], question: Question, run: Run) -> tuple[Sorted, str]:
    """Return the sorting with the length of each section, and what to say where that is less than was asked for."""
    by_id = {item.id: item for item in evidence}
    asked, code = material.length(run, question.language), question.language
    most = [
        bearable((by_id[name].quote for name in part.evidence_ids if name in by_id), code) if part.evidence_ids else 0
        for part in plan.sections
    ]
    plan = shared_out(plan, asked, most)
    given = sum(part.length for part in plan.sections)
    if not run.settings.report.length or given >= _NEARLY * asked:
        return plan, ""
    unit = "characters" if is_cjk(code) else "words"
    return plan, f"the sections have about {given:,} {unit}, not {asked:,}: what was found for them bears no more"


def shared_out(plan: Sorted, length: int, most: Sequence[int]) -> Sorted:
    """Share a length out between the sections by their evidence, none more than a twentieth off the mean.

    They are written side by side, and the longest is waited for. None has more than its `most`; what it cannot have
    goes to the others, to each half as much again as its share at most.
    """
    counts = [len(section.evidence_ids) for section in plan.sections]
    mean = sum(counts) / len(counts)
    weights = [min(max(count, mean * 0.95), mean * 1.05) if count else 0.0 for count in counts]
    shares, left, free = [0] * len(counts), length, [place for place, weight in enumerate(weights) if weight]
    whole = sum(weights)
    most = [min(one, round(_MORE * length * weight / whole)) for one, weight in zip(most, weights, strict=True)]
    while free:
        total = sum(weights[place] for place in free)
        wanted = {place: round(left * weights[place] / total) for place in free}
        full = [place for place in free if wanted[place] > most[place]]
        for place in full or free:
            shares[place] = min(wanted[place], most[place])
        left -= sum(shares[place] for place in full)
        free = [place for place in free if place not in full] if full else []
    sections = (
        section.model_copy(update={"length": share}) for section, share in zip(plan.sections, shares, strict=True)
    )
    return plan.model_copy(update={"sections": tuple(sections)})
