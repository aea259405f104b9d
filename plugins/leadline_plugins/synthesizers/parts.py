"""Long sections in parts: one a key question, from the passages that bear on it, so that they are written side by side.

The last long reply is most of the time that a report takes; two halves take half of it. But each is a call that is paid
for: a report of the usual length has at most as many parts as keep its run within the calls that a run should make.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from leadline.records import Evidence, SectionRequest
from leadline_plugins.text import content_words, is_cjk

LONGEST, CJK_LONGEST = 450, 900
"""Words (Chinese, Japanese: characters) that are written in one go."""
_OVER = 1.2
"""How much longer a section may be before it has another part: what that would save is less than its call."""
MOST = 10
"""Parts of a report; of a longer one as many as there are stretches of `LONGEST` in it."""
_LEANING = 1.05
"""How much more than its share of the passages one part may have."""


def parts(request: SectionRequest) -> list[tuple[str, SectionRequest]]:
    """Return the parts of a section, each with the key question it answers; one without a question is the whole."""
    wanted = count_of(request.length, len(request.outline), cjk=is_cjk(request.language))
    count = min(len(request.questions), wanted, len(request.evidence))
    if count < 2:
        return [("", request)]
    questions = request.questions[:count]
    groups = _by_question(questions, request.evidence)
    return [(question, _part(request, group)) for question, group in zip(questions, groups, strict=True) if group]


def count_of(length: int, sections: int, *, cjk: bool) -> int:
    """Return in how many parts at most a section of this length is written, of a report of so many, all about alike."""
    longest = CJK_LONGEST if cjk else LONGEST
    sections = max(1, sections)
    most = max(MOST, -(-length * sections // longest)) // sections
    return max(1, min(most, ceil(length / (longest * _OVER))))


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
