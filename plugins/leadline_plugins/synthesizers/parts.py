"""Long sections in parts: one a key question, from the passages that bear on it, so that they are written side by side.

The last long reply is most of the time that a report takes; two halves take half of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from leadline.records import Evidence, SectionRequest
from leadline_plugins.text import content_words, is_cjk

LONGEST, CJK_LONGEST = 450, 900
"""Words (Chinese, Japanese: characters) that are written in one go."""
_LEANING = 1.05
"""How much more than its share of the passages one part may have."""


def parts(request: SectionRequest) -> list[tuple[str, SectionRequest]]:
    """Return the parts of a section, each with the key question it answers; one without a question is the whole."""
    longest = CJK_LONGEST if is_cjk(request.language) else LONGEST
    count = min(len(request.questions), -(-request.length // longest), len(request.evidence))
    if count < 2:
        return [("", request)]
    questions = request.questions[:count]
    groups = _by_question(questions, request.evidence)
    return [(question, _part(request, group)) for question, group in zip(questions, groups, strict=True) if group]


def _part(request: SectionRequest, evidence: list[Evidence]) -> SectionRequest:
    length = round(request.length * len(evidence) / len(request.evidence))
    return request.model_copy(update={"evidence": tuple(evidence), "length": length})


def _by_question(questions: Sequence[str], evidence: Sequence[Evidence]) -> list[list[Evidence]]:
    """Give each piece to the question it shares most words with; of equals, and where one has enough, the emptier."""
    room = _LEANING * len(evidence) / len(questions)
    asked = [set(content_words(question)) for question in questions]
    groups: list[list[Evidence]] = [[] for _ in questions]
    for item in evidence:
        words = set(content_words(item.quote))
        free = [place for place, group in enumerate(groups) if len(group) < room]
        groups[max(free, key=lambda place: (len(words & asked[place]), -len(groups[place])))].append(item)
    return groups
