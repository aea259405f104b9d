"""Where a source speaks of a claim: the few sentences that together hold most of its words."""

from __future__ import annotations

import itertools
import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache

from leadline_plugins.checks.figures import figures
from leadline_plugins.checks.places import near
from leadline_plugins.text import content_words, sentences

Span = tuple[int, int]
_MOST = 3
"""Sentences; a claim is rarely borne by more, and more would bear anything."""
_RARE = 5
"""Sentences of a source up to which a word is rare: for another one alone no sentence is picked."""
_NUMBER = re.compile(r"(?<![\d.,])\d+(?:[.,]\d+)*")
_SPOKEN = 2
"""Words of a claim that a sentence with its number must have: by one a page says much else."""
_TRIED = 4
"""Sentences with a number that are looked at for it: those that have most of the claim."""


@dataclass(frozen=True)
class Passage:
    """Sentences of a source in its order: their text together, each alone, their spans, and the one that holds most.

    `wide` has the neighbours of that one too: what counts may be said in other words beside it.
    """

    text: str
    parts: tuple[str, ...]
    spans: tuple[Span, ...]
    best: str
    wide: str = ""


def passage(claim: str, text: str, spans: Sequence[Span] | None = None) -> Passage:
    """Return the sentences of a text that serve a claim best, picked one after the other by what each adds.

    Words that few of the sentences have weigh more: those tell where a source speaks of the claim. To that a figure is
    one word among others: so for each that none of those sentences has, the best is added that has it in the same way.
    """
    spans = list(spans if spans is not None else sentences(text)) or [(0, len(text))]
    held = [_content(text[start:end]) for start, end in spans]
    wanted = frozenset(content_words(claim))
    shared = [words & wanted for words in held]
    counts = Counter(word for words in shared for word in words)
    weights = {word: math.log1p(len(held) / count) for word, count in counts.items()}
    picked: list[int] = []
    open_words = set(wanted)
    while len(picked) < _MOST and (left := [at for at, words in enumerate(shared) if words & open_words]):
        # What adds as much in fewer words is nearer to the claim; then the earlier one.
        place = max(left, key=lambda at: (_weight(shared[at] & open_words, weights), -len(held[at] - wanted), -at))
        if picked and _for_one_common(shared[place] & open_words, counts):
            break
        picked.append(place)
        open_words -= shared[place]
    best = picked[0] if picked else 0
    chosen = sorted({*(picked or [0]), *_with_figures(claim, text, spans, shared, picked)})
    parts = tuple(text[slice(*spans[place])] for place in chosen)
    seen = sorted({*chosen, *range(max(0, best - 1), min(len(spans), best + 2))})
    return Passage(
        text=" ".join(parts),
        parts=parts,
        spans=tuple(spans[place] for place in chosen),
        best=text[slice(*spans[best])],
        wide=_joined(text, spans, seen),
    )


def _with_figures(
    claim: str, text: str, spans: Sequence[Span], shared: Sequence[Set[str]], picked: Sequence[int]
) -> Iterator[int]:
    """Yield for each figure of a claim that no sentence picked has the best that has it beside words of the claim.

    Only numbers written alike are looked for, by their digits: figures are read of few sentences, and only then.
    """
    held = {number for place in picked for number in _NUMBER.findall(text[slice(*spans[place])])}
    lacking = {number for number in _NUMBER.findall(claim) if number not in held and number in text}
    if not (picked and lacking):
        return
    starts = [start for start, _ in spans]
    for figure in figures(claim):
        digits = _NUMBER.search(figure.said)
        if digits is None or digits[0] not in lacking:
            continue
        found = re.finditer(rf"(?<![\d.,]){re.escape(digits[0])}(?![.,]?\d)", text)
        places = {max(0, bisect_right(starts, match.start()) - 1) for match in found}
        told = {place: sum(not word.isdigit() for word in shared[place]) for place in places}
        likely = sorted((at for at in places if told[at] >= _SPOKEN), key=lambda at: (-told[at], at))[:_TRIED]
        yield from [at for at in likely if near(figure, claim, text[slice(*spans[at])])][:1]


def _weight(words: Set[str], weights: Mapping[str, float]) -> float:
    return round(math.fsum(weights[word] for word in words), 6)


def _for_one_common(added: Set[str], counts: Mapping[str, int]) -> bool:
    """Return whether a sentence would be picked for a single word, and one that the source has in many places."""
    return len(added) == 1 and all(counts[word] > _RARE for word in added)


def _joined(text: str, spans: Sequence[Span], places: Sequence[int]) -> str:
    """Return sentences as they stand, with a mark where some between them are left out."""
    said = text[slice(*spans[places[0]])]
    for before, place in itertools.pairwise(places):
        said += (" " if place == before + 1 else " … ") + text[slice(*spans[place])]
    return said


@lru_cache(maxsize=1 << 15)
def _content(sentence: str) -> frozenset[str]:
    """Return the content words of a sentence: a source is gone through for each of its claims."""
    return frozenset(content_words(sentence))
