"""What rules left open of a checked report, put to a language model: for `leadline verify` of another tool's report."""

from __future__ import annotations

from collections.abc import Sequence

from leadline.contracts import Run
from leadline_plugins.citing.checking import CheckedClaim, CheckedReport, summed
from leadline_plugins.stages.putting import Passage, Put
from leadline_plugins.stages.verdicts import BATCH, ask
from leadline_plugins.tasks import ClaimVerdict


def is_open(found: CheckedReport) -> bool:
    """Return whether a claim was judged by words alone, so that a model has something to say."""
    return any(claim.by == "words" for claim in found.claims)


async def asked(run: Run, found: CheckedReport) -> CheckedReport:
    """Return the report with a model's verdicts where words were counted; where it has none, as it was."""
    titles = {source.key: source.text for source in found.sources}
    claims = [
        Put(str(place), one.claim, (Passage(one.passage, titles.get(one.source, "")),))
        for place, one in enumerate(found.claims)
        if one.by == "words"
    ]
    batches = [claims[at : at + BATCH] for at in range(0, len(claims), BATCH)]
    said: dict[str, ClaimVerdict] = {}
    for reply in await run.each(batches, lambda batch: ask(run, batch)):
        said |= reply
    return _summed(found, [_merged(one, said.get(str(place))) for place, one in enumerate(found.claims)])


def _merged(claim: CheckedClaim, said: ClaimVerdict | None) -> CheckedClaim:
    if said is None:
        return claim
    confidence = round(said.confidence, 2)
    kind = "unsupported" if said.verdict == "remark" else said.verdict
    told = {"verdict": kind, "reason": said.reason, "confidence": confidence, "by": "model"}
    return claim.model_copy(update=told)


def _summed(found: CheckedReport, claims: Sequence[CheckedClaim]) -> CheckedReport:
    return summed(
        title=found.title,
        marks=found.marks,
        sources=found.sources,
        claims=tuple(claims),
        dangling=found.dangling,
        uncited_sources=found.uncited_sources,
        bare=found.paragraphs_without_citation,
    )
