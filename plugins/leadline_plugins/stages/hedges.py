"""The words by which a claim says itself that its source does not confirm it."""

from __future__ import annotations

from leadline_plugins.wording import everywhere, say

_ENDS = ".!?。！？؟۔।"


def hedge(claim: str, language: str) -> str:
    """Return a claim with the words, before its full stop."""
    body = claim.rstrip(_ENDS)
    return body + say("hedge", language) + claim[len(body) :]


def hedged(claim: str) -> bool:
    """Return whether a claim holds them, in any language."""
    return any(words.strip() in claim for words in everywhere("hedge"))
