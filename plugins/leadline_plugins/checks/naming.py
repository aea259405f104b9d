"""Names in a claim, and whether a text holds them, in whichever form."""

from __future__ import annotations

import re
from functools import lru_cache

from leadline_plugins.ai.embedded.names import key, names
from leadline_plugins.checks.vocabulary import SCALES, UNITS
from leadline_plugins.text import content_set
from leadline_plugins.text.abbreviations import written_out
from leadline_plugins.text.tokens import stem

_FIRST = re.compile(r"[^\w]*([A-ZÀ-ÖØ-Þ][a-zà-öø-ÿ'’-]+)\b")
_CAPITAL = re.compile(r"[A-ZÀ-ÖØ-Þ][\w'’-]*")
_OF_PLACE = re.compile("(?:ese?|ish|ic|i?ans?|n|ia|[aeiy])$")
_DOTTED = re.compile(r"\b(?:[A-Z]\.){2,}")
_PEOPLES = """britain british uk|netherlands dutch|france french|spain spanish|denmark danish|poland polish|
england english|ireland irish|scotland scottish|wales welsh|greece greek|switzerland swiss|america american us usa|
philippines filipino|thailand thai|norway norwegian|peru peruvian|israel israeli"""
"""Countries whose people are called otherwise than by an ending."""
_PEOPLE = {stem(name): group.split()[0] for group in _PEOPLES.replace("\n", "").split("|") for name in group.split()}
_OF_FIGURES = frozenset(SCALES).union(*UNITS.values())
_SHORT = 4
"""Characters; so short a word has no ending to lose."""


def proper_names(text: str) -> list[str]:
    """Return the names in a text, without the one word whose capital may be its sentence's."""
    first = _FIRST.match(text)
    opener = first.group(1) if first else ""
    return [name for name in names(text) if name != opener and key(name) and not _counted(name)]


def _counted(name: str) -> bool:
    """Return whether what was taken for a name is of a figure: its noun (`9th-grade`), a unit or scale (`Prozent`)."""
    return name.lower() in _OF_FIGURES or (name[0].isdigit() and name.lower() == name)


def missing_names(claim: str, text: str) -> list[str]:
    """Return the names of a claim that a text does not hold."""
    return [name for name in proper_names(claim) if not stands(name, text)]


def stands(name: str, text: str) -> bool:
    """Return whether a text holds a name: one word in any form; of several the half, with capitals if they have them.

    Of scripts without capitals a part is enough: what is taken for a name there is mostly a word.
    """
    parts = key(name)
    if name.upper() == name.lower() and not name.isascii():
        return not _vocabulary(text).isdisjoint(parts)
    if len(parts) > 1:
        held = _capitals(text) if _titled(name) else _vocabulary(text)
        return 2 * sum(part in held for part in parts) >= len(parts)
    return parts[0] in _vocabulary(text) or _base(parts[0]) in _bases(text) or (coded(name) and _initials(name, text))


def _titled(name: str) -> bool:
    """Return whether most words of a name have a capital: then `united` or `club` in the text is no part of it."""
    words = name.split()
    return 2 * sum(word[0].isupper() for word in words) > len(words)


def coded(name: str) -> bool:
    """Return whether a name is an abbreviation or a code: capitals or digits throughout."""
    return name.isascii() and all(not part.islower() and not part.istitle() for part in name.split())


def _initials(name: str, text: str) -> bool:
    """Return whether words of a text have these initials: `NASM`, National Air and Space Museum."""
    return name.isalpha() and bool(written_out(name).search(text))


def _base(word: str) -> str:
    """Return a name without the ending that makes it one of a place: Libya, Libyan; France, French."""
    if word in _PEOPLE:
        return _PEOPLE[word]
    while len(word) > _SHORT and (less := _OF_PLACE.sub("", word)) != word:
        word = less
    return word


@lru_cache(maxsize=64)
def _vocabulary(text: str) -> frozenset[str]:
    return content_set(text)


@lru_cache(maxsize=64)
def _capitals(text: str) -> frozenset[str]:
    """Return the words that have a capital in a text."""
    return content_set(" ".join(_CAPITAL.findall(text)))


@lru_cache(maxsize=64)
def _bases(text: str) -> frozenset[str]:
    dotted = (found.replace(".", "").lower() for found in _DOTTED.findall(text))
    return frozenset(map(_base, (*_capitals(text), *dotted)))
