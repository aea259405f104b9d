"""Names in a text: what one document calls another by, and so what leads from one to the next.

By typography alone: capitals in scripts that have them, katakana, and what stands in title marks. Han names carry no
mark, so Chinese is bridged by titles, brackets and Latin words only.
"""

from __future__ import annotations

import re
from functools import lru_cache

from leadline_plugins.text import content_words
from leadline_plugins.text.stopwords import STOPWORDS

_WORD = r"[A-ZÀ-ÖØ-Þ0-9][\w'’&-]*(?:\.(?=[A-Z]))?"
_JOIN = r"(?:of|the|and|de|la|le|du|des|von|van|der|den|di|da|do|dos|al|el|in|for|on|to|a|y|&)"
_LATIN = re.compile(rf"{_WORD}\.?(?:[ -](?:{_JOIN} ){{0,2}}{_WORD}\.?)*")
_MARKED = re.compile(r"[《「『“]([^》」』”]{2,40})[》」』”]|\"([^\"\n]{2,60})\"|([゠-ヿ・ー]{3,})")
_STOP = STOPWORDS["en"]
_OPENER = re.compile(r"(?:^|[.!?:;]\s+|\n\s*)[\"“(]?([A-Z][a-z]+),? ")
_DATE = frozenset(
    ["january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "century", "however", "although", "eventually", "formally", "formerly", "originally", "later", "recently", "following", "according", "despite", "instead", "meanwhile", "therefore", "thus", "moreover", "furthermore", "additionally", "finally", "since"]
)
_LONGEST = 6
_NO_NAMES = re.compile(r"\d[\d.,/-]*(?:st|nd|rd|th|s)?")


@lru_cache(maxsize=1 << 14)
def names(text: str) -> tuple[str, ...]:
    """Return the names in a text as they stand there, in order, each once."""
    found = [part for match in _LATIN.finditer(text) for part in _clean(match.group())]
    found += [next(group for group in match.groups() if group) for match in _MARKED.finditer(text)]
    return tuple(dict.fromkeys(found))


def _clean(run: str) -> list[str]:
    """Drop words that a sentence merely begins with, dates and numbers."""
    parts = run.split()
    while parts and _idle(parts[0]):
        parts = parts[1:]
    while parts and _idle(parts[-1]):
        parts = parts[:-1]
    name = " ".join(parts).rstrip(".,").removesuffix("'s").removesuffix("’s")
    return [name] if len(name) > 1 and len(parts) <= _LONGEST else []


def _idle(word: str) -> bool:
    bare = word.strip(".,").lower()
    return bare in _STOP or bare in _DATE or bool(_NO_NAMES.fullmatch(bare))


def key(name: str) -> tuple[str, ...]:
    """Return what makes two spellings one name."""
    return tuple(content_words(name))
