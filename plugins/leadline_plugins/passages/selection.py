"""Select passages for a report: one selection for all sections, within a budget of tokens.

Passages that a review kept for a section come first. Each key question takes the definitions of the terms that it
names. Then they take turns, each with a budget of tokens for its best passages, down to half the score of the best. The
statements with numbers in the selection are looked up like one more question, so that sources that contradict each
other meet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from math import inf

from leadline.contracts import StageRun
from leadline.records import Evidence, Source
from leadline.workers import compute
from leadline_plugins.documents.ranking import indexed, query_words, weight
from leadline_plugins.documents.text_index import IndexReader
from leadline_plugins.passages.cutting import tokens_of
from leadline_plugins.passages.ranking import KeyQuestion, Ranked, by_words, definitions, ranked, titles_of
from leadline_plugins.text import sentences

# Tokens of a passage's number and its share of headings.
_HEADING = 8
# The share of the best score that a further passage needs, as in briefs; and of the weight of a statement.
_SHARE = 0.5
# The share of all tokens that passages of reviews may take: those of pages that no review has seen need the rest.
_REVIEWED = 0.75
# Passages among which the counterpart of a statement is looked for.
_NEAREST = 10
# A section and a passage.
_Place = tuple[int, int]


@dataclass(frozen=True)
class PassageBudget:
    """Tokens of a question beside definitions, and of all distinct passages; below `characters`, worse ones follow."""

    question: float
    total: float
    characters: float = 0.0


async def select_passages(
    evidence: Sequence[Evidence],
    sources: Sequence[Source],
    asked: Sequence[Sequence[KeyQuestion]],
    budget: PassageBudget,
    run: StageRun,
    reviewed: Sequence[Sequence[str]] = (),
) -> list[list[Evidence]]:
    """Return the passages of each section, best first; `asked` are the key questions of each.

    `reviewed` are the ids of passages that reviews named, by section: they are taken first.
    """
    scores = None
    if run.settings.ai.embedder or run.settings.ai.reranker:
        scores = await ranked(evidence, sources, [question for section in asked for question in section], run)
    # In a worker: a few hundred pages have thousands of passages.
    return await compute(_selected, evidence, titles_of(sources), asked, budget, reviewed, scores)


def _selected(
    evidence: Sequence[Evidence],
    titles: Mapping[str, str],
    asked: Sequence[Sequence[KeyQuestion]],
    budget: PassageBudget,
    reviewed: Sequence[Sequence[str]],
    scores: Sequence[Ranked] | None,
) -> list[list[Evidence]]:
    selection, index = _Selection(evidence, len(asked), budget.total * _REVIEWED), indexed(evidence, titles)
    questions = [(section, question) for section, own in enumerate(asked) for question in own]
    if scores is None:
        scores = by_words(evidence, titles, [question for _, question in questions], index)
    turns = [(section, question.text, own) for (section, question), own in zip(questions, scores, strict=True)]
    reserved = [[(section, position) for position in definitions(evidence, text, own)] for section, text, own in turns]
    places = {item.id: position for position, item in enumerate(evidence)}
    selection.fill(
        [[(number, places[name]) for name in own if name in places] for number, own in enumerate(reviewed)], inf
    )
    selection.left += budget.total * (1 - _REVIEWED)
    selection.fill(reserved, inf)
    selection.fill(
        [[(section, position) for position in _best(own, _SHARE)] for section, _, own in turns], budget.question
    )
    selection.fill([_counterparts(evidence, index, selection.sections)], budget.question)
    further = [[(section, position) for position in _best(own)] for section, _, own in turns]
    selection.fill(further, inf, budget.characters)
    return selection.passages()


def _best(scores: Ranked, share: float = 0.0) -> list[int]:
    """Return the passages that have a share of the best score, best first."""
    least = share * max(scores.values(), default=0.0)
    return sorted(
        (position for position in scores if scores[position] >= least),
        key=lambda position: (-scores[position], position),
    )


class _Selection:
    """The passages of each section, without copies, within an amount of tokens for all."""

    def __init__(self, evidence: Sequence[Evidence], count: int, tokens: float) -> None:
        self.sections: list[dict[int, None]] = [{} for _ in range(count)]
        self._evidence = evidence
        self.left = tokens
        self._characters = 0
        self._taken: set[int] = set()
        self._first: dict[str, int] = {}

    def passages(self) -> list[list[Evidence]]:
        """Return the passages of each section in the order in which they were taken."""
        return [[self._evidence[position] for position in section] for section in self.sections]

    def fill(self, orders: Iterable[Iterable[_Place]], tokens: float, characters: float = inf) -> None:
        """Let the orders take a passage in turn until all have `characters`; each order has `tokens`.

        What does not fit is skipped.
        """
        for _ in zip_longest(*(self._take(order, tokens, characters) for order in orders)):
            pass

    def _take(self, order: Iterable[_Place], tokens: float, characters: float) -> Iterator[None]:
        for section, position in order:
            item = self._evidence[position]
            position = self._first.setdefault(" ".join(item.quote.split()), position)
            size = tokens_of(item.quote) + tokens_of(item.lead) + _HEADING
            more = 0.0 if position in self._taken else size
            if size <= tokens and more <= self.left and self._characters < characters:
                tokens -= size
                self.left -= more
                self._characters += len(item.quote) if more else 0
                self._taken.add(position)
                self.sections[section][position] = None
                yield


def _counterparts(evidence: Sequence[Evidence], index: IndexReader, sections: Sequence[Iterable[int]]) -> list[_Place]:
    """Return for each statement with a number the passage of another source that is nearest to it, the nearest first.

    It belongs to the section of the statement. What shares less than half of the statement's words by weight is none.
    """
    places = {item.id: position for position, item in enumerate(evidence)}
    nearest: dict[_Place, float] = {}
    for section, chosen in enumerate(sections):
        for item in map(evidence.__getitem__, chosen):
            for statement in (item.quote[start:end] for start, end in sentences(item.quote)):
                if not _has_number(statement):
                    continue
                words = query_words(statement)
                least = _SHARE * weight(index, words)
                others = (match for match in index.best(words, _NEAREST) if _counters(match.passage.evidence, item))
                if (match := next(others, None)) and match.score >= least > 0:
                    target = (section, places[match.passage.evidence.id])
                    nearest[target] = max(nearest.get(target, 0.0), match.score / least)
    return sorted(nearest, key=lambda target: (-nearest[target], target))


def _counters(other: Evidence, item: Evidence) -> bool:
    return other.source_id != item.source_id and _has_number(other.quote)


def _has_number(text: str) -> bool:
    return any(map(str.isdigit, text))
