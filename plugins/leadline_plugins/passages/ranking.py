"""Rank passages for key questions: by words as `documents` does, fused with vectors and a reranker if configured."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from leadline.contracts import StageRun
from leadline.errors import CallFailed
from leadline.records import Evidence, Notice, Source
from leadline.workers import compute
from leadline_plugins.documents.ranking import best_matches, indexed, query_words
from leadline_plugins.documents.text_index import IndexReader
from leadline_plugins.text import content_set, identifiers, sentences

# Maximum passages of a ranking.
_RANKED = 200
# Each passage gains half the mean of its document's three best scores: .04 more facts at small budgets.
_BEST_OF_DOCUMENT, _DOCUMENT = 3, 0.5
# The weight of the run's question relative to a key question.
_QUESTION = 0.3
# Maximum passages to embed in a run; passages to rerank for each key question.
_EMBEDDED, _RERANKED = 600, 30
# The constant of reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009).
_FUSION = 60
# What stands before the beginning of a line, and ends a term there; characters of the longest term.
_LINE_MARKS = re.compile(r"^(?:\|\s*|[-*+] |\d+[.)] |:   |#+ |> )*")
_TERM_END = re.compile(r":\s|\||\s\(|[：（]")
_LONGEST_TERM = 60
# Code shows how a term is used: a key of a JSON example is no definition.
_CODE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class KeyQuestion:
    """A question that a section answers; `topic` is the question of the run."""

    text: str
    topic: str = ""


# Scores of passages by index; larger is better; missing ones are not relevant.
Ranked = dict[int, float]


def by_words(
    passages: Sequence[Evidence],
    titles: Mapping[str, str],
    questions: Sequence[KeyQuestion],
    index: IndexReader | None = None,
) -> list[Ranked]:
    """Return the scores of passages for each question by their words; `titles` are by source id."""
    index = index or indexed(passages, titles)
    places = {item.id: index for index, item in enumerate(passages)}

    def scores(text: str) -> Ranked:
        return {places[match.passage.evidence.id]: match.score for match in best_matches(index, text, _RANKED)}

    topics = {topic: scores(topic) for topic in {question.topic for question in questions if question.topic}}
    sources, rankings = [item.source_id for item in passages], list[Ranked]()
    for question in questions:
        own, topic = scores(question.text), topics.get(question.topic, {})
        joined = {index: own.get(index, 0.0) + _QUESTION * topic.get(index, 0.0) for index in {**own, **topic}}
        rankings.append(_with_documents(joined, sources))
    return rankings


def _with_documents(scores: Ranked, sources: Sequence[str]) -> Ranked:
    best: defaultdict[str, list[float]] = defaultdict(list)
    for index in sorted(scores, key=lambda index: -scores[index]):
        best[sources[index]].append(scores[index])
    bonus = {source: _DOCUMENT * sum(own[:_BEST_OF_DOCUMENT]) / _BEST_OF_DOCUMENT for source, own in best.items()}
    return {index: score + bonus[sources[index]] for index, score in scores.items()}


def definitions(passages: Sequence[Evidence], question: str, scores: Ranked) -> list[int]:
    """Return one passage for each identifier that a question names: where it is a term of its own.

    Of several, the term with the fewest other words counts, then the score.
    """
    chosen = []
    for identifier in dict.fromkeys(identifiers(question)):
        wanted = {*query_words(identifier)}
        other_words = {
            index: min(len(term - wanted) for term in terms)
            for index, item in enumerate(passages)
            if identifier in " ".join((*item.path[-1:], item.lead, item.quote)).lower()
            and (terms := [term for term in _terms(item) if wanted <= term])
        }
        chosen += sorted(other_words, key=lambda index: (other_words[index], -scores.get(index, 0.0), index))[:1]
    return chosen


def _terms(item: Evidence) -> list[set[str]]:
    """Return the words of each term that a passage may define: its heading, and how its lines begin.

    Such are terms of definition lists, first cells, short lines, and words before a colon or a bracket.
    """
    lines = (*item.path[-1:], *item.lead.split("\n"), *_CODE.sub("", item.quote).split("\n"))
    starts = (_TERM_END.split(_LINE_MARKS.sub("", line), maxsplit=1)[0] for line in lines)
    return [{*query_words(start)} for start in starts if len(start) <= _LONGEST_TERM]


def titles_of(sources: Sequence[Source]) -> dict[str, str]:
    return {source.id: source.hit.title or source.document.title for source in sources}


async def ranked(
    passages: Sequence[Evidence], sources: Sequence[Source], questions: Sequence[KeyQuestion], run: StageRun
) -> list[Ranked]:
    """Return the scores of passages for each question, by all configured methods."""
    rankings = await compute(by_words, passages, titles_of(sources), questions)
    if run.settings.ai.embedder:
        rankings = await _fused(passages, questions, rankings, run)
    if run.settings.ai.reranker:
        rankings = await _reranked(passages, questions, rankings, run)
    return rankings


async def _fused(
    passages: Sequence[Evidence], questions: Sequence[KeyQuestion], rankings: Sequence[Ranked], run: StageRun
) -> list[Ranked]:
    """Fuse the BM25 rankings with rankings by vectors."""
    best = Counter({index: max(ranking.get(index, 0.0) for ranking in rankings) for index in range(len(passages))})
    places = [index for index, _ in best.most_common(_EMBEDDED)]
    texts = [" ".join((*passages[index].path, passages[index].lead, passages[index].quote)) for index in places]
    vectors = (await run.embed([*texts, *(question.text for question in questions)])).vectors
    results = []
    for question, words in enumerate(rankings):
        asked = vectors[len(places) + question]
        near = {index: cosine(asked, vectors[row]) for row, index in enumerate(places)}
        results.append(fused([words, near]))
    return results


async def _reranked(
    passages: Sequence[Evidence], questions: Sequence[KeyQuestion], rankings: Sequence[Ranked], run: StageRun
) -> list[Ranked]:
    """Reorder the best passages of each question with the reranker; the others follow in their order."""

    async def reranked(pair: tuple[KeyQuestion, Ranked]) -> Ranked:
        question, scores = pair
        order = sorted(scores, key=lambda index: -scores[index])
        best = await by_reranker([passages[index] for index in order], question.text, run)
        if best is None:
            return scores
        return {order[place]: 1 / (_FUSION + rank) for rank, place in enumerate(best)}

    return await run.each(list(zip(questions, rankings, strict=True)), reranked)


async def by_reranker(ranked: Sequence[Evidence], question: str, run: StageRun) -> list[int] | None:
    """Return the order of ranked passages by the reranker, which rates the first ones; None without one.

    If it fails, the passages keep their order, with a notice.
    """
    first = ranked[:_RERANKED]
    try:
        rating = await run.rerank(question, [item.quote for item in first])
    except CallFailed as failed:
        name = run.settings.ai.reranker
        in_order = "the reranker {reranker} did not order the passages, which stay in the order of the search"
        notice = Notice(in_order, "not_reranked", reranker=name).because(failed.record.text)
        await run.emit("notice", {"message": notice})
        return None
    if rating is None:
        return None
    best = sorted(range(len(first)), key=lambda place: -rating.scores[place])
    return [*best, *range(len(first), len(ranked))]


def fused(rankings: Sequence[Ranked]) -> Ranked:
    """Fuse rankings of the same passages by reciprocal rank."""
    totals: defaultdict[int, float] = defaultdict(float)
    for scores in rankings:
        for rank, index in enumerate(sorted(scores, key=lambda index: (-scores[index], index))):
            totals[index] += 1 / (_FUSION + rank)
    return dict(totals)


def cosine(vector: Sequence[float], other: Sequence[float]) -> float:
    """Return the cosine of the angle of two vectors; 0 if one of them is zero."""
    size = math.sqrt(sum(value * value for value in vector)) * math.sqrt(sum(value * value for value in other))
    return sum(a * b for a, b in zip(vector, other, strict=True)) / size if size else 0.0


def nearest_sentence(text: str, passages: Sequence[Evidence]) -> str:
    """Return the sentence of the passages that shares most words with a text."""
    wanted = content_set(text)
    spans = ((item.quote, *span) for item in passages for span in sentences(item.quote) or [(0, len(item.quote))])
    texts = (quote[start:end] for quote, start, end in spans)
    return max(texts, key=lambda sentence: len(wanted & content_set(sentence)), default="")
