"""Wanted: how well passages serve a writer, by all that was asked: the question, the searches, the planned sections.

A writer makes use of a passage that answers one key question of one section and says no word of the question itself.
So a passage is rated by what it serves best. Half of its rating is that of its source: a passage says `it` where its
source is on the topic, and shares a word or two with the topic by chance where its source is not.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from heapq import nlargest

from leadline.records import Evidence, Source
from leadline_plugins.ai.embedded.chains import SAMPLE, title_of
from leadline_plugins.tasks.sorting import SortRequest
from leadline_plugins.text import content_set

_TITLE = 0.8
"""Worth of a word that stands not in the quote, but in a heading over it or in the title of its document."""
_SURE = 2
"""So many of the rarest words are added to each thing asked: one or two words that meet by chance are no answer."""
_LEVEL = 3
"""Passages of a source, its best, by which it is rated itself."""

Terms = frozenset[str]


def askings(request: SortRequest) -> tuple[Terms, ...]:
    """Return the words of everything that was asked, each thing once."""
    texts = [request.question.text]
    texts += [text for task in request.tasks for text in (task.query, task.goal)]
    texts += [text for part in request.plan.sections for text in (part.title, part.goal, *part.questions)]
    return tuple(dict.fromkeys(terms for text in dict.fromkeys(texts) if (terms := content_set(text))))


def wanted(request: SortRequest) -> list[float]:
    """Return for each passage how well it serves what was asked, from 0 to 1."""
    asked = askings(request)
    known: Terms = frozenset().union(*asked)
    titles = {source.id: content_set(title_of(source)) & known for source in request.sources}
    weight = _weights(asked, known, request.sources, titles)
    own = _own(
        asked, weight, [_held(item, known, titles.get(item.source_id, frozenset())) for item in request.evidence]
    )
    by_source: dict[str, list[float]] = defaultdict(list)
    for item, rating in zip(request.evidence, own, strict=True):
        by_source[item.source_id].append(rating)
    levels = {name: _mean(nlargest(_LEVEL, ratings)) for name, ratings in by_source.items()}
    return [(rating + levels[item.source_id]) / 2 for item, rating in zip(request.evidence, own, strict=True)]


def _weights(
    asked: Sequence[Terms], known: Terms, sources: Sequence[Source], titles: Mapping[str, Terms]
) -> dict[str, float]:
    """Return the weights of words: more for those of fewer sources, and for those that are asked again and again."""
    texts = ((content_set(source.document.text[:SAMPLE]) & known) | titles[source.id] for source in sources)
    found = Counter(word for text in texts for word in text)
    times = Counter(word for terms in asked for word in terms)
    count = len(sources) + 1
    return {word: math.log(1 + count / (found[word] + 0.5)) * math.sqrt(times[word]) for word in known}


def _held(item: Evidence, known: Terms, title: Terms) -> dict[str, float]:
    """Return the asked words that a passage holds, and what each is worth where it stands."""
    above = title | (content_set(item.under) & known)
    return dict.fromkeys(above, _TITLE) | dict.fromkeys(content_set(item.quote) & known, 1.0)


def _own(asked: Sequence[Terms], weight: Mapping[str, float], held: Iterable[Mapping[str, float]]) -> list[float]:
    """Return the ratings of passages by themselves: the share of what they serve best."""
    rarest = _SURE * max(weight.values(), default=0.0)
    whole = [rarest + sum(weight[word] for word in sorted(terms)) for terms in asked]
    places: dict[str, list[int]] = defaultdict(list)
    for place, terms in enumerate(asked):
        for word in terms:
            places[word].append(place)
    ratings = []
    for words in held:
        covered = [0.0] * len(asked)
        for word in sorted(words):  # the sum of the same numbers in another order may differ in the last bit
            for place in places[word]:
                covered[place] += weight[word] * words[word]
        ratings.append(max((part / all_ for part, all_ in zip(covered, whole, strict=True)), default=0.0))
    return ratings


def _mean(ratings: Sequence[float]) -> float:
    return sum(ratings) / len(ratings)
