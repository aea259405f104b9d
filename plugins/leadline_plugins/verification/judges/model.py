"""Judge `model`: asks the chat model for verdicts with exact quotes.

Except for `unsupported`, a verdict counts only if a cited passage has its quote.
"""

from __future__ import annotations

from collections.abc import Sequence

from leadline.contracts import Call, Run
from leadline.errors import CallFailed
from leadline.records import Claim, Evidence, Judgement, Judgements, JudgeRequest, Notice
from leadline.research_findings import FAILED
from leadline_plugins.verification.quotes import OMISSION, find_quote
from leadline_plugins.verification.tasks import VERIFY_TASK, ClaimReply, batches, claims_request

# The confidence of all verdicts of a model, which cannot rate its own; a verbatim claim has 1.
CONFIDENCE = 0.8


class ModelJudge:
    """Asks in batches, and once more for missing claims. Without a chat model it returns nothing."""

    async def judge(self, request: JudgeRequest, call: Call, /) -> Judgements:
        """Return a judgement for each claim; `not_judged` if the reply does not count."""
        return Judgements(judgements=tuple(await judge_by_chat(request, call.run)))


async def judge_by_chat(request: JudgeRequest, run: Run) -> list[Judgement]:
    """Return the judgements of the chat model on claims; none without a chat model."""
    if not await run.by_chat(VERIFY_TASK.name):
        return []
    groups = list(batches(request.claims, request.passages, run.settings.verify.claims_per_call))
    replies = await run.each(groups, lambda claims: _judge_batch(claims, request, run))
    return [judgement for reply in replies for judgement in reply]


async def _judge_batch(claims: Sequence[Claim], wanted: JudgeRequest, run: Run) -> list[Judgement]:
    verdicts: dict[str, ClaimReply] = {}
    left, why = list(claims), Notice("the model returned no verdict on it", "silent")
    for _ in range(2):
        inputs = claims_request(left, wanted.passages, wanted.sources, wanted.language)
        try:
            reply = await run.perform(VERIFY_TASK.of(inputs))
        except CallFailed as failed:
            why = Notice("the model could not be asked: {reason}", "not_asked", reason=failed.record.text)
            break
        numbered = dict(enumerate(left, start=1))
        verdicts |= {numbered[verdict.claim].id: verdict for verdict in reply.verdicts if verdict.claim in numbered}
        left = [claim for claim in left if claim.id not in verdicts]
        if not left:
            break
    passages = {passage.id: passage for passage in wanted.passages}
    silent = [Judgement(claim_id=claim.id, verdict="not_judged", reason=why, confidence=0) for claim in left]
    answered = (claim for claim in claims if claim.id in verdicts)
    return [*(_judgement(claim, verdicts[claim.id], passages) for claim in answered), *silent]


def _judgement(claim: Claim, reply: ClaimReply, passages: dict[str, Evidence]) -> Judgement:
    """Return a reply as a judgement that quotes a cited passage."""
    cited = [passages[name] for name in claim.evidence_ids if name in passages]
    corrects = reply.verdict in FAILED and bool(reply.correction.strip())
    if corrects and (quotes := find_quote(reply.quote, [*cited, *passages.values()])):
        return _decided(claim, reply, quotes)
    reply = reply.model_copy(update={"correction": ""})
    if reply.verdict == "unsupported":
        return _decided(claim, reply, ())
    if quotes := find_quote(reply.quote, cited):
        return _decided(claim, reply, quotes)
    misquoted = Notice("the judge {judge} quoted words that are not in the passage", "misquoted", judge="model")
    unquoted = Notice("{judge} quotes no words of a passage", "unquoted", judge="model")
    reason = misquoted if reply.quote.strip() else unquoted
    return Judgement(claim_id=claim.id, verdict="not_judged", reason=reason, confidence=0)


def _decided(claim: Claim, reply: ClaimReply, quotes: Sequence[tuple[Evidence, str]]) -> Judgement:
    return Judgement(
        claim_id=claim.id,
        verdict=reply.verdict,
        quote=OMISSION.join(words for _, words in quotes),
        evidence_id=quotes[0][0].id if quotes else "",
        reason=reply.reason,
        confidence=CONFIDENCE,
        asserts=reply.asserts,
        names=reply.names,
        correction=reply.correction,
    )
