"""Chains of sentences that share a name, to rate how far sentences together cover a question.

If an answer takes two steps, no single sentence contains it, but two sentences that share a name may. So each sentence
is rated by the best chain that contains it.

Names are found by typography alone: capitals, katakana and title marks. Han names have none of these, so Chinese texts
are joined by titles, brackets and Latin words only.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from heapq import nlargest
from importlib.resources import files
from operator import itemgetter

from leadline_plugins.text import content_words
from leadline_plugins.text.tokens import has_cjk
from leadline_plugins.text.word_lists import stopwords

# The index tokens of a name: different spellings of a name are equal.
Name = tuple[str, ...]
_WORD = r"[A-ZÀ-ÖØ-Þ0-9][\w'’&-]*(?:\.(?=[A-Z]))?"
_JOIN = "(?:of|the|and|de|la|le|du|des|von|van|der|den|di|da|do|dos|al|el|in|for|on|to|a|y|&)"
_LATIN = re.compile(rf"{_WORD}\.?(?:[ -](?:{_JOIN} ){{0,2}}{_WORD}\.?)*")
_MARKED = re.compile('[《「『“]([^》」』”]{2,40})[》」』”]|"([^"\n]{2,60})"|([゠-ヿ・ー]{3,})')
# Capitalized words that are not names: they start sentences or are parts of dates.
_NO_NAMES = stopwords()["en"].union((files(__package__) / "no_names.txt").read_text("utf-8").split())
_NUMBER = re.compile(r"\d[\d.,/-]*(?:st|nd|rd|th|s)?")
# Longer runs of capitalized words are headings or lists.
_LONGEST = 6
# The weight of a term that is only in a title that has other words than the question.
_TITLE = 0.5
# Each step of a chain multiplies its score by this factor.
STEP = 0.9
STEPS = 2
# Chains that are extended in each round.
_FOLLOWED = 40

# The weights of the terms of a question; they add up to 1.
Weights = Mapping[str, float]
# For each term, the weight that a sentence covers by its own words or the title.
Cover = tuple[float, ...]
# A score from 0 to 1, and the indices of the sentences. A plain tuple: a question has thousands of chains.
Chain = tuple[float, tuple[int, ...]]
_score = itemgetter(0)


@dataclass(frozen=True)
class Link:
    """A sentence as part of chains."""

    # Terms of the question in the sentence.
    held: frozenset[str]
    # Terms of the question in the title of its document and the headings above it.
    titled: frozenset[str]
    # Names that the question does not have.
    names: frozenset[Name]
    # The title of its document.
    about: Name
    # Terms of the headings above it that have only terms of the question.
    asked: frozenset[str] = frozenset()

    def cover(self, weights: Weights) -> Cover:
        """Return the covered weight of each term; a title counts in full if the question has all its words."""
        full = self.held | (self.titled if self.titled.issuperset(self.about) else self.asked)
        return tuple(w if t in full else w * _TITLE if t in self.titled else 0.0 for t, w in weights.items())


def chains(weight: Weights, links: Sequence[Link], steps: int = STEPS) -> list[Chain]:
    """Return the chains of one sentence and of up to `steps` more, best first."""
    by_name: dict[Name, list[int]] = defaultdict(list)
    for place, link in enumerate(links):
        for name in link.names | ({link.about} if link.about else set()):
            by_name[name].append(place)
    covers = [link.cover(weight) for link in links]
    level: list[Chain] = [(sum(cover), (place,)) for place, cover in enumerate(covers)]
    found = list(level)
    for _ in range(steps):
        best = sorted(path for _, path in nlargest(_FOLLOWED, level, key=_score))
        level = [chain for path in best for chain in _longer(covers, links, by_name, path)]
        found += level
    return sorted(found, key=_score, reverse=True)


def _longer(
    covers: Sequence[Cover], links: Sequence[Link], by_name: Mapping[Name, list[int]], path: tuple[int, ...]
) -> list[Chain]:
    """Return the chains that extend a chain by a sentence that shares a name with its last one."""
    reached = set[int]().union(*(by_name[name] for name in links[path[-1]].names)).difference(path)
    kept = STEP ** len(path)
    own = [max(terms) for terms in zip(*(covers[place] for place in path), strict=True)]
    # Hundreds of sentences may share a name, but few different covers: each is added up once.
    score = {cover: kept * sum(map(max, own, cover)) for cover in {covers[place] for place in reached}}
    return [(score[covers[place]], (*path, place)) for place in sorted(reached)]


def ratings(count: int, ranked: Sequence[Chain]) -> list[float]:
    """Return the rating of each sentence: the score of the best chain that contains it."""
    best = [0.0] * count
    for score, path in reversed(ranked):
        for place in path:
            best[place] = score
    return best


# --- names --------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1 << 14)
def names(text: str) -> tuple[str, ...]:
    """Return the distinct names in a text as written, in order."""
    found = [name for run in _LATIN.findall(text) if (name := _trimmed(run))]
    if '"' in text or not text.isascii():  # other texts have none of the marks
        found += [next(group for group in match.groups() if group) for match in _MARKED.finditer(text)]
    return tuple(dict.fromkeys(found))


@lru_cache(maxsize=1 << 12)
def _trimmed(run: str) -> str:
    """Return a run of capitalized words without sentence starts, dates and numbers; empty if no name is left."""
    words = run.split()
    while words and _is_filler(words[0]):
        words = words[1:]
    while words and _is_filler(words[-1]):
        words = words[:-1]
    name = " ".join(words).rstrip(".,").removesuffix("'s").removesuffix("’s")
    return name if len(name) > 1 and len(words) <= _LONGEST else ""


def _is_filler(word: str) -> bool:
    plain = word.strip(".,").lower()
    return plain in _NO_NAMES or bool(_NUMBER.fullmatch(plain))


def name_key(name: str) -> Name:
    """Return the index tokens of a name."""
    return tuple(content_words(name))


def figures_and_names(text: str) -> set[str]:
    """Return the tokens of the figures and names in a text, which distinguish texts with the same words.

    For CJK text these are the figures alone.
    """
    figures = {token for token in content_words(text) if token.isdigit()}
    return figures if has_cjk(text) else figures.union(*map(name_key, names(text)))


def new_names(text: str, known: frozenset[str]) -> dict[Name, str]:
    """Return the names in a text that have other terms than the known ones, as written, by key."""
    found: dict[Name, str] = {}
    for name in names(text):
        if (tokens := name_key(name)) and not known.issuperset(tokens):
            found.setdefault(tokens, name)
    return found
