"""Extract: the sentences of one source that bear on the question, verbatim."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import islice
from operator import mul
from typing import NamedTuple

from leadline.records import Confidence
from leadline_plugins.ai.embedded.asked import Asked, asked
from leadline_plugins.ai.embedded.chains import title_of
from leadline_plugins.ai.embedded.elsewhere import other_language
from leadline_plugins.ai.embedded.kinds import has_amount, wants_figures
from leadline_plugins.ai.embedded.quotable import among_entries, begins_item, leads, quotable
from leadline_plugins.ai.embedded.regions import pieces, regions
from leadline_plugins.citing.entries import names_list
from leadline_plugins.tasks.reading import ExtractRequest, Learning, Learnings
from leadline_plugins.text import content_words
from leadline_plugins.text.headings import headings
from leadline_plugins.text.rows import is_head
from leadline_plugins.text.sought import Sought, enough

_NAME, _WORD, _QUERY = 2.0, 1.0, 0.5
"""Weights of terms: in a name of the question, elsewhere in it, only in the search query."""
_TITLE, _OVER, _BEFORE = 0.5, 0.5, 0.3
"""Worth of a term in the title, in the headings over a sentence, in the sentence before."""
_HIGH, _MEDIUM = 0.75, 0.375
"""Shares of the terms from which confidence is high, medium."""
_OWN, _OWN_SHARE = 6, 0.4
"""For a writer: how many passages of a page are taken for a search's own words at most: so many, or this share of all,
which is more of a long page. The other words are the question's, and a search asks for what it leaves out."""
_AMOUNT = 1.4
"""By how much a sentence that tells an amount stands before one that tells none, where amounts are asked for."""
_HEAD = re.compile(r"[:：][*_]*[^\S\n]*$", re.MULTILINE)
"""The end of a line that may begin a list of sources."""
_MARK = re.compile(r"(?:\[\^?\d{1,3}(?:[,，-]\s?\d{1,3})*\]\s*)+(?=[\w*\"“「《])")
"""A citation at the beginning: that of the sentence before."""


class Scored(NamedTuple):
    """A sentence and the share of the terms it holds; which of them it does, and which the headings over it."""

    score: float
    start: int
    end: int
    held: frozenset[str]
    over: frozenset[str]


def extract(request: ExtractRequest) -> Learnings:
    """Return the best sentences of a source, best first.

    For a writer a page in another language is read on where no word is shared: it was found, and by more than words.
    """
    text = request.source.document.text
    question = asked(request.question.text)
    weight = _weights(question, request.query)
    whole = request.material and other_language(question.language, text)
    if whole:  # words of the question that are in another language say nothing against a sentence
        shared = weight.keys() & question.tokens(text)
        weight = {
            **{term: worth for term, worth in weight.items() if term in shared},
            **dict.fromkeys(content_words(request.query), _WORD),
        } or weight
    title = question.tokens(title_of(request.source))
    titled = dict.fromkeys(title & weight.keys(), 1.0 if title <= weight.keys() else _TITLE)
    scored: list[Scored] = []
    thick = dict.fromkeys(content_words(request.query), _WORD) if request.again else weight
    for start, end in regions(text, thick, request.snippet):
        scored += _scored(question, text, start, end, weight, titled, whole or request.again)
    own = request.again or (request.material and request.query != request.question.text)
    most = min(request.limit, max(_OWN, int(_OWN_SHARE * request.limit)))
    best = list(islice(_quotable(text, _serving(request.query, text, scored)), most)) if own else []
    if not request.again:  # else what serves the question was taken before
        scored = _in_order(
            text, scored, figures=request.material and wants_figures(f"{request.question.text} {request.goal}")
        )
        others = (item for item in _quotable(text, scored) if item not in best)
        best = sorted([*best, *islice(others, request.limit - len(best))], key=lambda item: (-item.score, item.start))
    return Learnings(learnings=tuple(_learning(text, item) for item in best))


def _in_order(text: str, scored: Sequence[Scored], *, figures: bool) -> list[Scored]:
    """Return the best first; where `figures` are asked for, what tells an amount is worth more than its words."""

    def worth(item: Scored) -> float:
        return item.score * (_AMOUNT if figures and has_amount(text[item.start : item.end]) else 1.0)

    return sorted(scored, key=lambda item: (-worth(item), item.start))


