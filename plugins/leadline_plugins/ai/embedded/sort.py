"""Sort: which evidence stands in the report, in which section, in which order."""

from __future__ import annotations

from collections.abc import Sequence

from leadline.records import Evidence
from leadline_plugins.ai.embedded.asked import asked
from leadline_plugins.ai.embedded.chains import chains, links, ratings
from leadline_plugins.tasks import Sorted, SortedSection, SortRequest
from leadline_plugins.text import content_words, length

_FREE = 200
"""Words of a report whose length nobody set, for a question after a fact."""
_FREE_BROAD = 800
_SAME = 0.6
"""Share of common content words from which two sentences say the same."""


def sort(request: SortRequest) -> Sorted:
    """Choose the evidence, best first, until the length is reached, and sort it into the plan's sections."""
    question = asked(request.question.text)
    pieces = links(question, request.evidence, request.sources)
    ranked = chains(question, pieces)
    if not ranked:
        return Sorted(sections=(), answers=False, reason="No document holds any word of the question.")
    room = request.length or (_FREE_BROAD if question.broad else _FREE)
    rating = ratings(len(pieces), ranked)
    import os

    from leadline_plugins.ai.embedded.answer import holds
    miss = float(os.environ.get("MISS", 1))
    rating = [r * (1 if holds(question, p.evidence.quote) else miss) for r, p in zip(rating, pieces)]
    order = list(dict.fromkeys(i for chain in ranked for i in chain.links))
    order.sort(key=lambda i: -rating[i])
    import os
    cut = float(os.environ.get("CUT", 0)) * max(rating)
    order = [i for i in order if rating[i] >= cut]
    if os.environ.get("FILL"):
        low = float(os.environ.get("FILL")) * max(rating)
        first = _fitting([pieces[i].evidence for i in order], room)
        ids = {e.source_id for e in first}
        order += [i for i in sorted(range(len(pieces)), key=lambda i: (-rating[i], i)) if i not in order and pieces[i].evidence.source_id in ids and rating[i] >= low]
    chosen = _fitting([pieces[i].evidence for i in order], room)
    return Sorted(
        sections=(
            SortedSection(section=request.plan.sections[0], evidence_ids=tuple(e.id for e in chosen), length=room),
        )
    )


def _fitting(ranked: Sequence[Evidence], room: int) -> list[Evidence]:
    """Take what fits, and nothing twice."""
    chosen: list[Evidence] = []
    held: list[set[str]] = []
    for evidence in ranked:
        size, words = length(evidence.quote), set(content_words(evidence.quote))
        if size <= room and not any(_repeats(words, other) for other in held):
            chosen.append(evidence)
            held.append(words)
            room -= size
    return chosen


def _repeats(words: set[str], other: set[str]) -> bool:
    return len(words & other) >= _SAME * min(len(words), len(other))
