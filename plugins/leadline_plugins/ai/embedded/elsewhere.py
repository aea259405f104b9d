"""Elsewhere: sources in a language in which nothing was asked, whose words what was asked cannot meet.

They were found all the same, by an engine that looks at the meaning. So their sentences are rated by the names and
figures they share with what was asked, and where they share nothing by where they stand in the page. For writers only:
a report of quotes says nothing that does not answer in the words of the question.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence, Set

from leadline.records import Evidence, Source
from leadline_plugins.ai.embedded.choose import Rated
from leadline_plugins.text import language

_UNSHARED = 0.75
"""Of the best rating, the most that a source has which shares no word with what was asked."""
_FOUND = 0.2
"""Worth of having been found, of the first sentence of a page; the last one has none."""


def other_language(asked: str, text: str) -> bool:
    """Return whether a text is in another language than `asked`; where either is not known, it is not said to be."""
    return asked != "und" and language(text) not in ("und", asked)


def rated_elsewhere(rated: Sequence[Rated], asked: Iterable[str], sources: Iterable[Source]) -> list[Rated]:
    """Return the ratings, those of sources in languages other than those `asked` in put on the scale of the others.

    The best of each language is as good as the best of all, for no one knows how the two scales compare; less where it
    shares no word with what was asked. A source of unknown language is in another one where nothing of it is rated.
    """
    best = max((item.rating for item in rated), default=0.0)
    reached = {item.evidence.source_id for item in rated if item.rating > 0}
    spoken = _away(sources, {*asked} - {"und"}, reached)
    away = [item for item in rated if item.evidence.source_id in spoken]
    worth = {
        item.evidence.id: item.rating + _FOUND * (1 - place)
        for item, place in zip(away, _places([item.evidence for item in away]), strict=True)
    }
    top: dict[str, float] = defaultdict(float)
    shared = set()
    for item in away:
        code = spoken[item.evidence.source_id]
        top[code] = max(top[code], worth[item.evidence.id])
        shared |= {code} if item.rating > 0 else set()
    scale = {code: (best or 1.0) * (1.0 if code in shared else _UNSHARED) / (most or 1.0) for code, most in top.items()}
    return [
        Rated(item.evidence, max(item.rating, scale[spoken[item.evidence.source_id]] * worth[item.evidence.id]))
        if item.evidence.source_id in spoken
        else item
        for item in rated
    ]


def _away(sources: Iterable[Source], asked: Set[str], reached: Set[str]) -> dict[str, str]:
    """Return the sources in other languages, each with its own; all of them where nothing was reached by words."""
    spoken = {source.id: language(source.document.text) for source in sources}
    return {
        name: code
        for name, code in spoken.items()
        if not reached or (code not in asked if asked and code != "und" else name not in reached)
    }


def _places(evidence: Sequence[Evidence]) -> list[float]:
    """Return the places of the pieces among those of their source, from 0 for the first to under 1."""
    by_source: dict[str, list[Evidence]] = defaultdict(list)
    for item in evidence:
        by_source[item.source_id].append(item)
    places = {
        item.id: place / len(group)
        for group in by_source.values()
        for place, item in enumerate(sorted(group, key=lambda item: item.span))
    }
    return [places[item.id] for item in evidence]
