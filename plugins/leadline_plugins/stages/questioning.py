"""Claims put to a language model: in batches, again where it said nothing, and where rules find something against it.

A model that only calls a claim supported erases nothing that rules can name: it is asked for the words that say so, and
those are held against the claim by the same rules.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from leadline.contracts import Run
from leadline.errors import CallFailed
from leadline.task_kinds import TaskKind
from leadline_plugins import expect
from leadline_plugins.checks.causes import Cause, cause
from leadline_plugins.checks.quotes import find_said
from leadline_plugins.prompts import template
from leadline_plugins.shrinking import fewer_claims
from leadline_plugins.stages.degrade import tell
from leadline_plugins.stages.numbered import by_number, named
from leadline_plugins.stages.putting import Put, listed
from leadline_plugins.stages.remarks import speaks_of_sources, tells_nothing
from leadline_plugins.tasks.checking import ClaimVerdict, ClaimVerdicts, VerifyRequest

BATCH = 50
"""Claims a model is asked about in one call."""
_FEW = 3
"""Claims called supported without words for it that are no habit."""
_ALSO = re.compile(
    r"\b(?:and|but|while|whereas|though|although|yet|however|because|since|despite)\b|[;:；：—]|但|而|不过|不過|可是|却|卻|因[为為]|由于|由於",
    re.IGNORECASE,
)
"""What joins to what the sources lack something that may be true or false of the world."""
_STATES = "it has a figure, a name or a citation of its own: judge it as a claim"
_REMARKED = "the model calls it a remark, but it counts as a claim"
_STOPS = " .。!！?？"
_SILENT = "it said nothing of them"
_SAID_SO = "a passage says these very words"
"""What is told of a claim that a passage has in it, where a model does not find it there."""
_UNSHOWN = "; the model calls it supported, and shows no words of a passage that say so"
_UNSETTLED = "; the model calls it supported by “{words}”, which does not settle it"


def _unusable(request: VerifyRequest, reply: ClaimVerdicts) -> str:
    """Say what is wrong with a reply that judges nothing of what was asked."""
    ids = [claim.id for claim in request.claims]
    return "" if named(reply) & {*ids} else f"it judges none of the claims by their ids ({', '.join(ids)})"


ASK = TaskKind(
    "verify_claim",
    VerifyRequest,
    ClaimVerdicts,
    template("verify_claim"),
    shrink=fewer_claims,
    check=_unusable,
    expects=partial(expect.verify_claim, batch=BATCH),
)


@dataclass(frozen=True)
class Said:
    """What a model says, by the id of the claim; `why` it says nothing of others."""

    by_id: Mapping[str, ClaimVerdict] = field(default_factory=dict)
    why: str = ""


@dataclass(frozen=True)
class Asked:
    """A claim as a model was shown it, as texts are compared with it, and what stands around its passages."""

    put: Put
    said: str
    around: str = ""


def causes(supported: Iterable[Asked]) -> Mapping[str, Cause]:
    """Return what rules find against claims, by their ids; nothing for those against which they find nothing."""
    found = ((one.put.id, _cause(one)) for one in supported)
    return {name: against for name, against in found if against}


def _cause(asked: Asked) -> Cause | None:
    passages = asked.put.passages
    about = (part for one in passages for part in one.about)
    return cause(asked.said, "\n".join(one.text for one in passages), shown="\n".join(about), around=asked.around)


async def answers(
    run: Run,
    claims: Sequence[Put],
    against: Callable[[Sequence[Put]], Awaitable[Mapping[str, Cause]]],
    passes: Callable[[Put], bool],
) -> Said:
    """Return the verdicts of a model; what it calls supported `against` what rules find is asked for once more.

    So is what it does not find in a passage that has the very words, and what it calls a remark that rules do not let
    `passes` as one. That call has these claims alone, and what was found. Who shows no words of a passage then is not
    believed, nor who calls it a remark again: the claim is what rules make of it, so that no model is worse than none.
    What rules are not sure of contradicts nothing then: it is partial.
    """
    said = await _in_batches(run, claims)
    by_id = {one.id: _reasoned(said.by_id[one.id], one.found) for one in claims if one.id in said.by_id}
    supported = [one for one in claims if one.id in by_id and by_id[one.id].verdict == "supported"]
    firm = [one for one in claims if one.id in by_id and by_id[one.id].verdict == "remark"]
    firm = [one for one in firm if not (passes(one) or _lacks(one))]
    found = await against([*supported, *firm]) if supported or firm else {}
    doubted = [one for one in supported if one.id in found and not _shows(by_id[one.id], one, found[one.id])]
    unseen = [one for one in claims if one.id in by_id and _unseen(by_id[one.id], one)]
    told = [(one, found[one.id].reason) for one in doubted]
    told += [(one, _SAID_SO) for one in unseen] + [(one, _STATES) for one in firm]
    again = await _in_batches(run, [replace(one, found=reason) for one, reason in told])
    settled = {one.id: _settled(one, found[one.id], again.by_id.get(one.id)) for one in doubted}
    stated = {one.id: _stated(one, found.get(one.id), again.by_id.get(one.id)) for one in firm}
    shown = {one.id: _settled(one, found[one.id], by_id[one.id]) for one in supported if one.id in found}
    await _tell_lazy(run, len(supported), len(by_id), sum(_UNSHOWN in one.reason for one in settled.values()))
    for one in unseen:  # who says nothing more of it leaves it to the rules
        del by_id[one.id]
    seen = {one.id: _seen(again.by_id[one.id]) for one in unseen if one.id in again.by_id}
    return Said({**by_id, **shown, **settled, **stated, **seen}, said.why)


async def _tell_lazy(run: Run, supported: int, judged: int, unshown: int) -> None:
    """Say that a model calls claims supported, whatever rules find, and cannot show where."""
    if unshown > _FEW and unshown * 10 >= judged:
        await tell(
            run,
            f"the model called {supported} of {judged} claims supported, {unshown} of them against what rules found "
            "and without words of a passage that say so: those count as the rules say, partial where they are not sure",
        )


async def tell_left(run: Run, left: int, claims: int, why: str) -> None:
    """Say of how many claims a model said nothing."""
    if left:
        await tell(run, f"{left} of {claims} claims were judged by words, not by the model ({why or _SILENT})")


def _lacks(put: Put) -> bool:
    """Return whether a claim only tells what the sources lack: a citation, which all have, makes it no other."""
    return speaks_of_sources(put.claim) and tells_nothing(put.claim, put.under) and not _ALSO.search(put.claim)


def _shows(said: ClaimVerdict | None, put: Put, found: Cause) -> bool:
    """Return whether somebody who calls a claim supported has shown words that say so."""
    texts = (part for one in put.passages for part in (one.text, *one.about))
    return said is not None and said.verdict == "supported" and found.answered(said.words, filter(None, texts))


def _unseen(said: ClaimVerdict, put: Put) -> bool:
    """Return whether a passage has the very words of a claim that a model does not find in it, or finds denied.

    Rules call such a claim supported, unless they find something against it too: few are looked for at all.
    """
    if said.verdict not in ("unsupported", "contradicted") or put.held != "supported":
        return False
    return any(find_said(put.claim.rstrip(_STOPS), one.text) for one in put.passages)


def _seen(said: ClaimVerdict) -> ClaimVerdict:
    """Return the second verdict on such a claim, which may stand where it is true of somebody else."""
    return said if said.reason.strip() else said.model_copy(update={"reason": _SAID_SO})


def _stated(put: Put, found: Cause | None, said: ClaimVerdict | None) -> ClaimVerdict:
    """Return the verdict on what a model called a remark, and rules a claim; of what the sources lack no bad one."""
    if said is None or said.verdict == "remark":
        bare = speaks_of_sources(put.claim) and put.held != "supported"
        return ClaimVerdict(id=put.id, verdict="partial" if bare else put.held, reason=_REMARKED)
    return _settled(put, found, said) if found else said


def _settled(put: Put, found: Cause, said: ClaimVerdict | None) -> ClaimVerdict:
    """Return the verdict on a claim against which rules found something.

    Where a model called it supported, only what is certain contradicts it: else a doubt of the rules would outweigh two
    looks of a model. A denial or an opposite, which is none, leaves it partial at worst.
    """
    if said is not None and said.verdict != "supported":
        return _reasoned(said, found.reason)
    if said is not None and _shows(said, put, found):
        return said.model_copy(update={"reason": f"a passage says “{said.words.strip()}”; by rule: {found.reason}"})
    unsure = put.held == "contradicted" and not found.certain
    kind = "partial" if unsure or put.held == "supported" or found.denies else put.held
    said_so = said.words.strip() if said is not None and _stand(said.words, put) else ""
    why = _UNSETTLED.format(words=said_so) if said_so else _UNSHOWN
    return ClaimVerdict(id=put.id, verdict=kind, reason=found.reason + why)


def _stand(words: str, put: Put) -> bool:
    """Return whether the words that a model shows stand in a passage, whatever they bear."""
    return bool(words.strip()) and any(find_said(words.strip(), one.text) for one in put.passages)


def _reasoned(said: ClaimVerdict, found: str) -> ClaimVerdict:
    """Return a verdict that has a reason, if need be that of the rules."""
    bare = said.verdict != "supported" and not said.reason.strip() and found
    return said.model_copy(update={"reason": f"by rule: {found}"}) if bare else said


async def _in_batches(run: Run, claims: Sequence[Put]) -> Said:
    replies = await run.each(list(_batches(claims)), lambda batch: ask(run, batch))
    why = "; ".join(dict.fromkeys(reply.why for reply in replies if reply.why))
    return Said({name: one for reply in replies for name, one in reply.by_id.items()}, why)


def _batches(asked: Sequence[Put]) -> Iterator[Sequence[Put]]:
    """Yield as few batches as will do, all of one size: they are asked side by side, and the longest is waited for."""
    count = -(-len(asked) // BATCH)
    size = -(-len(asked) // count) if count else 1
    return (asked[at : at + size] for at in range(0, len(asked), size))


async def ask(run: Run, claims: Sequence[Put]) -> Said:
    """Return what the model says; what it says nothing of is asked for once more, alone."""
    said = await _said(run, claims)
    left = [claim for claim in claims if claim.id not in said.by_id]
    if said.why or not left:  # a reply that was none was asked for twice
        return said
    more = await _said(run, left)
    silent = any(claim.id not in more.by_id for claim in left)
    return Said({**said.by_id, **more.by_id}, (more.why or _SILENT) if silent else "")


async def _said(run: Run, claims: Sequence[Put]) -> Said:
    """Return the verdicts by the id of the claim; in the call claims are numbered, which costs a token each.

    A budget that is spent does not cost the report, as what stands in the place of a model's verdict costs nothing.
    """
    numbered = {str(number): claim for number, claim in enumerate(claims, start=1)}
    shown, sources = listed(claims)
    try:
        reply = await run.perform(ASK.of(VerifyRequest(claims=shown, sources=sources)))
    except CallFailed as failed:
        return Said(why=failed.record.text)
    return Said({numbered[number].id: one for number, one in by_number(reply).items() if number in numbered})
