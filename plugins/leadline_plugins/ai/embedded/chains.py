"""Chains: how far evidence covers a question, alone and together.

A question whose answer takes two steps is covered by no single sentence, but by two that share a name: the one that
brings the name, and the one that says of it what is asked. So evidence is rated by the best chain it stands in.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from operator import itemgetter

from leadline.records import Evidence, Source
from leadline_plugins.ai.embedded.asked import Asked
from leadline_plugins.ai.embedded.names import Name, key, unasked

_TITLE = 0.5
"""Worth of a question's word that stands only in a title that says more than the question."""
_MEASURE = 0.2
"""Weight of a word that says of which kind a figure is: `31 metres in height` says how high, and has no `high`."""
_STEP = 0.9
"""What is kept of a chain's coverage for each step beyond the first."""
_GAIN = _STEP * (1 + 1e-9)
"""Of the score of a chain, what one that goes on from it and covers more has at least, whatever its last bits are."""
_STEPS = 2
_FOLLOWED = 40
"""Chains that are followed further, each round."""
SAMPLE = 20_000
"""Characters of a source by which the rarity of words is judged."""


@dataclass(frozen=True)
class Link:
    """A piece of evidence as chains see it."""

    evidence: Evidence
    held: frozenset[str]
    """Terms of the question in the quote."""
    titled: frozenset[str]
    """Terms of the question in the title of its document."""
    worth: float
    """Of the latter: 1 where the document is about what the question names."""
    names: frozenset[Name]
    """Those it brings: not in the question."""
    about: Name
    """The title of its document."""


Chain = tuple[float, tuple[int, ...]]
"""A score, the share of the question that is covered, less the steps; and the way along linked evidence, by index.

A plain tuple: thousands are made for one report.
"""
_score = itemgetter(0)


@dataclass(frozen=True)
class Title:
    """What the title of a document brings: see `Link`."""

    held: frozenset[str]
    worth: float
    name: Name


Cover = tuple[float, ...]
"""How much of the weight of each term of the question a piece covers, by quote or title."""


def links(question: Asked, evidence: Iterable[Evidence], sources: Iterable[Source]) -> list[Link]:
    """Prepare evidence for chaining."""
    known, none = frozenset(question.terms), Title(frozenset(), 1.0, ())
    titles = {source.id: _titled(question, known, title_of(source)) for source in sources}
    return [_link(question, known, item, titles.get(item.source_id, none)) for item in evidence]


def title_of(source: Source) -> str:
    """Return what a source is called."""
    return source.document.title or source.hit.title


def _titled(question: Asked, known: frozenset[str], title: str) -> Title:
    name = key(title)
    return Title(known & question.tokens(title), 1.0 if known.issuperset(name) else _TITLE, name)


def _link(question: Asked, known: frozenset[str], evidence: Evidence, title: Title) -> Link:
    return Link(
        evidence,
        held=known & question.tokens(evidence.quote),
        titled=title.held,
        worth=title.worth,
        names=frozenset(unasked(evidence.quote, known)),
        about=title.name,
    )


def weights(question: Asked, sources: Iterable[Source]) -> dict[str, float]:
    """Return the weights of the question's terms: those in fewer sources say more; they sum to 1."""
    texts = [question.tokens(f"{title_of(source)}\n{source.document.text[:SAMPLE]}") for source in sources]
    counts = Counter(term for text in texts for term in question.terms if term in text)
    raw = {term: math.log(1 + (len(texts) + 1) / (counts[term] + 0.5)) for term in question.terms}
    raw |= {term: _MEASURE * raw[term] for term in question.measures}
    total = sum(raw.values())
    return {term: weight / total for term, weight in raw.items()}


def chains(weight: Mapping[str, float], pieces: Sequence[Link], *, gaining: bool = False) -> list[Chain]:
    """Return chains of one to three pieces, best first; where they are to be `gaining`, each ends with a gain.

    A piece that covers nothing more leads on, and in a search for one fact is kept for what it may say in other words;
    in an account it would be there for sharing a name.
    """
    by_name: dict[Name, list[int]] = defaultdict(list)
    for place, piece in enumerate(pieces):
        for name in piece.names | ({piece.about} if piece.about else set()):
            by_name[name].append(place)
    covers = [_covers(weight, piece) for piece in pieces]
    level: list[Chain] = [(sum(cover), (place,)) for place, cover in enumerate(covers)]
    found = list(level)
    for _ in range(_STEPS):
        best = {path: score for score, path in nlargest(_FOLLOWED, level, key=_score)}
        longer = {path: _longer(covers, pieces, by_name, path) for path in best}
        level = [chain for group in longer.values() for chain in group]
        least = {path: _GAIN * score if gaining else 0.0 for path, score in best.items()}
        found += (chain for path in sorted(longer) for chain in longer[path] if _score(chain) >= least[path])
    # Sorting keeps the order of equals: the shorter ones, then by place.
    return sorted(found, key=_score, reverse=True)


def _longer(
    covers: Sequence[Cover], pieces: Sequence[Link], by_name: Mapping[Name, list[int]], path: tuple[int, ...]
) -> list[Chain]:
    """Return the chains that go on from one, by the place they go to."""
    last = pieces[path[-1]]
    reached = set().union(*(by_name[name] for name in last.names)).difference(path)
    kept = _STEP ** len(path)
    own = [max(terms) for terms in zip(*(covers[place] for place in path), strict=True)]
    # The share of the question that pieces cover together: of each term what the best of them covers. It is counted
    # once for all pieces that cover the same, for of the hundreds that a name leads to most do.
    score = {cover: kept * sum(map(max, own, cover)) for cover in {covers[place] for place in reached}}
    return [(score[covers[place]], (*path, place)) for place in sorted(reached)]


def _covers(weight: Mapping[str, float], piece: Link) -> Cover:
    return tuple(
        w if term in piece.held else w * piece.worth if term in piece.titled else 0.0 for term, w in weight.items()
    )


def ratings(count: int, ranked: Sequence[Chain]) -> list[float]:
    """Return for each of so many pieces the score of the best chain it stands in, of chains that stand best first."""
    best = [0.0] * count
    for score, path in reversed(ranked):
        for place in path:
            best[place] = score
    return best
