"""The judge `exact`: a claim that a cited passage states in the same words is supported.

It supports nothing else. It finds numbers, dates and quoted text of a claim that occur nowhere in the cited sources,
and passes that on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from leadline.contracts import Call, Context
from leadline.hookspecs import Offer, PluginSettings, hookimpl
from leadline.records import Claim, Evidence, Judgement, Judgements, JudgeRequest
from leadline_plugins.verification.occurs import lacking
from leadline_plugins.verification.quotes import verbatim

_TIMEOUT = 120.0
"""Seconds: whole sources are read."""


class Exact:
    """Compares words and values; free and without a model."""

    def __init__(self, settings: PluginSettings, context: Context) -> None:
        """Need nothing of either."""

    async def judge(self, request: JudgeRequest, call: Call, /) -> Judgements:
        """Return the judgements on the claims that a passage states word for word, and findings on others."""
        passages = {one.id: one for one in request.passages}
        sources = {one.id: one for one in request.sources}
        found: list[Judgement] = []
        for claim in request.claims:
            cited = [passages[name] for name in claim.evidence_ids if name in passages]
            if same := _same_words(claim, cited):
                found.append(same)
            elif lacks := lacking(claim.text, cited, sources):
                reason = "; ".join(lacks)
                found.append(Judgement(claim_id=claim.id, verdict="not_judged", reason=reason, confidence=0))
        return Judgements(judgements=tuple(found))


def _same_words(claim: Claim, cited: Sequence[Evidence]) -> Judgement | None:
    for passage in cited:
        if span := verbatim(claim.text, passage):
            return Judgement(
                claim_id=claim.id,
                verdict="supported",
                quote=passage.quote[slice(*span)],
                evidence_id=passage.id,
                reason="the passage states it in the same words",
            )
    return None


@hookimpl
def leadline_claim_judges() -> Iterator[Offer[PluginSettings, Exact]]:
    """Offer the judge."""
    yield Offer(
        Exact,
        PluginSettings,
        "Supports claims that a passage states word for word; finds numbers and quotations that occur nowhere",
        keep=False,
        free=True,
        timeout=_TIMEOUT,
    )
