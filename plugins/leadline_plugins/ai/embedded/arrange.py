"""Arrange: the chosen evidence in sections, the answer first.

Where the plan has several sections, each takes what speaks of it. Where it has one, the answer stands in
it, and what the documents say around the answer follows; in a longer account under the titles of the documents.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import and_

from leadline.findings import Plan, PlannedSection, SearchTask
from leadline.records import Evidence, Source
from leadline_plugins.ai.embedded.asked import Asked
from leadline_plugins.ai.embedded.chains import title_of
from leadline_plugins.ai.embedded.choose import Rated, size_of
from leadline_plugins.checks.naming import proper_names
from leadline_plugins.tasks.sorting import SortedSection
from leadline_plugins.text import content_set
from leadline_plugins.text.topics import Fits, Words, chapters, fits, headed, joined, weighed

_ANSWER = 3
"""Sentences that stand first, in the order of their rating."""
_SECTION = 3
"""Sentences that make a section of their own."""
_SEARCHED = 0.15
"""Worth of having been searched for a section, beside how well it fits: it decides between near equals."""
_FIRST_FOUND = 0.05
"""The same of a page that speaks of other sections more: it is found first by whatever search came first."""
_TITLED = 0.2
"""Worth of the title of its source where nothing else tells: it may say what a page begins with, not what all is."""
_OF_TITLE = 0.5
"""The share of a title's words by which it names what a section is about, and with it what its page is about."""
_OF_PAGE = 0.66
"""The share of what words claim of a page by which it is one on the section that it was searched for."""
_OVER = 2.0
"""What a word of the headings over a quote counts beside its own, one that stands over no other of its page."""
_LEAD = 0.1
"""By how much a section must be ahead of the next for its choice to be sure."""
_MEET = 0.25
"""The share of the evidence that words claim where plan and pages are in one language."""
_NAME = re.compile(r"[A-Z][^\W\d_]{2,}")
_BOTH = 0.25
"""How well a piece of evidence fits a section that it serves beside another."""


def arrange(
    plan: Plan,
    chosen: Sequence[Rated],
    sources: Sequence[Source],
    question: Asked,
    parted: Sequence[Shares],
    most: int | None = None,
) -> tuple[SortedSection, ...]:
    """Return the sections that have evidence, in the order of the report; `parted` are the `shares` of the chosen.

    `most` is given where a model writes them: how many there are at most where the plan has one.
    """
    several = len(plan.sections) > 1
    if several:
        parts = _planned(plan.sections, chosen, parted, written=most is not None)
    else:
        parts = _by_document(plan, chosen, sources, question, most)
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


@dataclass(frozen=True)
class Shares:
    """How much a piece of evidence speaks of each section of the plan, and whether the first of them is sure."""

    fits: Sequence[float]
    sure: bool


def shares(
    sections: Sequence[PlannedSection],
    evidence: Iterable[Evidence],
    sources: Iterable[Source] = (),
    tasks: Sequence[SearchTask] = (),
) -> list[Shares]:
    """Return for each piece of evidence how well it fits each section, and whether it was searched for it.

    A section is what the plan says of it, and not the words of its queries: those try what may be said. A piece of
    evidence speaks of what stands over it too, and of what the title of its source names. One word of a longer title
    or heading makes nothing sure, for it would claim a document or a chapter: it decides what is left open.
    """
    pieces = list(evidence)
    topics = _topics(sections, tasks)
    titles = {source.id: title_of(source) for source in sources}
    naming = {name: title for name, title in titles.items() if _names(title, topics)}
    said = [weighed((item.quote, 1.0), (naming.get(item.source_id, ""), 1.0)) for item in pieces]
    over = headed([(item.source_id, item.under) for item in pieces])
    own = fits(topics, [joined(words, above, _OVER) for words, above in zip(said, over, strict=True)])
    rows = [_sum(row, worth) for row, worth in zip(own, _searched(sections, pieces, own, tasks), strict=True)]
    called = dict(zip(titles, fits(topics, [weighed((title, 1.0)) for title in titles.values()]), strict=True))
    named = [called.get(item.source_id, [0.0] * len(sections)) for item in pieces]
    claimed = sum(max(_sum(row, by_title), default=0.0) > _SEARCHED for row, by_title in zip(rows, named, strict=True))
    least = 0.0 if claimed >= _MEET * len(rows) else _SEARCHED
    spoken = _spoken(pieces, fits(topics, said), topics)
    agreed = [_agree(*each) for each in zip(own, spoken, fits(topics, over), strict=True)]
    asked = [_subjects(one) for one in sections]
    sought = [[bool(one & _about(item)) for one in asked] for item in pieces]
    alone = [not _contested(*each) for each in zip(rows, spoken, sought, strict=True)]
    return [
        Shares(row, sure=True) if sure and _sure(row, least) else Shares(_sum(row, by_title, _TITLED), sure=False)
        for row, by_title, sure in zip(rows, named, map(and_, agreed, alone), strict=True)
    ]


