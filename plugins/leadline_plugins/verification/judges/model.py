"""The judge `model`: asks the chat model for a verdict with the exact words of the passage.

A verdict without words that occur in a cited passage does not count, except `unsupported`.
"""

from __future__ import annotations

from collections.abc import Sequence

from leadline.contracts import Call
from leadline.errors import CallFailed
from leadline.records import Claim, Evidence, Judgement, Judgements, JudgeRequest
from leadline_plugins.verification.quotes import OMISSION, words_in
from leadline_plugins.verification.tasks import VERIFY, ClaimReply, batches, inputs_of

CONFIDENCE = 0.8
"""Of a model's verdict, against 1 for the same words: models do not know how sure they are."""


class ModelJudge:
    """Asks in batches; what the model leaves out is asked once more. Without a chat model it judges nothing."""

    async def judge(self, request: JudgeRequest, call: Call, /) -> Judgements:
        """Return a judgement for each claim, `not_judged` where the model's words do not count."""
        if not await call.run.by_chat(VERIFY.name):
            return Judgements()
        groups = list(batches(request.claims, request.passages))
        replies = await call.run.each(groups, lambda claims: _asked(claims, request, call))
        return Judgements(judgements=tuple(one for reply in replies for one in reply))


async def _asked(claims: Sequence[Claim], wanted: JudgeRequest, call: Call) -> list[Judgement]:
    found: dict[str, ClaimReply] = {}
    left, why = list(claims), "the model said nothing about it"
    for _ in range(2):
        inputs = inputs_of(left, wanted.passages, wanted.sources, wanted.language)
        try:
            reply = await call.run.perform(VERIFY.of(inputs))
        except CallFailed as failed:
            why = f"the model was not asked: {failed.record.text}"
            break
        numbered = dict(enumerate(left, start=1))
        found |= {numbered[one.claim].id: one for one in reply.verdicts if one.claim in numbered}
        left = [claim for claim in left if claim.id not in found]
        if not left:
            break
    passages = {one.id: one for one in wanted.passages}
    silent = [Judgement(claim_id=one.id, verdict="not_judged", reason=why, confidence=0) for one in left]
    answered = (claim for claim in claims if claim.id in found)
    return [*(_judgement(claim, found[claim.id], passages) for claim in answered), *silent]


def _judgement(claim: Claim, said: ClaimReply, passages: dict[str, Evidence]) -> Judgement:
    """Return a reply as a judgement on the exact words of a cited passage."""
    if said.verdict == "unsupported":
        return Judgement(claim_id=claim.id, verdict="unsupported", reason=said.reason, confidence=CONFIDENCE)
    cited = [passages[name] for name in claim.evidence_ids if name in passages]
    if found := words_in(said.quote, cited):
        return Judgement(
            claim_id=claim.id,
            verdict=said.verdict,
            quote=OMISSION.join(words for _, words in found),
            evidence_id=found[0][0].id,
            reason=said.reason,
            confidence=CONFIDENCE,
        )
    wrong = "quotes words that no cited passage has" if said.quote.strip() else "quotes no words of a passage"
    reason = f"model {wrong}"
    return Judgement(claim_id=claim.id, verdict="not_judged", reason=reason, confidence=0)
