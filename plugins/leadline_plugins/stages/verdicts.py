"""Verdicts on the claims of a report: by rule, by words, and where there is a language model by that."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Literal

from leadline.computing import compute
from leadline.contracts import Run
from leadline.findings import Verdict
from leadline.task_kinds import TaskKind
from leadline_plugins import expect
from leadline_plugins.checks.judge import Judgement
from leadline_plugins.checks.quotes import plain
from leadline_plugins.prompts import template
from leadline_plugins.shrinking import fewer_claims
from leadline_plugins.stages.claims import Claim
from leadline_plugins.stages.degrade import perform_or, tell
from leadline_plugins.stages.hedges import hedged
from leadline_plugins.stages.holding import held
from leadline_plugins.stages.library import Cited, Library
from leadline_plugins.stages.putting import Put, listed, put
from leadline_plugins.stages.remarks import remark, tells_nothing
from leadline_plugins.tasks import ClaimVerdict, ClaimVerdicts, VerifyRequest

BATCH = 50
"""Claims a model is asked about in one call."""
_AND = re.compile(r"[,;，；、&]\s*(?:and\b)?|\band\b")
"""What stands between the claims of a list."""
_ID = re.compile(
    r"[\W_]*(?:(?:claims?|ids?|items?|statements?|numbers?|nos?|nr|c)[\W_]*){0,2}"
    r"0?([1-9]\d{0,3})(?:\s*(?:[-–—]|to)\s*([1-9]\d{0,3}))?[\W_]*",
    re.IGNORECASE,
)
"""A claim by its number, or a range of them: `claim 3`, `#3`, `1-3`. Other words may say otherwise: `all except 3`."""


def _unusable(request: VerifyRequest, reply: ClaimVerdicts) -> str:
    """Say what is wrong with a reply that judges nothing of what was asked."""
    ids = [claim.id for claim in request.claims]
    return "" if _by_number(reply).keys() & {*ids} else f"it judges none of the claims by their ids ({', '.join(ids)})"


ASK = TaskKind(
    "verify_claim",
    VerifyRequest,
    ClaimVerdicts,
    template("verify_claim"),
    shrink=fewer_claims,
    check=_unusable,
    expects=partial(expect.verify_claim, batch=BATCH),
)


async def judged(
    run: Run,
    claims: Sequence[Claim],
    library: Library,
    before: Sequence[Verdict] = (),
    *,
    settled: bool = False,
    anew: bool = False,
) -> list[Verdict]:
    """Return a verdict for each claim that cites known evidence, in order: by rule, and by a model on what those leave.

    What was judged before, or is said twice, is judged once; what a model was asked in vain is asked again, unless
    that is `settled`. Of what a model said `anew` it is asked even where the passage says it word for word: that may
    be of somebody else than the heading and the sentences around it.
    """
    known = {_key(verdict): verdict for verdict in before if settled or verdict.by != "words"}
    named = [(_name(claim), claim) for claim in claims]
    fresh: dict[Name, Claim] = {}
    for name, claim in named:
        if name not in known:
            fresh.setdefault(name, claim)
    if asked := list(fresh.values()):
        # A long report takes a second of reading: other runs go on meanwhile.
        verdicts = await compute(_by_rule, [(claim, library.cited(claim), library.beside(claim)) for claim in asked])
        if await run.by_chat(ASK.name):
            verdicts = await by_model(run, asked, verdicts, library, anew=anew)
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
    where = {"section_id": claim.section_id, "at": claim.run[0]}
    return verdict.model_copy(update={"id": f"{claim.id}.1", "claim": claim.shown, **where})


def by_rule(claims: Iterable[Claim], library: Library) -> list[Verdict]:
    """Return a verdict for each claim that cites known evidence, without a model."""
    return _by_rule((claim, library.cited(claim), library.beside(claim)) for claim in claims)


def _by_rule(claims: Iterable[tuple[Claim, list[Cited], list[Cited]]]) -> list[Verdict]:
    return [_of(claim, cited, beside) for claim, cited, beside in claims if cited]


def _of(claim: Claim, cited: list[Cited], beside: list[Cited]) -> Verdict:
    says = hedged(claim.text)
    found = None if says else held(claim, cited, beside)
    hedge = "the text itself says that the source does not confirm it"
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
) -> list[Verdict]:
    """Have a language model judge what rules left open; where it cannot, the verdicts stay as they are."""
    known = {claim.id: claim for claim in claims}
    open_ids = [one.claim_id for one in verdicts if one.by == "words" or (anew and one.verdict == "supported")]
    wanted = [put(known[name], library, anew=anew) for name in open_ids]
    replies = await run.each(list(_batches(wanted)), lambda batch: ask(run, batch))
    said = {name: one for reply in replies for name, one in reply.items()}
    return [
        _merged(one, known[name], library.cited(known[name]), said[name]) if (name := one.claim_id) in said else one
        for one in verdicts
    ]


def _batches(asked: Sequence[Put]) -> Iterator[Sequence[Put]]:
    """Yield as few batches as will do, all of one size: they are asked side by side, and the longest is waited for."""
    count = -(-len(asked) // BATCH)
    size = -(-len(asked) // count) if count else 1
    return (asked[at : at + size] for at in range(0, len(asked), size))


async def ask(run: Run, claims: Sequence[Put]) -> dict[str, ClaimVerdict]:
    """Return what the model says, by the id of the claim; what it says nothing of is asked for once more, alone."""
    said = await _said(run, claims)
    left = [claim for claim in claims if claim.id not in said]
    if not said or not left:  # a reply that was none is announced, and was asked for twice
        return said
    said |= await _said(run, left)
    if silent := sum(claim.id not in said for claim in left):
        await tell(run, f"the model said nothing of {silent} of {len(claims)} claims: those were judged by words")
    return said


async def _said(run: Run, claims: Sequence[Put]) -> dict[str, ClaimVerdict]:
    """Return the verdicts by the id of the claim; in the call claims are numbered, which costs a token each."""
    numbered = {str(number): claim for number, claim in enumerate(claims, start=1)}
    said = _by_number(await _reply(run, claims))
    return {numbered[number].id: one for number, one in said.items() if number in numbered}


def _by_number(reply: ClaimVerdicts) -> dict[str, ClaimVerdict]:
    """Return the verdicts by the number of the claim; what is said to be both is not supported."""
    sure = [ClaimVerdict(id=name, verdict="supported", confidence=reply.confidence) for name in reply.supported]
    return {number: one for one in (*sure, *reply.others) for number in numbers(one.id)}


def numbers(name: str) -> list[str]:
    """Return the numbers that an id, a list or a range of them names; none where any of it is unclear."""
    found: list[str] = []
    for part in _AND.split(name):
        match = _ID.fullmatch(part)
        if match is None:
            return []
        first, last = int(match[1]), int(match[2] or match[1])
        if not 0 <= last - first < BATCH:
            return []
        found += map(str, range(first, last + 1))
    return found


async def _reply(run: Run, batch: Sequence[Put]) -> ClaimVerdicts:
    shown, sources = listed(batch)
    task = ASK.of(VerifyRequest(claims=shown, sources=sources))
    saying = "claims were judged by words, not by the model"
    return await perform_or(run, task, ClaimVerdicts(), saying, closing=True)


def _merged(verdict: Verdict, claim: Claim, cited: Sequence[Cited], said: ClaimVerdict) -> Verdict:
    """Return what the model says; what it calls a remark counts as one where rules find nothing against that.

    That is what has no citation behind it, no figure and no name, and a remark by rule but for names that are cited.
    """
    kind = "unsupported" if said.verdict == "remark" else said.verdict
    told = {"verdict": kind, "reason": said.reason, "confidence": said.confidence, "by": "model"}
    quotes = "\n".join(item.evidence.quote for item in cited)
    passes = (not claim.own and tells_nothing(claim.text)) or bool(remark(claim.shown, quotes))
    return lowered(verdict.model_copy(update=told | {"remark": said.verdict == "remark" and passes}), cited)
