"""What rules left open of a checked report, put to a language model: for `leadline verify` of another tool's report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from leadline.computing import compute
from leadline.contracts import Run
from leadline_plugins.checks.causes import Cause
from leadline_plugins.citing.checking import CheckedClaim, CheckedReport, resummed
from leadline_plugins.stages.putting import Passage, Put
from leadline_plugins.stages.questioning import Asked, answers, causes, tell_left
from leadline_plugins.stages.verdicts import hint
from leadline_plugins.stages.verdicts import is_open as open_to_a_model
from leadline_plugins.tasks.checking import ClaimVerdict


def is_open(found: CheckedReport) -> bool:
    """Return whether a model has something to say to any claim: to what no rule settled."""
    return any(map(open_to_a_model, found.claims))


async def asked(run: Run, found: CheckedReport) -> CheckedReport:
    """Return the report with a model's verdicts where rules left claims open; where it has none, as it was."""
    titles = {source.key: source.text for source in found.sources}
    claims = [
        Put(
            str(place),
            one.claim,
            tuple(Passage(near.text, titles.get(near.source, "")) for near in one.near),
            found=hint(one),
            held=one.verdict or "partial",
        )
        for place, one in enumerate(found.claims)
        if open_to_a_model(one)
    ]
    said = await answers(run, claims, _against, lambda one: False)
    judged = [_merged(one, said.by_id.get(str(place))) for place, one in enumerate(found.claims)]
    await tell_left(run, sum(map(open_to_a_model, judged)), len(judged), said.why)
    return resummed(found, judged, found.paragraphs_without_citation)


def _shown(claim: CheckedClaim, titles: Mapping[str, str]) -> Iterator[Passage]:
    """Yield what of each of its sources a model is shown for a claim."""
    return (Passage(near.text, titles.get(near.source, "")) for near in claim.near)


async def _against(supported: Sequence[Put]) -> Mapping[str, Cause]:
    return await compute(causes, [Asked(one, one.claim) for one in supported])


def _merged(claim: CheckedClaim, said: ClaimVerdict | None) -> CheckedClaim:
    if said is None:
        return claim
    confidence = round(said.confidence, 2)
    kind = "unsupported" if said.verdict == "remark" else said.verdict
    told = {"verdict": kind, "reason": said.reason, "confidence": confidence, "by": "model"}
    return claim.model_copy(update=told)
