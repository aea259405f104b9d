"""A claim judge that decides by the number of a claim, each kind of verdict in its turn."""

from leadline.plugin import Call, Judgement, Judgements, JudgeRequest, claim_judge

KINDS = ("supported", "partial", "unsupported", "contradicted")


@claim_judge("Each kind of verdict in its turn")
class InTurn:
    async def judge(self, request: JudgeRequest, call: Call, /) -> Judgements:
        quotes = {passage.id: passage.quote for passage in request.passages}
        made = []
        for claim in request.claims:
            kind = KINDS[int(claim.id.rpartition(".")[2]) % len(KINDS)]
            cited = next(iter(claim.evidence_ids), "")
            quote = quotes.get(cited, "") if kind != "unsupported" else ""
            made.append(
                Judgement(claim_id=claim.id, verdict=kind, quote=quote, evidence_id=cited, reason=f"decided {kind}")
            )
        return Judgements(judgements=tuple(made))
