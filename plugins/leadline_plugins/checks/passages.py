"""Where a source speaks of a claim: the few sentences that together hold most of its words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from leadline_plugins.text import content_words, sentences

Span = tuple[int, int]
_MOST = 3
"""Sentences; a claim is rarely borne by more, and more would bear anything."""


@dataclass(frozen=True)
class Passage:
    """Sentences of a source in its order: their text together, each alone, their spans, and the one that holds most."""

    text: str
    parts: tuple[str, ...]
    spans: tuple[Span, ...]
    best: str


def passage(claim: str, text: str, spans: Sequence[Span] | None = None) -> Passage:
    """Return the sentences of a text that serve a claim best, picked one after the other by what each adds."""
    spans = list(spans if spans is not None else sentences(text)) or [(0, len(text))]
    held = [_content(text[start:end]) for start, end in spans]
    wanted = set(content_words(claim))
    picked: list[int] = []
    open_words = set(wanted)
    for _ in range(_MOST):
        # What adds as much in fewer words is nearer to the claim; then the earlier one.
        place = max(range(len(held)), key=lambda i: (len(held[i] & open_words), -len(held[i] - wanted), -i))
        if not held[place] & open_words:
            break
        picked.append(place)
        open_words -= held[place]
    chosen = sorted(picked or [0])
    best = spans[picked[0] if picked else 0]
    parts = tuple(text[slice(*spans[place])] for place in chosen)
    return Passage(
        text=" ".join(parts),
        parts=parts,
        spans=tuple(spans[place] for place in chosen),
        best=text[slice(*best)],
    )


@lru_cache(maxsize=1 << 15)
def _content(sentence: str) -> frozenset[str]:
    """Return the content words of a sentence: a source is gone through for each of its claims."""
    return frozenset(content_words(sentence))
