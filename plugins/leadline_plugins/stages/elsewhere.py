"""What a report cites elsewhere for a sentence that has no citation of its own: a summary says again what sections say.

Such a sentence is held against what stands beside it; where another place says the same and cites for it, that is asked
too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from leadline_plugins.text.tokens import content_set

if TYPE_CHECKING:  # claims come with what is cited elsewhere
    from leadline_plugins.stages.claims import Claim

_SHARE = 0.6
"""Share of the words of a sentence that must stand in another that says the same; and all its figures."""
_FEWEST = 3
"""Words of a sentence; of fewer, too many others have most."""
_LATE = ("summary", "conclusion")
"""Sections that are written last: what is judged ahead of them must be the same afterwards."""


def with_elsewhere(claims: Sequence[Claim]) -> list[Claim]:
    """Return the claims, those without a citation of their own with what is cited where the same is said."""
    if all(claim.own for claim in claims):
        return list(claims)
    cited = [claim for claim in claims if claim.own and claim.section_id not in _LATE]
    words = [content_set(claim.said) for claim in cited]
    by_word: dict[str, list[int]] = {}
    for place, own in enumerate(words):
        for word in own:
            by_word.setdefault(word, []).append(place)
    found: list[Claim] = []
    for claim in claims:
        same = None if claim.own else _same(content_set(claim.said), words, by_word)
        found.append(claim if same is None else _joined(claim, cited[same]))
    return found


def _same(said: frozenset[str], words: Sequence[frozenset[str]], by_word: dict[str, list[int]]) -> int | None:
    """Return the place of the words that have most of what is said, and all its figures; None where none have enough.

    Of those that have enough, each has one of the rarest: so few are looked at.
    """
    if len(said) < _FEWEST:
        return None
    rarest = sorted(said, key=lambda word: len(by_word.get(word, ())))[: int(len(said) * (1 - _SHARE)) + 1]
    figures = {word for word in said if word[0].isdigit()}
    fits = sorted({place for word in rarest for place in by_word.get(word, ()) if figures <= words[place]})
    best = max(fits, key=lambda place: len(said & words[place]), default=None)
    return best if best is not None and len(said & words[best]) >= _SHARE * len(said) else None


def _joined(claim: Claim, same: Claim) -> Claim:
    names = dict.fromkeys((*same.cite_ids, *claim.beside))
    return replace(claim, beside=tuple(name for name in names if name not in claim.cite_ids))
