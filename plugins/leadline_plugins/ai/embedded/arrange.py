"""Arrange: the chosen evidence in sections, the answer first.

Where the plan has several sections, each takes what speaks of its own words. Where it has one, the answer stands in
it, and what the documents say around the answer follows; in a longer account under the titles of the documents.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from leadline.findings import Plan, PlannedSection, SearchTask
from leadline.records import Evidence, Source
from leadline_plugins.ai.embedded.asked import Asked
from leadline_plugins.ai.embedded.chains import title_of
from leadline_plugins.ai.embedded.choose import Rated, size_of
from leadline_plugins.tasks import SortedSection
from leadline_plugins.text import content_set

_ANSWER = 3
"""Sentences that stand first, in the order of their rating."""
_SECTION = 3
"""Sentences that make a section of their own."""
_SEARCHED = 0.5
"""Worth of having been searched for a section, beside the share of its words."""
_LEAD = 0.1
"""By how much a section must be ahead of the next for its choice to be sure."""


def arrange(
    plan: Plan,
    chosen: Sequence[Rated],
    sources: Sequence[Source],
    question: Asked,
    parted: Sequence[Shares],
    most: int | None = None,
) -> tuple[SortedSection, ...]:
    """Return the sections that have evidence, in the order of the report; `parted` are the `shares` of the chosen.

    Where the plan has one, there are `most` at most.
    """
    several = len(plan.sections) > 1
    parts = _planned(plan.sections, chosen, parted) if several else _by_document(plan, chosen, sources, question, most)
    return tuple(
        SortedSection(
            section=section,
            evidence_ids=tuple(item.id for item in evidence),
            length=sum(size_of(item, question.language) for item in evidence),
        )
        for section, evidence in parts
        if evidence
    )


Part = tuple[PlannedSection, list[Evidence]]
Shares = list[float]
"""How much a piece of evidence has of each section of the plan."""


def shares(
    sections: Sequence[PlannedSection], evidence: Iterable[Evidence], tasks: Iterable[SearchTask] = ()
) -> list[Shares]:
    """Return for each piece of evidence how many of a section's words it has, and whether it was searched for it."""
    own = [content_set(section.title) for section in sections]
    served = {task.id: task.section for task in tasks}
    found = []
    for item in evidence:
        words, wanted = content_set(item.quote), served.get(item.task_id, "")
        found.append(
            [
                len(words & terms) / max(1, len(terms)) + (_SEARCHED if section.id == wanted else 0.0)
                for section, terms in zip(sections, own, strict=True)
            ]
        )
    return found


def unsure(evidence: Sequence[Evidence], parted: Sequence[Shares]) -> tuple[Evidence, ...]:
    """Return the evidence whose section is a toss-up: none claims it, or two do nearly alike.

    A plan of one section leaves nothing to choose.
    """
    ranked = (sorted(row, reverse=True) for row in parted)
    return tuple(item for item, row in zip(evidence, ranked, strict=True) if len(row) > 1 and row[0] - row[1] < _LEAD)


def _planned(sections: Sequence[PlannedSection], chosen: Sequence[Rated], parted: Sequence[Shares]) -> list[Part]:
    """Give each sentence to the section it shares most with, or was searched for; the first of equals."""
    groups: list[list[Rated]] = [[] for _ in sections]
    for item, row in zip(chosen, parted, strict=True):
        groups[row.index(max(row))].append(item)
    return [(section, _ordered(group)) for section, group in zip(sections, groups, strict=True)]


def _by_document(
    plan: Plan, chosen: Sequence[Rated], sources: Sequence[Source], question: Asked, most: int | None
) -> list[Part]:
    first = plan.sections[0] if plan.sections else PlannedSection(id="s1", title=question.text)
    if not question.account:
        return [(first, _ordered(chosen))]
    titles = {source.id: title_of(source) for source in sources}
    rest = chosen[_ANSWER:]
    counts = Counter(item.evidence.source_id for item in rest)
    large = [name for name in counts if counts[name] >= _SECTION and titles.get(name)]
    if most is not None:  # those that say most, in the order of all
        largest = sorted(large, key=lambda name: -counts[name])[: most - 1]
        large = [name for name in large if name in largest]
    own: list[Part] = [
        (
            PlannedSection(id=f"{first.id}.{place}", title=titles[name]),
            _in_text(item.evidence for item in rest if item.evidence.source_id == name),
        )
        for place, name in enumerate(large, start=1)
    ]
    kept = [item for item in chosen if item in chosen[:_ANSWER] or item.evidence.source_id not in large]
    return [(first, _ordered(kept)), *own]


def _ordered(chosen: Sequence[Rated]) -> list[Evidence]:
    """Put the best sentences first; then the others, document by document, in the order of the text."""
    best = [item.evidence for item in chosen[:_ANSWER]]
    rest = [item.evidence for item in chosen[_ANSWER:]]
    documents = dict.fromkeys(item.source_id for item in [*best, *rest])
    return best + [item for name in documents for item in _in_text(e for e in rest if e.source_id == name)]


def _in_text(evidence: Iterable[Evidence]) -> list[Evidence]:
    return sorted(evidence, key=lambda item: item.span)
