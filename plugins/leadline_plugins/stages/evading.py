"""Sentences said anew that mend nothing: without a wrong name, but with what is false of whom it named; echoes."""

from __future__ import annotations

import re

from leadline_plugins.checks.naming import proper_names, stands
from leadline_plugins.stages.claims import Claim
from leadline_plugins.stages.library import Library
from leadline_plugins.text import content_set
from leadline_plugins.text.tokens import has_cjk

_SAME = 0.8
"""The share of a sentence's words that makes it another's."""
_MOST = 0.5
"""The share of the old sentence's words that the new one has at least, where only a name went."""
_SUBJECT = 8
"""Characters in which a Chinese sentence tells whom it is about, at its beginning."""
_OPENER = re.compile(r"\W*([A-ZÀ-ÖØ-Þ][\w'’-]+)")
_PARTICLES = "在于於的，,、 "


def nameless(new: str, claim: Claim, library: Library) -> bool:
    """Return whether a new sentence says what the old one said, but for a name that no passage has, and names none."""
    told = "\n".join(f"{item.title}\n{item.under}\n{item.evidence.quote}" for item in library.cited(claim))
    if _cut_off(new, claim.shown, told):
        return True
    names = _names(claim.shown)
    gone = [name for name in names if not stands(name, told) and not stands(name, new)]
    before = claim.shown.casefold()
    named = (name for name in _names(new) if name.casefold() not in before and not stands(name, claim.shown))
    if not gone or any(stands(name, told) for name in named):
        return False
    old, said = content_set(claim.shown) - content_set(" ".join(gone)), content_set(new)
    kept = len(old & said)
    return bool(said) and kept >= _SAME * len(said) and kept >= _MOST * len(old)


def repeats(new: str, claim: Claim) -> bool:
    """Return whether a new sentence says again what the one before or behind it says."""
    said = content_set(new)
    beside = (content_set(text) for text in (claim.context.before, claim.context.behind))
    return bool(said) and any(len(said & other) >= _SAME * len(said) for other in beside)


def _names(said: str) -> list[str]:
    """Return the names of a sentence, with the word that begins it where that tells something: it may be the one."""
    first = _OPENER.match(said)
    return [*proper_names(said), *([first[1]] if first and content_set(first[1]) else ())]


def _cut_off(new: str, old: str, told: str) -> bool:
    """Return whether a Chinese sentence only lost the word at its beginning, which no passage has."""
    at = old.find(new)
    gone = old[:at].strip(_PARTICLES) if 0 < at <= _SUBJECT and has_cjk(old) else ""
    return bool(gone) and gone not in told
