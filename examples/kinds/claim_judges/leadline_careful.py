from leadline.contracts import Call
from leadline.hookspecs import Offer, Offers, PluginSettings, hookimpl
from leadline.records import Judgement, Judgements, JudgeRequest


def words(text: str) -> str:
    return " ".join(text.lower().split()).rstrip(".")


class Careful:
    async def judge(self, request: JudgeRequest, call: Call, /) -> Judgements:
        lines = {words(line): (line, one.id) for one in request.passages for line in one.quote.splitlines()}
        found = []
        for claim in request.claims:
            quote, cited = lines.get(words(claim.text), ("", ""))
            if quote and cited in claim.evidence_ids:
                found.append(Judgement(claim_id=claim.id, verdict="supported", quote=quote, evidence_id=cited))
        return Judgements(judgements=tuple(found))


@hookimpl
def leadline_claim_judges() -> Offers[Careful]:
    yield Offer(
        lambda settings, context: Careful(), PluginSettings, "Supports what a passage says in a line of its own"
    )
