"""Claims said anew by a model, so that the passages they cite bear them: judged as any claim is, or not taken."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from leadline.contracts import Run
from leadline.findings import Verdict
from leadline.task_kinds import TaskKind
from leadline_plugins import expect
from leadline_plugins.checks.quotes import bared, plain
from leadline_plugins.prompts import template
from leadline_plugins.shrinking import fewer_claims
from leadline_plugins.stages.claims import Claim
from leadline_plugins.stages.degrade import perform_or
from leadline_plugins.stages.evading import nameless, repeats
from leadline_plugins.stages.fitting import body, fitted
from leadline_plugins.stages.hedges import hedged
from leadline_plugins.stages.library import Library
from leadline_plugins.stages.numbered import numbers
from leadline_plugins.stages.putting import listed, put
from leadline_plugins.stages.verdicts import judged
from leadline_plugins.synthesizers import draft
from leadline_plugins.tasks.checking import ClaimToRepair, RepairRequest, Rewordings
from leadline_plugins.text import language as language_of
from leadline_plugins.text.foreign import foreign

BATCH = 20
"""Claims that one call is asked for."""
_ANEW = ".anew"
"""Behind the id of a claim that is said anew: the verdicts on what was said before are on other words."""


def _unusable(request: RepairRequest, reply: Rewordings) -> str:
    ids = [claim.id for claim in request.claims]
    if reply.claims and not _by_number(reply).keys() & {*ids}:
        return f"it says none of the claims anew by their ids ({', '.join(ids)})"
    found = foreign("\n".join(one.text for one in reply.claims), request.language)
    return f"it is in {found} and must be in {request.language}" if found else ""


ASK = TaskKind(
    "repair_claim",
    RepairRequest,
    Rewordings,
    template("repair_claim"),
    shrink=fewer_claims,
    check=_unusable,
    expects=expect.repair_claim,
)


async def reworded(
    run: Run, claims: Sequence[Claim], library: Library, language: str, verdicts: Iterable[Verdict]
) -> tuple[dict[str, str], list[Verdict]]:
    """Return by the ids of claims what may stand in their place, and the verdicts on all that was proposed.

    `verdicts` are those on the claims. Nothing without a language model. Rows of tables are not sentences, and stay.
    """
    if not claims or not await run.by_chat(ASK.name, ASK.role):
        return {}, []
    known = {verdict.claim_id: verdict for verdict in verdicts}
    said = [claim for claim in claims if not claim.row.cells and not hedged(claim.text)]
    batches = [said[at : at + BATCH] for at in range(0, len(said), BATCH)]
    replies = await run.each(batches, lambda batch: _said(run, batch, library, language, known))
    new = {name: text for reply in replies for name, text in reply.items()}
    trials = {name: _trial(claim, new[name]) for claim in said if (name := claim.id) in new}
    found = await judged(run, list(trials.values()), library, anew=True)
    return {name: new[name] for name, trial in trials.items() if _holds(trial, found)}, found


def lost(claims: Iterable[Claim], better: Mapping[str, str], left: Iterable[Claim]) -> set[str]:
    """Return which claims are not said in a mended report as they were judged: one with a neighbour, or in two."""
    stand = {(plain(claim.text), claim.cite_ids) for claim in left}
    trials = (_trial(claim, better[claim.id]) for claim in claims if claim.id in better)
    return {one.id.removesuffix(_ANEW) for one in trials if (plain(one.text), one.cite_ids) not in stand}


def _trial(claim: Claim, text: str) -> Claim:
    """Return a claim said anew, as it will be found in the report."""
    old = bared(body(claim.text))
    whole = claim.context.whole.replace(old, text) if old in claim.context.whole else ""
    said = claim.text.removesuffix(body(claim.text)) + text
    return replace(claim, id=claim.id + _ANEW, text=said, context=replace(claim.context, whole=whole))


def _holds(claim: Claim, verdicts: Iterable[Verdict]) -> bool:
    """Return whether what is cited bears a claim in full."""
    return any(one.claim_id == claim.id and one.verdict == "supported" for one in verdicts)


async def _said(
    run: Run, claims: Sequence[Claim], library: Library, language: str, known: Mapping[str, Verdict]
) -> Mapping[str, str]:
    """Return what a model says instead, by the id of the claim; in the call they are numbered."""
    shown, sources = listed([put(claim, library, anew=True) for claim in claims])
    wrong = [known[claim.id] for claim in claims]
    material = tuple(
        ClaimToRepair(**one.model_dump(), verdict=verdict.verdict, reason=verdict.reason)
        for one, verdict in zip(shown, wrong, strict=True)
    )
    request = RepairRequest(language=language, claims=material, sources=sources)
    saying = "claims that their sources do not bear were hedged, and not said anew"
    reply = await perform_or(run, ASK.of(request), Rewordings(), saying, closing=True)
    new = _by_number(reply)
    made = {claim.id: _sentence(new.get(one.id, ""), claim, language) for one, claim in zip(shown, claims, strict=True)}
    return {
        claim.id: text
        for claim in claims
        if (text := made[claim.id]) and not nameless(text, claim, library) and not repeats(text, claim)
    }


def _by_number(reply: Rewordings) -> dict[str, str]:
    """Return what is said by the number of the claim; what is said for several at once is for none."""
    return {named[0]: one.text for one in reply.claims if len(named := numbers(one.id)) == 1}


def _sentence(new: str, claim: Claim, language: str) -> str:
    """Return what can stand in a claim's place, without marks of the model's own; empty where it cannot."""
    old = body(claim.text)
    text = fitted(draft.read(new, {}), old)
    return "" if foreign(text, language_of(old) if language == "und" else language) else text
