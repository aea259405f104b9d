"""Chains: how well evidence answers a question, alone and together.

A question whose answer takes two steps is covered by no single sentence, but by two that share a name: the one that
brings the name, and the one that says of it what is asked. So evidence is rated by the best chain it stands in.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from leadline.records import Evidence, Source
from leadline_plugins.ai.embedded.asked import Asked
from leadline_plugins.ai.embedded.names import key, names
from leadline_plugins.text import content_words

Name = tuple[str, ...]
import os

_TITLE = float(os.environ.get("TW", .5))
"""Worth of a question's word that stands in the title only."""
_STEP = float(os.environ.get("STEP", .9))
"""What is kept of a chain's coverage for each step beyond the first."""
_STARTS = 40
"""Chains that are followed further."""


@dataclass(frozen=True)
class Link:
    """A piece of evidence, as chains see it."""

    evidence: Evidence
    cover: Mapping[str, float]
    """Term of the question to how far it is held."""
    names: frozenset[Name]
    about: Name
    """The title of its document."""


@dataclass(frozen=True, order=True)
class Chain:
    """Linked evidence and the share of the question it covers."""

    score: float
    links: tuple[int, ...] = field(compare=False)


def links(question: Asked, evidence: Sequence[Evidence], sources: Sequence[Source]) -> list[Link]:
    """Prepare evidence for chaining."""
    titles = {source.id: source.document.title or source.hit.title for source in sources}
    known = set(question.terms)
    found = []
    for item in evidence:
        title = titles.get(item.source_id, "")
        held, above = set(content_words(item.quote)), set(content_words(title))
        worth = 1.0 if above and above <= known else _TITLE
        keys = {key(name) for name in names(item.quote)}
        found.append(
            Link(
                item,
                {t: 1.0 if t in held else worth for t in question.terms if t in held or t in above},
                frozenset(k for k in keys if k and not set(k) <= known),
                key(title),
            )
        )
    return found


def weights(question: Asked, pieces: Sequence[Link]) -> dict[str, float]:
    """Return the weights of the question's terms: rarer ones say more; they sum to 1."""
    counts = Counter(term for piece in pieces for term in piece.cover)
    raw = {term: math.log(1 + (len(pieces) + 1) / (counts[term] + 0.5)) for term in question.terms}
    total = sum(raw.values()) or 1.0
    return {term: weight / total for term, weight in raw.items()}


def chains(question: Asked, pieces: Sequence[Link]) -> list[Chain]:
    """Return chains of one to three pieces, best first."""
    weight = weights(question, pieces)
    by_name: dict[Name, list[int]] = defaultdict(list)
    for i, piece in enumerate(pieces):
        for name in piece.names | ({piece.about} if piece.about else set()):
            by_name[name].append(i)
    single = sorted((Chain(_coverage(weight, pieces, (i,)), (i,)) for i in range(len(pieces))), reverse=True)
    found, level = list(single), single[:_STARTS]
    for _ in range(2):
        level = sorted((c for chain in level for c in _longer(weight, pieces, by_name, chain)), reverse=True)[:_STARTS]
        found += level
    return sorted(found, key=lambda c: (-c.score, len(c.links), c.links))


def _longer(
    weight: Mapping[str, float], pieces: Sequence[Link], by_name: Mapping[Name, list[int]], chain: Chain
) -> list[Chain]:
    last = pieces[chain.links[-1]]
    follow = {j for name in last.names for j in by_name.get(name, ())} - set(chain.links)
    return [
        Chain(_coverage(weight, pieces, (*chain.links, j)) * _STEP ** len(chain.links), (*chain.links, j))
        for j in follow
    ]


def _coverage(weight: Mapping[str, float], pieces: Sequence[Link], chosen: tuple[int, ...]) -> float:
    return sum(w * max(pieces[i].cover.get(t, 0.0) for i in chosen) for t, w in weight.items())


def ratings(count: int, ranked: Sequence[Chain]) -> list[float]:
    """Return for each piece the score of the best chain it stands in."""
    best = [0.0] * count
    for chain in ranked:
        for i in chain.links:
            best[i] = max(best[i], chain.score)
    return best
