"""Long sections in parts: each of some key questions, from the passages that bear on them, written side by side.

The last long reply is most of the time that a report takes; two halves take half of it. But each is a call that is paid
for: a report of the usual length has at most as many parts as keep its run within the calls that a run should make.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import ceil

from leadline.records import Evidence, SectionRequest
from leadline_plugins.ai.embedded.elsewhere import other_language
from leadline_plugins.synthesizers.lengths import bearable
from leadline_plugins.text import is_cjk, language
from leadline_plugins.text.tokens import has_cjk
from leadline_plugins.text.topics import fits, headed, joined, weighed

LONGEST, CJK_LONGEST = 450, 900
"""Words (Chinese, Japanese: characters) that are written in one go."""
_OVER = 1.2
"""How much longer a section may be before it has another part: what that would save is less than its call."""
MOST = 10
"""Parts of a report; of a longer one as many as there are stretches of `LONGEST` in it."""
FEWEST = 8
"""Passages of a part: of fewer a text says little, and its section is better written in one go."""
_SHORT, _CJK_SHORT = 3_000, 1_000
"""Characters of a section's passages (Chinese, Japanese: a third says as much) up to which one writer is shown all."""
_FOREIGN = 2.0
"""Times as much of passages in another language is shown to all writers of a section."""
_LEAD = 0.1
"""By how much one part must fit a passage better than another for that to be left without it."""
_OVER_IT = 2.0
"""What a word of the headings over a passage counts beside its own, one that stands over no other of its page."""


@dataclass(frozen=True)
class Part:
    """What one writer is asked for: the section's request with its own questions, passages and length.

    `others` are the key questions that the other parts of the section answer.
    """

    request: SectionRequest
    others: tuple[str, ...] = ()


def parts(request: SectionRequest) -> list[Part]:
    """Return the parts of a section: every key question in one of them, every passage in one or more."""
    wanted = count_of(request.length, len(request.outline), cjk=is_cjk(request.language))
    count = min(len(request.questions), wanted, len(request.evidence) // FEWEST)
    if count < 2 or _are_few(request.evidence):
        return [Part(request)]
    groups = _grouped(request.questions, count)
    shown = _dealt(groups, request.evidence, _foreign(request))
    lengths = [request.length * len(one) / sum(map(len, shown)) for one in shown]
    others = [tuple(question for group in groups if group is not own for question in group) for own in groups]
    return [
        Part(_part(request, own, evidence, round(length)), rest)
        for own, rest, evidence, length in zip(groups, others, shown, lengths, strict=True)
    ]


def count_of(length: int, sections: int, *, cjk: bool) -> int:
    """Return in how many parts at most a section of this length is written, of a report of so many, all about alike."""
    longest = CJK_LONGEST if cjk else LONGEST
    sections = max(1, sections)
    most = max(MOST, -(-length * sections // longest)) // sections
    return max(1, min(most, ceil(length / (longest * _OVER))))


def _are_few(evidence: Sequence[Evidence]) -> bool:
    """Return whether passages are so short that no writer is shown fewer: parts would be paid for the same twice."""
    return sum(len(item.quote) / (_CJK_SHORT if has_cjk(item.quote) else _SHORT) for item in evidence) <= 1


def _part(
    request: SectionRequest, questions: tuple[str, ...], evidence: tuple[Evidence, ...], length: int
) -> SectionRequest:
    length = min(length, bearable((item.quote for item in evidence), request.language)) if length else 0
    return request.model_copy(update={"questions": questions, "evidence": evidence, "length": length})


def _grouped(questions: Sequence[str], count: int) -> list[tuple[str, ...]]:
    """Return the questions in so many groups, in their order, none with two more than another."""
    ends = [len(questions) * place // count for place in range(count + 1)]
    return [tuple(questions[start:end]) for start, end in pairwise(ends)]


def _foreign(request: SectionRequest) -> frozenset[str]:
    """Return the passages, best first while they are not too long, of sources in another language than the questions.

    Their words cannot meet those of the questions, but for names, which stand in one question and mean all.
    """
    asked = request.language or language("\n".join(request.questions))
    away = {source.id for source in request.sources if other_language(asked, source.document.text)}
    found = [item for item in request.evidence if item.source_id in away]
    sizes = accumulate(len(item.quote) / (_CJK_SHORT if has_cjk(item.quote) else _SHORT) for item in found)
    return frozenset(item.id for item, size in zip(found, sizes, strict=True) if size <= _FOREIGN)


def _dealt(
    groups: Sequence[tuple[str, ...]], evidence: tuple[Evidence, ...], foreign: Container[str]
) -> list[tuple[Evidence, ...]]:
    """Return the passages of each group: those that fit its questions, and those that fit no group much better.

    A group with few has the next best too; all have those that are `foreign`.
    """
    topics = [weighed(("\n".join(group), 1.0)) for group in groups]
    over = headed([(item.source_id, item.under) for item in evidence])
    own = [weighed((item.quote, 1.0)) for item in evidence]
    rows = fits(topics, [joined(words, above, _OVER_IT) for words, above in zip(own, over, strict=True)])
    rows = [[0.0] * len(row) if item.id in foreign else row for item, row in zip(evidence, rows, strict=True)]
    return [_own(place, rows, evidence) for place in range(len(groups))]


def _own(place: int, rows: Sequence[Sequence[float]], evidence: Sequence[Evidence]) -> tuple[Evidence, ...]:
    order = sorted(range(len(rows)), key=lambda at: max(rows[at]) - rows[at][place])
    own = {at for rank, at in enumerate(order) if rank < FEWEST or max(rows[at]) - rows[at][place] < _LEAD}
    return tuple(item for at, item in enumerate(evidence) if at in own)
