"""Select passages for the sections of a report: the best for each key question, within a token budget.

A passage may serve several sections. Passages that do not fit are skipped, so a long one does not end a selection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice

from leadline.contracts import Run
from leadline.records import Evidence, Source
from leadline.workers import compute
from leadline_plugins.passages.cutting import tokens_of
from leadline_plugins.passages.ranking import KeyQuestion, Ranked, ranked

# Tokens of a passage's number and its share of headings.
_HEADING = 8


async def select_passages(
    evidence: Sequence[Evidence],
    sources: Sequence[Source],
    asked: Sequence[Sequence[KeyQuestion]],
    tokens: float,
    most: float,
    run: Run,
) -> list[list[Evidence]]:
    """Return the passages of each section, best first; `asked` are the key questions of each.

    A key question has at most `tokens`, and all distinct passages together have at most `most`.
    """
    scores = iter(await ranked(evidence, sources, [question for section in asked for question in section], run))
    rankings = [list(islice(scores, len(section))) for section in asked]
    share = min(tokens, most / max(1, sum(map(len, rankings))))
    # In a worker: a few hundred pages have thousands of passages.
    return await compute(_selected, evidence, rankings, share)


def _selected(
    evidence: Sequence[Evidence], rankings: Sequence[Sequence[Ranked]], tokens: float
) -> list[list[Evidence]]:
    return [select(evidence, section, tokens * len(section)) for section in rankings]


def select(passages: Sequence[Evidence], rankings: Sequence[Ranked], tokens: float) -> list[Evidence]:
    """Return the passages of one section, best first; each key question has an equal share of the tokens.

    `rankings` are those of the section's key questions. Tokens that one question leaves go to the others.
    """
    sizes: dict[int, float] = {}
    taken: dict[int, float] = {}
    seen: set[str] = set()
    orders = [sorted(scores, key=lambda place: (-scores[place], place)) for scores in rankings]
    left = tokens
    for turn, order in enumerate(orders):
        left = _fill(passages, order, left / (len(orders) - turn), left, taken, seen, sizes)
    best = _relative(rankings)
    rest = sorted(best.keys() - taken.keys(), key=lambda place: (-best[place], place))
    _fill(passages, rest, left, left, taken, seen, sizes)
    return [passages[place] for place in sorted(taken, key=lambda place: (-best.get(place, 0.0), place))]


def _fill(
    passages: Sequence[Evidence],
    order: Sequence[int],
    share: float,
    left: float,
    taken: dict[int, float],
    seen: set[str],
    sizes: dict[int, float],
) -> float:
    """Take passages in order while they fit into the share; return the tokens left."""
    for place in order:
        if place in taken:
            share -= sizes[place] if share > 0 else 0  # also taken for another question: costs nothing
            continue
        item = passages[place]
        if place not in sizes:
            sizes[place] = tokens_of(item.quote) + tokens_of(item.lead) + _HEADING
        size = sizes[place]
        if size > share or size > left:
            continue
        same = " ".join(item.quote.split())
        if same in seen:
            continue
        seen.add(same)
        taken[place] = size
        share -= size
        left -= size
    return left


def _relative(rankings: Sequence[Ranked]) -> Mapping[int, float]:
    """Return the best score of each passage relative to the best for its question."""
    best: dict[int, float] = {}
    for scores in rankings:
        top = max(scores.values(), default=0.0) or 1.0
        for place, score in scores.items():
            best[place] = max(best.get(place, 0.0), score / top)
    return best
