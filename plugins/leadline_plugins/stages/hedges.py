"""The words by which a claim says itself that its source does not confirm it."""

from __future__ import annotations

_HEDGES = {"zh": "（所引来源未证实）", "ja": "（引用元では確認できない）", "ko": " (인용한 출처에서 확인되지 않음)"}
_HEDGE = " (not confirmed by the source cited)"


def hedge(claim: str, language: str) -> str:
    """Return a claim with the words, before its full stop."""
    said = _HEDGES.get(language[:2], _HEDGE)
    body = claim.rstrip(".!?。！？")
    return body + said + claim[len(body) :]


def hedged(claim: str) -> bool:
    """Return whether a claim holds them."""
    return any(words.strip() in claim for words in (*_HEDGES.values(), _HEDGE))
