"""Verdicts on the claims of a report: by rule, by words, and where there is a language model by that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from leadline.computing import compute
from leadline.contracts import Run
from leadline.findings import Verdict
from leadline_plugins.checks.causes import Cause
from leadline_plugins.checks.judge import Judgement
from leadline_plugins.checks.quotes import plain
from leadline_plugins.citing.checking import CheckedClaim
from leadline_plugins.stages.claims import Claim
from leadline_plugins.stages.hedges import denied, hedged
from leadline_plugins.stages.holding import held
from leadline_plugins.stages.library import Cited, Library
from leadline_plugins.stages.putting import Put, put
from leadline_plugins.stages.questioning import ASK, Asked, answers, causes, tell_left
from leadline_plugins.stages.remarks import remark, tells_nothing
from leadline_plugins.tasks.checking import ClaimVerdict

_HEDGED = "the text itself says that the source does not confirm it"
_DENIED = "the text itself says that the source says otherwise"


async def judged(
    run: Run,
    claims: Sequence[Claim],
    library: Library,
    before: Sequence[Verdict] = (),
    *,
    settled: bool = False,
    anew: bool = False,
    ahead: bool = False,
) -> list[Verdict]:
    """Return a verdict for each claim that cites known evidence, in order: by rule, and by a model on what those leave.

    What was judged before, or is said twice, is judged once; what a model was asked in vain is asked again, unless
    that is `settled`. Of what a model said `anew` it is asked even where the passage says it word for word: that may
    be of somebody else than the heading and the sentences around it. What is judged `ahead` is judged again where no
    model could be asked, so nothing is said of that.
    """
    known = {_key(verdict): verdict for verdict in before if settled or not is_open(verdict)}
    named = [(_name(claim), claim) for claim in claims]
    fresh: dict[Name, Claim] = {}
    for name, claim in named:
        if name not in known:
            fresh.setdefault(name, claim)
    if asked := list(fresh.values()):
        # A long report takes a second of reading: other runs go on meanwhile.
        verdicts = await compute(_by_rule, [(claim, library.cited(claim), library.beside(claim)) for claim in asked])
        if await run.by_chat(ASK.name):
            verdicts, why = await by_model(run, asked, verdicts, library, anew=anew)
            if not ahead:
                await tell_left(run, sum(map(is_open, verdicts)), len(claims), why)
        known |= {_key(verdict): verdict for verdict in verdicts}
    return [_placed(known[name], claim) for name, claim in named if name in known]


Name = tuple[str, str, tuple[str, ...], tuple[str, ...]]
"""What a verdict is on: what a claim stands under, its words, the evidence cited for it, and that beside it."""


def _name(claim: Claim) -> Name:
    return plain(claim.context.under), plain(claim.shown), claim.cite_ids, claim.beside


def _key(verdict: Verdict) -> Name:
    return plain(verdict.under), plain(verdict.claim), verdict.cites, verdict.beside


def _placed(verdict: Verdict, claim: Claim) -> Verdict:
    """Return a verdict as that on a claim of the same words."""
    where = {"section_id": claim.section_id, "at": claim.run[0], "own": claim.own}
    return verdict.model_copy(update={"id": f"{claim.id}.1", "claim": claim.shown, **where})


def by_rule(claims: Iterable[Claim], library: Library) -> list[Verdict]:
    """Return a verdict for each claim that cites known evidence, without a model."""
    return _by_rule((claim, library.cited(claim), library.beside(claim)) for claim in claims)


def _by_rule(claims: Iterable[tuple[Claim, list[Cited], list[Cited]]]) -> list[Verdict]:
    return [_of(claim, cited, beside) for claim, cited, beside in claims if cited]


def _of(claim: Claim, cited: list[Cited], beside: list[Cited]) -> Verdict:
    says = hedged(claim.text)
    found = None if says else held(claim, cited, beside)
    hedge = _DENIED if says and denied(claim.text) else _HEDGED
    return lowered(
        Verdict(
            id=f"{claim.id}.1",
            section_id=claim.section_id,
            evidence_id=cited[0].evidence.id,
            claim=claim.shown,
            verdict=found.verdict if found else "partial" if says else "unsupported",
            reason=found.reason if found else hedge if says else cited[0].problem,
            confidence=round(found.confidence, 2) if found else 1.0,
            by=_by(found),
            evidence_ids=claim.cite_ids,
            beside=claim.beside,
            own=claim.own,
            under=claim.context.under,
        ),
        cited,
    )


def lowered(verdict: Verdict, cited: Iterable[Cited]) -> Verdict:
    """Return a verdict as it is where a quote that is cited too does not stand in its source: partial at most."""
    problem = next((item.problem for item in cited if item.problem), "")
    if not problem or verdict.verdict != "supported":
        return verdict
    return verdict.model_copy(update={"verdict": "partial", "reason": f"{verdict.reason}; of one passage: {problem}"})


def _by(judged: Judgement | None) -> Literal["exact", "words"]:
    return "exact" if judged is None or judged.exact else "words"


async def by_model(
    run: Run, claims: Sequence[Claim], verdicts: Sequence[Verdict], library: Library, *, anew: bool = False
) -> tuple[list[Verdict], str]:
    """Have a language model judge what rules left open, and what they contradict, with what they found as a hint.

    Return the verdicts, which stay as they are where it cannot, and why it could not.
    """
    known = {claim.id: claim for claim in claims}
    wanted = [
        replace(put(known[one.claim_id], library, anew=anew), found=hint(one), held=one.verdict)
        for one in verdicts
        if is_open(one) or (anew and one.verdict == "supported")
    ]

    async def against(supported: Sequence[Put]) -> Mapping[str, Cause]:
        pairs = [(one, known[one.id], library) for one in supported]
        return await compute(causes, [_asked(*pair) for pair in pairs])

    said = await answers(run, wanted, against, lambda one: _passes(known[one.id], library))
    by_id = said.by_id
    merged = [
        _merged(one, library.cited(known[name]), by_id[name]) if (name := one.claim_id) in by_id else one
        for one in verdicts
    ]
    return merged, said.why


def _asked(put: Put, claim: Claim, library: Library) -> Asked:
    around = (item.around for item in (*library.cited(claim), *library.beside(claim)))
    return Asked(put, claim.said, "\n".join(around))


def is_open(verdict: Verdict | CheckedClaim) -> bool:
    """Return whether a model has something to say to it: a rule that contradicts is right in half of the cases."""
    return verdict.by == "words" or (verdict.by == "exact" and verdict.verdict == "contradicted")


def hint(verdict: Verdict | CheckedClaim) -> str:
    """Return what a model is told that a rule found, where that is more than a measure of words."""
    return verdict.reason if verdict.by == "exact" and verdict.verdict == "contradicted" else ""


def _passes(claim: Claim, library: Library) -> bool:
    """Return whether what a model calls a remark counts as one, as rules find nothing against that.

    That is what has no citation behind it, no figure and no name but those of its headings, and a remark by rule but
    for names that are cited.
    """
    quotes = "\n".join(item.evidence.quote for item in library.cited(claim))
    return (not claim.own and tells_nothing(claim.text, claim.context.under)) or bool(remark(claim.shown, quotes))


def _merged(verdict: Verdict, cited: Sequence[Cited], said: ClaimVerdict) -> Verdict:
    """Return what the model says."""
    mere = said.verdict == "remark"
    kind = "unsupported" if mere else said.verdict
    told = {"verdict": kind, "reason": said.reason, "confidence": said.confidence, "by": "model", "remark": mere}
    return lowered(verdict.model_copy(update=told), cited)
