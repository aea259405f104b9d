"""Claims said anew by a model, so that the passages they cite bear them: judged as any claim is, or not taken."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from leadline.contracts import Run
from leadline.findings import Verdict
from leadline.task_kinds import TaskKind
from leadline_plugins import drafts, expect
from leadline_plugins.prompts import template
from leadline_plugins.shrinking import fewer_claims
from leadline_plugins.stages.claims import Claim, Library
from leadline_plugins.stages.degrade import perform_or
from leadline_plugins.stages.hedges import hedged
from leadline_plugins.stages.verdicts import asked, judged
from leadline_plugins.tasks import RepairRequest, Rewordings
from leadline_plugins.text.foreign import foreign

BATCH = 20
"""Claims that one call is asked for."""
_LONGEST = 2.0
"""How much longer than the old one a new sentence may be: it is to say less."""
_ROOM = 80


def _unusable(request: RepairRequest, reply: Rewordings) -> str:
    found = foreign("\n".join(one.text for one in reply.claims), request.language)
    return f"it is in {found} and must be in {request.language}" if found else ""


ASK = TaskKind(
    "repair_claim",
    RepairRequest,
    Rewordings,
    template("repair_claim"),
    role="thinking",
    shrink=fewer_claims,
    check=_unusable,
    expects=expect.repair_claim,
)


async def reworded(
    run: Run, claims: Sequence[Claim], library: Library, language: str
) -> tuple[dict[str, str], list[Verdict]]:
    """Return by the ids of claims what may stand in their place, and the verdicts on all that was proposed.

    Nothing without a language model. Rows of tables are not sentences, and stay.
    """
    if not claims or not await run.by_chat(ASK.name, ASK.role):
        return {}, []
    said = [claim for claim in claims if not claim.cells and not hedged(claim.text)]
    batches = [said[at : at + BATCH] for at in range(0, len(said), BATCH)]
    replies = await run.each(batches, lambda batch: _said(run, batch, library, language))
    new = {name: text for reply in replies for name, text in reply.items()}
    trials = [replace(claim, text=new[claim.id]) for claim in said if claim.id in new]
    verdicts = await judged(run, trials, library)
    return {claim.id: claim.text for claim in trials if _holds(claim, verdicts)}, verdicts


def _holds(claim: Claim, verdicts: Iterable[Verdict]) -> bool:
    """Return whether some citation bears a claim in full, and none speaks against it."""
    kinds = {verdict.verdict for verdict in verdicts if verdict.claim_id == claim.id}
    return "supported" in kinds and "contradicted" not in kinds


async def _said(run: Run, claims: Sequence[Claim], library: Library, language: str) -> Mapping[str, str]:
    """Return what a model says instead, by the id of the claim; in the call they are numbered."""
    numbered = {str(number): claim for number, claim in enumerate(claims, start=1)}
    material = [asked(claim, library).model_copy(update={"id": number}) for number, claim in numbered.items()]
    request = RepairRequest(language=language, claims=tuple(material))
    saying = "claims that their sources do not bear were hedged, and not said anew"
    reply = await perform_or(run, ASK.of(request), Rewordings(), saying, closing=True)
    new = {one.id.strip(): _sentence(one.text) for one in reply.claims}
    return {claim.id: new[number] for number, claim in numbered.items() if _fits(new.get(number, ""), claim)}


def _sentence(text: str) -> str:
    """Return a text without marks of the model's own."""
    return drafts.normalised(text, drafts.Known.of(()), ()).text.strip()


def _fits(new: str, claim: Claim) -> bool:
    """Return whether it can stand where the claim does: one line, of about its length, and something else."""
    return "\n" not in new and 0 < len(new) <= _LONGEST * len(claim.text) + _ROOM and new != claim.text