def _topics(sections: Sequence[PlannedSection], tasks: Sequence[SearchTask]) -> list[Words]:
    """Return what the plan says of each section, without the words that are searched for all of them.

    Those are of the whole subject: that one section alone is told with them does not make all that has them its own.
    """
    topics = [weighed(("\n".join((one.title, one.goal, *one.questions)), 1.0)) for one in sections]
    queries = [content_set("\n".join(task.query for task in tasks if task.section == one.id)) for one in sections]
    shared = queries[0].intersection(*queries) if queries else frozenset[str]()
    own = [{word: weight for word, weight in topic.items() if word not in shared} for topic in topics]
    return [some or topic for some, topic in zip(own, topics, strict=True)]


def _spoken(pieces: Sequence[Evidence], said: Sequence[Fits], topics: Sequence[Words]) -> list[Fits]:
    """Return what each piece's own words speak of; of one whose words speak of nothing, the headings that name it."""
    paths = {item.under for item, row in zip(pieces, said, strict=True) if not any(row)}
    naming = {path: "\n".join(one for one in chapters(path) if _names(one, topics)) for path in paths}
    by_path = dict(zip(naming, fits(topics, [weighed((text, 1.0)) for text in naming.values()]), strict=True))
    return [row if any(row) else by_path[item.under] for item, row in zip(pieces, said, strict=True)]


def _subjects(section: PlannedSection) -> frozenset[str]:
    """Return the words of the names that a section's key questions name: whom it asks of."""
    named = (_NAME.findall(name) for question in section.questions for name in proper_names(question))
    return frozenset(word for words in named for word in content_set(" ".join(words)))


def _about(item: Evidence) -> frozenset[str]:
    """Return the words of what a piece is about: its own, and those of the heading right over it."""
    return content_set(item.quote).union(*map(content_set, chapters(item.under)[-1:]))


def _contested(row: Fits, spoken: Fits, sought: Sequence[bool]) -> bool:
    """Return whether another section than the first asks of whom a piece is about, and the words do not decide."""
    if not any(row):
        return False
    first = row.index(max(row))
    return any(spoken[first] - spoken[place] < _LEAD for place, asks in enumerate(sought) if asks and place != first)


def _agree(own: Fits, spoken: Fits, over: Fits) -> bool:
    """Return whether what a piece fits best is what its own words speak of most, and its headings of nothing else."""
    if not any(own):
        return True
    place = own.index(max(own))
    return spoken[place] > 0 and spoken[place] == max(spoken) and max(over) - over[place] < _LEAD


def unsure(evidence: Sequence[Evidence], parted: Sequence[Shares]) -> tuple[Evidence, ...]:
    """Return the evidence whose section is a toss-up: nothing claims it, or two sections do nearly alike.

    A plan of one section leaves nothing to choose.
    """
    return tuple(item for item, one in zip(evidence, parted, strict=True) if not one.sure)


def _sure(row: Sequence[float], least: float) -> bool:
    """Return whether its first section has more than the least and is ahead of the others.

    What no words claim stands where it was searched for; not where words claim hardly anything, for then plan and
    pages are in different languages, and a page is found first by whatever search came first.
    """
    if len(row) < 2:
        return True
    second, first = sorted(row)[-2:]
    return first > least and first - second >= _LEAD


def _searched(
    sections: Sequence[PlannedSection],
    pieces: Sequence[Evidence],
    own: Sequence[Sequence[float]],
    tasks: Sequence[SearchTask],
) -> list[list[float]]:
    """Return what it is worth to each section that a piece was searched for it: more on a page that is on it."""
    served = {task.id: task.section for task in tasks}
    claims: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for item, row in zip(pieces, own, strict=True):
        if row and max(row) > 0:
            claims[item.source_id][sections[row.index(max(row))].id] += 1
    return [
        [_worth(served.get(item.task_id, ""), one.id, claims[item.source_id]) for one in sections] for item in pieces
    ]


def _worth(wish: str, section: str, claims: Mapping[str, int]) -> float:
    if not wish or wish != section:
        return 0.0
    return _SEARCHED if claims.get(section, 0) >= _OF_PAGE * sum(claims.values()) else _FIRST_FOUND


def _names(title: str, topics: Sequence[Words]) -> bool:
    """Return whether a title has hardly any words but those of one topic."""
    words = content_set(title)
    shared = frozenset(topics[0]).intersection(*topics) if topics else frozenset[str]()
    return bool(words) and any(len(words & topic.keys() - shared) >= _OF_TITLE * len(words) for topic in topics)


def _sum(row: Sequence[float], other: Sequence[float], weight: float = 1.0) -> list[float]:
    return [one + weight * more for one, more in zip(row, other, strict=True)]


def _planned(
    sections: Sequence[PlannedSection], chosen: Sequence[Rated], parted: Sequence[Shares], *, written: bool
) -> list[Part]:
    """Give each sentence to the section it speaks of most, for a writer to a second one too that it serves as well.

    What stands in two sections is said from two sides where a model writes; as a quote it would stand there twice.
    """
    groups: list[list[Rated]] = [[] for _ in sections]
    for item, row in zip(chosen, (one.fits for one in parted), strict=True):
        first, *others = sorted(range(len(row)), key=lambda place: -row[place])
        groups[first].append(item)
        if written and others and row[others[0]] >= max(_BOTH, row[first] - _LEAD):
            groups[others[0]].append(item)
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
