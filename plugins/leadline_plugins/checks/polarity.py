"""Negation: whether claim and passage say yes and no of the same thing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass

from leadline_plugins.checks.negators import Scope, scopes, softened
from leadline_plugins.text import content_set, content_words
from leadline_plugins.text.beginnings import beginning
from leadline_plugins.text.tokens import has_cjk

_PARTS = re.compile(
    r"[,.:](?!\d)|[;!?，。：；！？、،؛।]|\s(?:and|but|or|though|although|while|whereas|yet|und|aber|y|pero|et|mais)\s"
    r"|\s(?=(?:without|ohne|sans|sin)\s)",
    re.IGNORECASE,
)
"""What parts the parts of a sentence, one of which may be denied and the others said."""
_FEWEST = 2
"""Content words of what says something by itself."""
_SHOWN = 80
"""Characters of what is denied, as it is named."""


@dataclass(frozen=True)
class Denied:
    """What one text denies and the other says: `said` in the words of the one that denies it, of which `word` is one.

    `bare` is a negation of which the other text has nothing; `rest` then is what the text says beside it, or all of it
    where that is hardly anything.
    """

    said: str
    word: str = ""
    rest: str = ""

    @property
    def bare(self) -> bool:
        """Whether the other text has nothing of what is denied."""
        return not self.word


def contrary(claim: str, passage: str) -> Denied | None:
    """Return what is denied in one and said in the other; None where there is nothing.

    A negation counts against the other text only where that speaks of what is negated and does not negate it itself;
    where that negates nothing at all, any negation in the claim counts, but for a mild one. A mild one counts where the
    other text has most of its words. What is nearly a negation, as a refusal, denies nothing, and agrees with one.
    """
    mine, theirs = list(scopes(claim)), list(scopes(passage))
    said, found = content_set(claim), content_set(passage)
    for scope in mine:
        spoken = _most(scope.words, found) if scope.mild else bool(scope.words & found)
        bare = not (spoken or scope.mild) and not _meet(said, theirs, passage)
        if (spoken or bare) and not _meet(scope.words, theirs, passage):
            return _bare(claim, scope.at) if bare else Denied(_shown(claim, scope.at), min(scope.words & found))
    for scope in theirs:
        if _most(scope.words, said) and not _meet(scope.words, mine, claim):
            return Denied(_shown(passage, scope.at), min(scope.words & said))
    return None


def _meet(words: Set[str], others: Iterable[Scope], text: str) -> bool:
    """Return whether a text denies one of these words too, or nearly: by a word that is none of them."""
    if any(words & other.words for other in others):
        return True
    return any(words & near and not words & own for own, near in softened(text))


def _most(words: frozenset[str], of: frozenset[str]) -> bool:
    return len(words & of) * 2 > len(words)


def lacking(claim: str) -> Iterator[str]:
    """Yield the parts of a claim that say what its source lacks: no share of those over 65 is given."""
    if not has_cjk(claim):
        for scope in scopes(claim):
            if scope.mild:
                yield claim[scope.at : _part(claim, scope.at)[1]]


def _part(claim: str, at: int) -> tuple[int, int]:
    """Return where the part of a sentence that has this place begins and ends."""
    begin = 0
    for mark in _PARTS.finditer(claim):
        if mark.start() > at:
            return begin, mark.start()
        begin = mark.end()
    return begin, len(claim)


def _shown(text: str, at: int) -> str:
    """Return a negation that stands there with what it denies, in the text's own words."""
    begin, end = _part(text, at)
    behind = text[at:end].strip()
    return beginning(behind if len(content_words(behind)) >= _FEWEST else text[begin:end].strip(), _SHOWN)


def _bare(claim: str, at: int) -> Denied:
    """Return a negation that stands there, with the part of the claim that it denies, and what is said beside that."""
    begin, end = _part(claim, at)
    rest = f"{claim[:begin]} {claim[end:]}"
    alone = len(set(content_words(rest))) < _FEWEST
    return Denied(_shown(claim, at), rest=claim if alone else rest)
