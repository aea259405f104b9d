"""Names in a text: what one document calls another by, and so what leads from one to the next.

By typography alone: capitals in scripts that have them, katakana, and what stands in title marks. Han names carry no
mark, so Chinese is bridged by titles, brackets and Latin words only.
"""

from __future__ import annotations

import re
from functools import lru_cache

from leadline_plugins.text import content_words
from leadline_plugins.text.stopwords import STOPWORDS, word_set
from leadline_plugins.text.tokens import has_cjk

Name = tuple[str, ...]
"""A name as its index tokens: what makes two spellings one."""
_WORD = r"[A-ZÀ-ÖØ-Þ0-9][\w'’&-]*(?:\.(?=[A-Z]))?"
_JOIN = "(?:of|the|and|de|la|le|du|des|von|van|der|den|di|da|do|dos|al|el|in|for|on|to|a|y|&)"
_LATIN = re.compile(rf"{_WORD}\.?(?:[ -](?:{_JOIN} ){{0,2}}{_WORD}\.?)*")
_MARKED = re.compile('[《「『“]([^》」』”]{2,40})[》」』”]|"([^"\n]{2,60})"|([゠-ヿ・ー]{3,})')
_DATES = word_set(
    """january february march april may june july august september october november december
    monday tuesday wednesday thursday friday saturday sunday"""
)
_OPENERS = word_set(
    """however although eventually formally formerly originally later recently since following according despite
    instead meanwhile therefore thus moreover finally
    compare contrast explain describe discuss summarize list name find give"""
)
"""Words that begin sentences and requests, with a capital for that alone."""
_ALONE = word_set(
    """specifically additionally furthermore similarly consequently interestingly importantly notably overall unlike
    existing previous recent current large small first second third next another many several early late new"""
)
"""Words that begin sentences as those do, and names as well: no name where they stand alone."""
_NO_NAMES = STOPWORDS["en"] | _DATES | _OPENERS
_NUMBER = re.compile(r"\d[\d.,/-]*(?:st|nd|rd|th|s)?")
_CITED = re.compile(r"\[\d+(?:[,–-]\s*\d+)*\]")
"""The number of a citation, which is no figure."""
_LONGEST = 6
"""Words; a longer run of capitals is a heading or a list."""


@lru_cache(maxsize=1 << 14)
def names(text: str) -> tuple[str, ...]:
    """Return the names in a text as they stand there, in order, each once."""
    found = [name for run in _LATIN.findall(text) if (name := _trimmed(run))]
    if '"' in text or not text.isascii():  # else there are no such marks
        found += [next(group for group in match.groups() if group) for match in _MARKED.finditer(text)]
    return tuple(dict.fromkeys(found))


@lru_cache(maxsize=1 << 12)
def _trimmed(run: str) -> str:
    """Return a run of capitals without what a sentence begins with, dates and numbers at its ends; `` if no name."""
    words = run.split()
    while words and _idle(words[0]):
        words = words[1:]
    while words and _idle(words[-1]):
        words = words[:-1]
    name = " ".join(words).rstrip(".,").removesuffix("'s").removesuffix("’s")
    alone = len(words) == 1 and name.lower() in _ALONE
    return name if len(name) > 1 and len(words) <= _LONGEST and not alone else ""


def _idle(word: str) -> bool:
    bare = word.strip(".,").lower()
    return bare in _NO_NAMES or (bare[:1].isdigit() and bool(_NUMBER.fullmatch(bare)))


def key(name: str) -> Name:
    """Return a name as its index tokens."""
    return tuple(content_words(name))


def telling(text: str) -> set[str]:
    """Return the tokens of the figures and names in a text: what tells it from another in the same words.

    In CJK of the figures alone, for what stands between two marks there is no name as a rule.
    """
    bare = _CITED.sub(" ", text)
    figures = {token for token in content_words(bare) if token.isdigit()}
    return figures if has_cjk(bare) else figures.union(*map(key, names(bare)))


def unasked(text: str, known: frozenset[str]) -> dict[Name, str]:
    """Return the names in a text that bring something the known terms do not hold, by key, as they stand there."""
    found: dict[Name, str] = {}
    for name in names(text):
        if (tokens := key(name)) and not known.issuperset(tokens):
            found.setdefault(tokens, name)
    return found