def _quotable(text: str, scored: Iterable[Scored]) -> Iterator[Scored]:
    """Yield those that can be quoted; looked at until there are enough."""
    found = (item for item in scored if quotable(text[item.start : item.end]))
    return (item for item in found if not _furniture(text, item))


def _furniture(text: str, item: Scored) -> bool:
    """Return whether it only names what stands below it, or is of a list of sources."""
    if "|" in text[item.start : item.end] and is_head(text, item.end):
        return True
    return leads(text, item.start, item.end) or _entry(text, item)


def _weights(question: Asked, query: str) -> dict[str, float]:
    weight = dict.fromkeys(content_words(query), _QUERY) | dict.fromkeys(question.terms, _WORD)
    return weight | {term: _NAME for name in question.names for term in content_words(name)}


def _scored(
    question: Asked,
    text: str,
    start: int,
    end: int,
    weight: Mapping[str, float],
    title: Mapping[str, float],
    whole: bool,
) -> Iterator[Scored]:
    """Score the sentences of a stretch by the terms in them, in the title, the headings over them, the one before.

    In an item of a list the first sentence names what all speak of: it stands before each.

    Those without any are left out, unless the `whole` of the text is wanted.
    """
    known, total, places = frozenset(weight), sum(weight.values()) or 1.0, headings(text)
    none = dict.fromkeys(weight, 0.0)

    @cache  # most sentences hold one of a few handfuls of terms
    def score(held: frozenset[str], over: frozenset[str], before: frozenset[str]) -> float:
        near = {**dict.fromkeys(before, _BEFORE), **dict.fromkeys(over, _OVER)}
        # In the order of the weights: the sum of the same numbers in another order may differ in the last bit.
        worth = {**none, **near, **title, **dict.fromkeys(held, 1.0)}
        return sum(map(mul, weight.values(), worth.values()), 0.0) / total

    @cache
    def told(path: tuple[str, ...]) -> frozenset[str]:
        return known & question.tokens(" ".join(path))

    before = first = frozenset[str]()
    last = start
    for a, b in pieces(text, start, end):
        held, over = known & question.tokens(text[a:b]), told(places.over(a))
        if text.find("\n", last, a) >= 0:
            first = held if begins_item(text, a) else frozenset()
        near = before | first
        if held or over or near or title or whole:
            yield Scored(score(held, over, near), a, b, held, over)
        before, last = held, b


def _serving(query: str, text: str, scored: Sequence[Scored]) -> list[Scored]:
    """Return the sentences that serve a search, each with the headings over it, best first."""
    said = ((text[item.start : item.end], item.held, item.over) for item in scored)
    near = [(share, scored[place]) for place, share in enough(query, Sought([query], said).shares(query)).items()]
    return [item for _, item in sorted(near, key=lambda pair: (-pair[0], -pair[1].score, pair[1].start))]


def _entry(text: str, item: Scored) -> bool:
    """Return whether it is of a list of sources, by the headings over it and by what stands around it."""
    listed = _lists_sources(headings(text).over(item.start)) or _led(text, item.start)
    return listed and among_entries(text, item.start, item.end)


def _led(text: str, place: int) -> bool:
    """Return whether a place stands behind a line that begins a list of sources: `References:`; no heading between."""
    heads = _heads(text)
    before = bisect_right(heads, place)
    return bool(before) and headings(text).over(heads[before - 1]) == headings(text).over(place)


@lru_cache(maxsize=64)
def _heads(text: str) -> tuple[int, ...]:
    ends = (found.end() for found in _HEAD.finditer(text))
    return tuple(end for end in ends if names_list(text[text.rfind("\n", 0, end) + 1 : end]))


@lru_cache(maxsize=1024)  # many sentences stand below the same headings
def _lists_sources(path: tuple[str, ...]) -> bool:
    return any(map(names_list, path))


def _learning(text: str, item: Scored) -> Learning:
    behind = text[item.start] == "[" and item.start > 0 and text[item.start - 1] != "\n"  # another, in its line
    mark = _MARK.match(text, item.start, item.end) if behind else None
    start = mark.end() if mark else item.start
    quote = text[start : item.end]
    level: Confidence = "high" if item.score >= _HIGH else "medium" if item.score >= _MEDIUM else "low"
    return Learning(claim=quote, quote=quote, start=start, confidence=level, score=round(item.score, 4))
