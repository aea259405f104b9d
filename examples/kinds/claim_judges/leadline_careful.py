from leadline.plugin import Call, Judgement, Judgements, JudgeRequest, claim_judge


def words(text: str) -> str:
    return " ".join(text.lower().split()).rstrip(".")


@claim_judge("Supports what a passage says in a line of its own")
class Careful:
    async def judge(self, request: JudgeRequest, call: Call, /) -> Judgements:
        lines = {words(line): (line, one.id) for one in request.passages for line in one.quote.splitlines()}
        found = []
        for claim in request.claims:
            quote, cited = lines.get(words(claim.text), ("", ""))
            if quote and cited in claim.evidence_ids:
                found.append(Judgement(claim_id=claim.id, verdict="supported", quote=quote, evidence_id=cited))
        return Judgements(judgements=tuple(found))
