"""What rules left open of a checked report, put to a language model: for `leadline verify` of another tool's report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from leadline.computing import compute
from leadline.contracts import Run
from leadline_plugins.checks.causes import Cause
from leadline_plugins.citing.checking import CheckedClaim, CheckedReport, resummed
from leadline_plugins.stages.putting import Passage, Put
from leadline_plugins.stages.questioning import Asked, answers, causes, tell_left
from leadline_plugins.stages.verdicts import hint
from leadline_plugins.stages.verdicts import is_open as open_to_a_model
from leadline_plugins.tasks.checking import ClaimVerdict
from leadline_plugins.text.hanging import hangs_on


def is_open(found: CheckedReport) -> bool:
    """Return whether a model has something to say to any claim: to what no rule settled."""
    return any(map(open_to_a_model, found.claims))


async def asked(run: Run, found: CheckedReport) -> CheckedReport:
    """Return the report with a model's verdicts where rules left claims open; where it has none, as it was."""
    titles = {source.key: source.text for source in found.sources}
    texts = {str(place): one.text for place, one in enumerate(found.claims)}
    claims = [_put(str(place), one, titles) for place, one in enumerate(found.claims) if open_to_a_model(one)]

    async def against(supported: Sequence[Put]) -> Mapping[str, Cause]:
        return await compute(causes, [Asked(one, texts[one.id]) for one in supported])

    said = await answers(run, claims, against, lambda one: False)
    judged = [_merged(one, said.by_id.get(str(place))) for place, one in enumerate(found.claims)]
    await tell_left(run, sum(map(open_to_a_model, judged)), len(judged), said.why)
    return resummed(found, judged, found.paragraphs_without_citation)


def _put(name: str, claim: CheckedClaim, titles: Mapping[str, str]) -> Put:
    """Return a claim as a model is shown those of a run: with the sentence before it where it hangs on that."""
    goes_on = bool(claim.whole) and not claim.whole.startswith(claim.claim)
    return Put(
        name,
        claim.claim,
        tuple(Passage(near.text, titles.get(near.source, "")) for near in claim.near),
        under=claim.under,
        before=claim.before if hangs_on(claim.whole if goes_on else claim.claim) else "",
        whole=claim.whole if goes_on else "",
        found=hint(claim),
        held=claim.verdict or "partial",
    )


def _merged(claim: CheckedClaim, said: ClaimVerdict | None) -> CheckedClaim:
    if said is None:
        return claim
    confidence = round(said.confidence, 2)
    kind = "unsupported" if said.verdict == "remark" else said.verdict
    told = {"verdict": kind, "reason": said.reason, "confidence": confidence, "by": "model"}
    return claim.model_copy(update=told)
