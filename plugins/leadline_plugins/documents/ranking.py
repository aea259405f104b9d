"""The ranking of passages for a question.

BM25 finds the passages that use the words of the question. Many questions are answered one step further, in a document
that the first one names ("the band's singer"). So the best passage of a document whose title is mentioned in a highly
ranked passage inherits a share of that passage's score, as pages do through links.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing

from leadline.records import Evidence
from leadline_plugins.documents.names import name
from leadline_plugins.documents.text_index import IndexedPassage, IndexReader, IndexWriter, Match
from leadline_plugins.text import content_words, identifiers, tokens

# Passages whose mentions of other documents count, and the largest share of their score that is inherited.
# Headings and names were worth .10 and .23 on sets they were not chosen on; these values come from `local`.
_MENTIONING = 5
_INHERITED = 0.7
# Words of a question that count, of a longer text the rarest: each is looked up again for every document named.
_MOST_WORDS = 200
# The weight of vectors beside 1 of the words, chosen on 108 questions in users' own words (docs/decisions).
_MEANING = 2.0


def rank(index: IndexReader, question: str, limit: int) -> list[Match]:
    """Return the best passages for a question, best first.

    A score is a share of the weight of all words of the question, so that those of different indexes compare.
    """
    total = weight(index, query_words(question))
    return (
        [Match(match.passage, match.score / total) for match in best_matches(index, question, limit)] if total else []
    )


def best_matches(index: IndexReader, question: str, limit: int) -> list[Match]:
    """Return the best passages for a question, best first, with their scores in this index."""
    words = query_words(question)
    if len(words) > _MOST_WORDS:
        words = sorted(filter(index.frequency, words), key=index.frequency)[:_MOST_WORDS]
    matches = {_place(match.passage): match for match in index.best(words, 3 * limit)}
    for title, share in _inherited(index, _sorted(matches.values())[:_MENTIONING]).items():
        for first in index.named(title):
            own = index.best(words, 1, first.key)
            nearest = own[0] if own else Match(first, 0.0)
            before = matches.get(_place(nearest.passage))
            matches[_place(nearest.passage)] = Match(nearest.passage, (before.score if before else 0.0) + share)
    return _sorted(matches.values())[:limit]


def nearest(index: IndexReader, text: str, count: int, without: Collection[str] = ()) -> list[Evidence]:
    """Return the passages nearest to a text, best first, except the ids in `without`."""
    matches = index.best(query_words(text), count + len(without))
    return [match.passage.evidence for match in matches if match.passage.evidence.id not in without][:count]


def weight(index: IndexReader, words: Sequence[str]) -> float:
    """Return the sum of the inverse document frequencies of words."""
    return sum(_rarity(index, word) for word in words)


def query_words(text: str) -> list[str]:
    """Return the distinct words by which passages are found for a text."""
    return sorted({*(content_words(text) or tokens(text)), *identifiers(text)})


def _place(passage: IndexedPassage) -> tuple[str, int]:
    return passage.key, passage.number


def _sorted(matches: Iterable[Match]) -> list[Match]:
    return sorted(matches, key=lambda match: (-match.score, _place(match.passage)))


def _inherited(index: IndexReader, mentioning: Sequence[Match]) -> dict[str, float]:
    """Return the names that the passages mention, each with the largest score that it inherits from one passage."""
    shares: dict[str, float] = {}
    for match in mentioning:
        passage = match.passage
        text = f"{passage.evidence.lead} {passage.evidence.quote}"
        for mentioned in set(index.names.mentioned(text)) - {name(passage.title)}:
            rareness = max(_rarity(index, word) for word in mentioned.split(" ")) / math.log(2 * index.size() + 2)
            shares[mentioned] = max(shares.get(mentioned, 0.0), _INHERITED * match.score * rareness)
    return shares


def _rarity(index: IndexReader, word: str) -> float:
    """Return the inverse document frequency of a word."""
    count = index.frequency(word)
    return math.log(1 + (index.size() - count + 0.5) / (count + 0.5))


def reordered(ranked: Sequence[Evidence], near: Sequence[float]) -> list[Evidence]:
    """Return passages in the order of words and meaning; `near` are the cosines of their vectors to the question's."""
    best, low = ranked[0].score, min(near)
    width = (max(near) - low) or 1.0
    fused = [item.score / best + _MEANING * (cosine - low) / width for item, cosine in zip(ranked, near, strict=True)]
    return in_order(ranked, sorted(range(len(ranked)), key=lambda index: -fused[index]))


def in_order(ranked: Sequence[Evidence], order: Sequence[int]) -> list[Evidence]:
    """Return ranked passages in another order.

    Each takes the score of its new place, so that as many passages are shown as by words alone.
    """
    return [ranked[index].model_copy(update={"score": item.score}) for index, item in zip(order, ranked, strict=True)]


def scored(passages: Sequence[Evidence], titles: Mapping[str, str], question: str, limit: int) -> list[Evidence]:
    """Return the best passages with their scores, best first; `titles` are by source id.

    Those that a search engine has scored keep their score; the others are ranked among themselves.
    """
    own = [item for item in passages if not item.score]
    matches = rank(indexed(own, titles), question, limit) if own else []
    ranked = [match.passage.evidence.model_copy(update={"score": match.score}) for match in matches]
    ranked += [item for item in passages if item.score]
    return sorted(ranked, key=lambda item: (-item.score, item.source_id, item.span))[:limit]


def indexed(passages: Sequence[Evidence], titles: Mapping[str, str]) -> IndexReader:
    """Return an index of passages in memory; `titles` are by source id."""
    with closing(IndexWriter()) as writer:
        first: Counter[str] = Counter()
        for item in passages:
            writer.add([IndexedPassage(item.source_id, first[item.source_id], titles.get(item.source_id, ""), item)])
            first[item.source_id] += 1
        writer.commit()
    return IndexReader(writer.index)
