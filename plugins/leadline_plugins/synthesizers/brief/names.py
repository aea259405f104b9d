"""Names in a text: what one document calls another, and so what leads from one to the next.

They are recognised by typography alone: capitals in scripts that have them, katakana, and what is in title marks. Han
names have no mark, so Chinese texts are joined by titles, brackets and Latin words only.
"""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.resources import files

from leadline_plugins.text import content_words
from leadline_plugins.text.stopwords import STOPWORDS
from leadline_plugins.text.tokens import has_cjk

Name = tuple[str, ...]
"""A name as its index tokens: two spellings of one name are equal."""
_WORD = r"[A-ZÀ-ÖØ-Þ0-9][\w'’&-]*(?:\.(?=[A-Z]))?"
_JOIN = "(?:of|the|and|de|la|le|du|des|von|van|der|den|di|da|do|dos|al|el|in|for|on|to|a|y|&)"
_LATIN = re.compile(rf"{_WORD}\.?(?:[ -](?:{_JOIN} ){{0,2}}{_WORD}\.?)*")
_MARKED = re.compile('[《「『“]([^》」』”]{2,40})[》」』”]|"([^"\n]{2,60})"|([゠-ヿ・ー]{3,})')
_NO_NAMES = STOPWORDS["en"].union((files(__package__) / "no_names.txt").read_text("utf-8").split())
"""Words with a capital that are not names: they begin sentences, or are dates."""
_NUMBER = re.compile(r"\d[\d.,/-]*(?:st|nd|rd|th|s)?")
_LONGEST = 6
"""Words; a longer run of capitals is a heading or a list."""


@lru_cache(maxsize=1 << 14)
def names(text: str) -> tuple[str, ...]:
    """Return the names in a text as they are written, in order, each once."""
    found = [name for run in _LATIN.findall(text) if (name := _trimmed(run))]
    if '"' in text or not text.isascii():  # other texts have none of these marks
        found += [next(group for group in match.groups() if group) for match in _MARKED.finditer(text)]
    return tuple(dict.fromkeys(found))


@lru_cache(maxsize=1 << 12)
def _trimmed(run: str) -> str:
    """Return a run of capitals without sentence openers, dates and numbers at its ends; empty if no name is left."""
    words = run.split()
    while words and _idle(words[0]):
        words = words[1:]
    while words and _idle(words[-1]):
        words = words[:-1]
    name = " ".join(words).rstrip(".,").removesuffix("'s").removesuffix("’s")
    return name if len(name) > 1 and len(words) <= _LONGEST else ""


def _idle(word: str) -> bool:
    bare = word.strip(".,").lower()
    return bare in _NO_NAMES or bool(_NUMBER.fullmatch(bare))


def key(name: str) -> Name:
    """Return a name as its index tokens."""
    return tuple(content_words(name))


def telling(text: str) -> set[str]:
    """Return the tokens of the figures and names in a text, which tell it from another in the same words.

    For CJK text these are the figures alone.
    """
    figures = {token for token in content_words(text) if token.isdigit()}
    return figures if has_cjk(text) else figures.union(*map(key, names(text)))


def unasked(text: str, known: frozenset[str]) -> dict[Name, str]:
    """Return the names in a text that are not made of known terms alone, by key, as they are written."""
    found: dict[Name, str] = {}
    for name in names(text):
        if (tokens := key(name)) and not known.issuperset(tokens):
            found.setdefault(tokens, name)
    return found
