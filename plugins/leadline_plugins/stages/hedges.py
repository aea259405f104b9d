"""The words by which a claim says itself that its source does not confirm it, or says otherwise."""

from __future__ import annotations

from leadline.findings import VerdictKind
from leadline_plugins.wording import everywhere, say

_ENDS = ".!?。！？؟۔।"
_OTHERWISE = "hedge_otherwise"


def hedge(claim: str, language: str, verdict: VerdictKind = "unsupported") -> str:
    """Return a claim with the words for a verdict on it, before its full stop."""
    body = claim.rstrip(_ENDS)
    return body + say(_OTHERWISE if verdict == "contradicted" else "hedge", language) + claim[len(body) :]


def hedged(claim: str) -> bool:
    """Return whether a claim holds them, in any language."""
    return _holds(claim, "hedge", _OTHERWISE)


def denied(claim: str) -> bool:
    """Return whether a claim says itself that its source says otherwise."""
    return _holds(claim, _OTHERWISE)


def _holds(claim: str, *names: str) -> bool:
    return any(words.strip() in claim for words in everywhere(*names))
