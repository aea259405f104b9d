"""Elsewhere: sources in another language than the question, whose words the question cannot meet.

They were found all the same, by a query in their own language or by an engine that looks at the meaning. So their
sentences are rated by the queries, and where those share nothing either by where they stand in the page. For writers
only: a report of quotes says nothing that does not answer in the words of the question.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from leadline.findings import SearchTask
from leadline.records import Evidence, Source
from leadline_plugins.ai.embedded.chains import title_of
from leadline_plugins.ai.embedded.choose import Rated
from leadline_plugins.text import content_set, language

_TITLE = 0.5
"""Worth of a query's word that stands only in the title."""
_OTHERS = 0.7
"""What is kept of the rating by a query that found other sources."""
_UNSHARED = 0.75
"""Of the best rating, the most that a source has which shares no word with any query."""
_FOUND = 0.2
"""Worth of having been found, of the first sentence of a page; the last one has none."""


def other_language(asked: str, text: str) -> bool:
    """Return whether a text is in another language than `asked`; where either is not known, it is not said to be."""
    return asked != "und" and language(text) not in ("und", asked)


def rated_elsewhere(
    rated: Sequence[Rated], asked: str, sources: Sequence[Source], tasks: Sequence[SearchTask]
) -> list[Rated]:
    """Return the ratings, those of sources in other languages by the queries and put on the scale of the others.

    The best of each language is as good as the best by the question, for no one knows how the two scales compare; less
    where no word of any query is in it. A source of unknown language is in another one where nothing of it is rated.
    """
    best = max((item.rating for item in rated), default=0.0)
    spoken = _away(rated, asked, sources, all_of_them=not best)
    away = {source.id: source for source in sources if source.id in spoken}
    worth = _worth([item.evidence for item in rated if item.evidence.source_id in away], away, tasks)
    top: dict[str, float] = defaultdict(float)
    for item in rated:
        code = spoken.get(item.evidence.source_id, "")
        top[code] = max(top[code], worth.get(item.evidence.id, 0.0))
    scale = {code: (best or 1.0) * (1.0 if most > _FOUND else _UNSHARED) / (most or 1.0) for code, most in top.items()}
    return [
        Rated(item.evidence, max(item.rating, scale[spoken[item.evidence.source_id]] * worth[item.evidence.id]))
        if item.evidence.source_id in spoken
        else item
        for item in rated
    ]


def _away(rated: Iterable[Rated], asked: str, sources: Iterable[Source], *, all_of_them: bool) -> dict[str, str]:
    """Return the sources in other languages, each with its own."""
    reached = {item.evidence.source_id for item in rated if item.rating > 0}
    spoken = {source.id: language(source.document.text) for source in sources}
    return {
        name: code
        for name, code in spoken.items()
        if all_of_them
        or ("und" in (asked, code) and name not in reached)
        or ("und" not in (asked, code) and code != asked)
    }


def _worth(
    evidence: Sequence[Evidence], sources: Mapping[str, Source], tasks: Sequence[SearchTask]
) -> dict[str, float]:
    """Return what each piece is worth by the queries, the one that found its source before the others."""
    queries = {task.id: content_set(task.query) for task in tasks}
    titles = {name: content_set(title_of(source)) for name, source in sources.items()}
    worth = {}
    for item, place in _placed(evidence):
        held, titled = content_set(item.quote), titles[item.source_id]
        shares = {name: _share(terms, held, titled) for name, terms in queries.items()}
        found_by = item.task_id or sources[item.source_id].task_id
        worth[item.id] = _FOUND * (1 - place) + max(
            shares.get(found_by, 0.0), _OTHERS * max(shares.values(), default=0.0)
        )
    return worth


def _share(terms: frozenset[str], held: frozenset[str], titled: frozenset[str]) -> float:
    return (len(terms & held) + _TITLE * len(terms & titled - held)) / len(terms) if terms else 0.0


def _placed(evidence: Iterable[Evidence]) -> Iterable[tuple[Evidence, float]]:
    """Yield the pieces with their places among those of their source, from 0 for the first to under 1."""
    by_source: dict[str, list[Evidence]] = defaultdict(list)
    for item in evidence:
        by_source[item.source_id].append(item)
    for group in by_source.values():
        for place, item in enumerate(sorted(group, key=lambda item: item.span)):
            yield item, place / len(group)
