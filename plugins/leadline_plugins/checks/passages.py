"""Where a source speaks of a claim: the few sentences that together hold most of its words."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache

from leadline_plugins.text import content_words, sentences

Span = tuple[int, int]
_MOST = 3
"""Sentences; a claim is rarely borne by more, and more would bear anything."""
_RARE = 5
"""Sentences of a source up to which a word is rare: for another one alone no sentence is picked."""


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

    Words that few of the sentences have weigh more: those tell where a source speaks of the claim.
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
    chosen = sorted(picked or [0])
    parts = tuple(text[slice(*spans[place])] for place in chosen)
    near = sorted({*chosen, *range(max(0, best - 1), min(len(spans), best + 2))})
    return Passage(
        text=" ".join(parts),
        parts=parts,
        spans=tuple(spans[place] for place in chosen),
        best=text[slice(*spans[best])],
        wide=_joined(text, spans, near),
    )


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
