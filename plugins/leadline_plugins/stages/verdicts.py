"""Verdicts on the claims of a report: by rule, by words, and where there is a language model by that."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
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
from leadline_plugins.stages.claims import Cited, Claim, Library, held
from leadline_plugins.stages.degrade import perform_or, tell
from leadline_plugins.stages.hedges import hedged
from leadline_plugins.tasks import ClaimToVerify, ClaimVerdict, ClaimVerdicts, VerifyRequest

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
    run: Run, claims: Sequence[Claim], library: Library, before: Sequence[Verdict] = (), *, settled: bool = False
) -> list[Verdict]:
    """Return a verdict for each citation of each claim, in order: by rule, and what rules leave open by a model.

    What was judged before, or is said twice, is judged once; what a model was asked in vain is asked again, unless
    that is `settled`.
    """
    known = _by_claim(before)
    if not settled:
        known = {name: group for name, group in known.items() if all(one.by != "words" for one in group)}
    named = [(_name(claim, library), claim) for claim in claims]
    fresh: dict[tuple[str, ...], Claim] = {}
    for name, claim in named:
        if name not in known:
            fresh.setdefault(name, claim)
    if asked := list(fresh.values()):
        # A long report takes a second of reading: other runs go on meanwhile.
        verdicts = await compute(_by_rule, [(claim, library.cited(claim)) for claim in asked])
        if await run.by_chat(ASK.name):
            verdicts = await by_model(run, asked, verdicts, library)
        known |= _by_claim(verdicts)
    return [verdict for name, claim in named for verdict in _placed(known.get(name, ()), claim)]


def _name(claim: Claim, library: Library) -> tuple[str, ...]:
    """Return what a verdict is on: the words of a claim, and the evidence cited for it."""
    return (plain(claim.text), *(item.evidence.id for item in library.cited(claim)))


def _by_claim(verdicts: Iterable[Verdict]) -> dict[tuple[str, ...], tuple[Verdict, ...]]:
    """Return the verdicts of each claim by its name."""
    groups = (tuple(group) for _, group in groupby(verdicts, lambda verdict: verdict.claim_id))
    return {(group[0].claim, *(verdict.evidence_id for verdict in group)): group for group in groups}


def _placed(verdicts: Iterable[Verdict], claim: Claim) -> Iterator[Verdict]:
    """Yield the verdicts as those on a claim."""
    for place, verdict in enumerate(verdicts, start=1):
        yield verdict.model_copy(update={"id": f"{claim.id}.{place}", "section_id": claim.section_id})


def by_rule(claims: Iterable[Claim], library: Library) -> list[Verdict]:
    """Return a verdict for each citation of each claim that points at known evidence, without a model."""
    return _by_rule([(claim, library.cited(claim)) for claim in claims])


def _by_rule(claims: Iterable[tuple[Claim, list[Cited]]]) -> list[Verdict]:
    return [verdict for claim, cited in claims for verdict in _of(claim, cited)]


def _of(claim: Claim, cited: list[Cited]) -> Iterator[Verdict]:
    found = {} if hedged(claim.text) else held(claim, cited)
    for place, item in enumerate(cited, start=1):
        judged = found.get(item.evidence.id)
        yield Verdict(
            id=f"{claim.id}.{place}",
            section_id=claim.section_id,
            evidence_id=item.evidence.id,
            claim=plain(claim.text),
            verdict=judged.verdict if judged else "unsupported" if item.problem else "partial",
            reason=judged.reason
            if judged
            else item.problem or "the text itself says that the source does not confirm it",
            confidence=round(judged.confidence, 2) if judged else 1.0,
            by=_by(judged),
        )


def _by(judged: Judgement | None) -> Literal["exact", "words"]:
    return "exact" if judged is None or judged.exact else "words"


async def by_model(run: Run, claims: Sequence[Claim], verdicts: Sequence[Verdict], library: Library) -> list[Verdict]:
    """Have a language model judge what rules left open; where it cannot, the verdicts stay as they are."""
    known = {claim.id: claim for claim in claims}
    open_ids = list(dict.fromkeys(verdict.claim_id for verdict in verdicts if verdict.by == "words"))
    wanted = [asked(known[name], library) for name in open_ids]
    replies = await run.each(list(_batches(wanted)), lambda batch: ask(run, batch))
    said = {name: one for reply in replies for name, one in reply.items()}
    return [_merged(verdict, said.get(verdict.claim_id)) for verdict in verdicts]


def _batches(asked: Sequence[ClaimToVerify]) -> Iterator[Sequence[ClaimToVerify]]:
    """Yield as few batches as will do, all of one size: they are asked side by side, and the longest is waited for."""
    count = -(-len(asked) // BATCH)
    size = -(-len(asked) // count) if count else 1
    return (asked[at : at + size] for at in range(0, len(asked), size))


async def ask(run: Run, claims: Sequence[ClaimToVerify]) -> dict[str, ClaimVerdict]:
    """Return what the model says, by the id of the claim; what it says nothing of is asked for once more, alone."""
    said = await _said(run, claims)
    left = [claim for claim in claims if claim.id not in said]
    if not said or not left:  # a reply that was none is announced, and was asked for twice
        return said
    said |= await _said(run, left)
    if silent := sum(claim.id not in said for claim in left):
        await tell(run, f"the model said nothing of {silent} of {len(claims)} claims: those were judged by words")
    return said


async def _said(run: Run, claims: Sequence[ClaimToVerify]) -> dict[str, ClaimVerdict]:
    """Return the verdicts by the id of the claim; in the call claims are numbered, which costs a token each."""
    numbered = {str(number): claim for number, claim in enumerate(claims, start=1)}
    batch = [claim.model_copy(update={"id": number}) for number, claim in numbered.items()]
    said = _by_number(await _reply(run, batch))
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


async def _reply(run: Run, batch: Sequence[ClaimToVerify]) -> ClaimVerdicts:
    task = ASK.of(VerifyRequest(claims=tuple(batch)))
    saying = "claims were judged by words, not by the model"
    return await perform_or(run, task, ClaimVerdicts(), saying, closing=True)


def asked(claim: Claim, library: Library) -> ClaimToVerify:
    """Return a claim with the passages it cites, as a model is shown it."""
    sound = [item for item in library.cited(claim) if not item.problem]
    return ClaimToVerify(
        id=claim.id,
        claim=plain(claim.text),
        passages=tuple(item.evidence.quote for item in sound),
        around="\n".join(item.around.split("\n", 1)[0] for item in sound),
    )


def _merged(verdict: Verdict, said: ClaimVerdict | None) -> Verdict:
    """Return what the model says, where only words were counted; what was exact stays."""
    if said is None or verdict.by != "words":
        return verdict
    told = {"verdict": said.verdict, "reason": said.reason, "confidence": said.confidence, "by": "model"}
    return verdict.model_copy(update=told)
