"""Select passages for a report: one selection for all sections, within a budget of tokens.

The key questions take turns; each takes first the definitions of the terms that it names, then its best passages, down
to half the score of the best. The statements with numbers in the selection are looked up like a further question, so
that sources that contradict each other meet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import inf

from leadline.contracts import Run
from leadline.records import Evidence, Source
from leadline.workers import compute
from leadline_plugins.documents.ranking import indexed, query_words, weight
from leadline_plugins.passages.cutting import tokens_of
from leadline_plugins.passages.ranking import KeyQuestion, Ranked, definitions, ranked, titles_of
from leadline_plugins.text import sentences

# Tokens of a passage's number and its share of headings.
_HEADING = 8
# The share of the best score that a further passage needs, as in briefs; and of the weight of a statement.
_SHARE = 0.5
# Passages among which the counterpart of a statement is looked for.
_NEAREST = 10


async def select_passages(
    evidence: Sequence[Evidence],
    sources: Sequence[Source],
    asked: Sequence[Sequence[KeyQuestion]],
    tokens: float,
    most: float,
    run: Run,
    characters: float = 0.0,
) -> list[list[Evidence]]:
    """Return the passages of each section, best first; `asked` are the key questions of each.

    A key question has at most `tokens`, and all distinct passages together have at most `most`. If they have fewer
    than `characters`, worse passages follow.
    """
    scores = iter(await ranked(evidence, sources, [question for section in asked for question in section], run))
    rankings = [list(islice(scores, len(section))) for section in asked]
    # In a worker: a few hundred pages have thousands of passages.
    return await compute(_selected, evidence, titles_of(sources), asked, rankings, tokens, most, characters)


def _selected(
    evidence: Sequence[Evidence],
    titles: Mapping[str, str],
    asked: Sequence[Sequence[KeyQuestion]],
    rankings: Sequence[Sequence[Ranked]],
    tokens: float,
    most: float,
    characters: float,
) -> list[list[Evidence]]:
    selection = _Selection(evidence, len(asked), most)
    orders = [
        [(section, place) for place in (*definitions(evidence, question.text, scores), *_best(scores, _SHARE))]
        for section, questions in enumerate(asked)
        for question, scores in zip(questions, rankings[section], strict=True)
    ]
    selection.fill(orders, tokens)
    selection.fill([_counterparts(evidence, titles, selection.sections)], tokens)
    rest = [[(section, place) for place in _best(scores)] for section, own in enumerate(rankings) for scores in own]
    selection.fill(rest, inf, characters)
    return selection.passages()


def select(passages: Sequence[Evidence], rankings: Sequence[Ranked], tokens: float) -> list[Evidence]:
    """Return the best passages for some questions that take turns, best first, at most `tokens` in all."""
    selection = _Selection(passages, 1, tokens)
    selection.fill([[(0, place) for place in _best(scores)] for scores in rankings], inf)
    return selection.passages()[0]


def _best(scores: Ranked, share: float = 0.0) -> list[int]:
    """Return the passages that have a share of the best score, best first."""
    least = share * max(scores.values(), default=0.0)
    return sorted((place for place in scores if scores[place] >= least), key=lambda place: (-scores[place], place))


# A section and a passage.
_Place = tuple[int, int]


@dataclass
class _Turn:
    """The passages that a question has still to take, and its tokens left."""

    order: Iterator[_Place]
    left: float


@dataclass
class _Selection:
    """The passages taken for each section, without copies."""

    evidence: Sequence[Evidence]
    count: int
    left: float
    sections: list[dict[int, None]] = field(init=False)
    _sizes: dict[int, float] = field(default_factory=dict)
    _first: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.sections = [{} for _ in range(self.count)]

    def fill(self, orders: Iterable[Iterable[_Place]], tokens: float, characters: float = inf) -> None:
        """Let the orders take a passage in turn, until all have `characters`; each order has `tokens`.

        What does not fit is skipped.
        """
        turns = [_Turn(iter(order), tokens) for order in orders]
        while turns and sum(len(self.evidence[place].quote) for place in self._sizes) < characters:
            turns = [turn for turn in turns if self._take(turn)]

    def _take(self, turn: _Turn) -> bool:
        for section, place in turn.order:
            item = self.evidence[place]
            place = self._first.setdefault(" ".join(item.quote.split()), place)
            size = tokens_of(item.quote) + tokens_of(item.lead) + _HEADING
            if size > turn.left or (place not in self._sizes and size > self.left):
                continue
            self.left -= 0 if place in self._sizes else size
            turn.left -= size
            self._sizes[place] = size
            self.sections[section][place] = None
            return True
        return False

    def passages(self) -> list[list[Evidence]]:
        """Return the passages of each section in the order in which they were taken."""
        return [[self.evidence[place] for place in section] for section in self.sections]


def _counterparts(
    evidence: Sequence[Evidence], titles: Mapping[str, str], sections: Sequence[Iterable[int]]
) -> list[_Place]:
    """Return for each statement with a number the passage of another source that is nearest to it, the nearest first.

    It belongs to the section of the statement. What shares less than half of the statement's words by weight is none.
    """
    index = indexed(evidence, titles)
    places = {item.id: place for place, item in enumerate(evidence)}
    found: dict[_Place, float] = {}
    for section, chosen in enumerate(sections):
        for item in map(evidence.__getitem__, chosen):
            for statement in _statements(item.quote):
                words = query_words(statement)
                matches = index.best(words, _NEAREST)
                others = (match for match in matches if _counters(match.passage.evidence, item))
                if (match := next(others, None)) and match.score >= _SHARE * weight(index, words):
                    place = (section, places[match.passage.evidence.id])
                    found[place] = max(found.get(place, 0.0), match.score / weight(index, words))
    return sorted(found, key=lambda place: (-found[place], place))


def _statements(text: str) -> Iterator[str]:
    """Yield the sentences that have a digit."""
    for start, end in sentences(text):
        if _has_number(text[start:end]):
            yield text[start:end]


def _counters(other: Evidence, item: Evidence) -> bool:
    return other.source_id != item.source_id and _has_number(other.quote)


def _has_number(text: str) -> bool:
    return any(map(str.isdigit, text))
