"""The tasks of verification: judge claims, and reword those that their passages do not support."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from leadline.records import Claim, Evidence, Record, Source, Text, VerdictKind
from leadline.schemas import INTEGER, TEXT, list_of, object_of, one_of
from leadline.task_kinds import TaskKind
from leadline_plugins import expect
from leadline_plugins.prompting.passages import ShownSource, as_text, shown
from leadline_plugins.prompts import template

BATCH = 16
"""Claims of one call at most: the model quotes for each, and readers wait for the longest reply."""
CHARACTERS = 24_000
"""Characters of passages and claims of one call: some 6,000 tokens."""


class ShownClaim(Record):
    """A claim with its number in the prompt and the numbers of the passages that it cites."""

    number: int
    text: Text
    passages: tuple[int, ...]
    under: tuple[Text, ...] = ()
    before: Text = ""
    note: Text = ""
    """What other judges found, or in a repair what is wrong."""


class ClaimsRequest(Record):
    """Claims with the passages that they cite, for judging or rewording."""

    language: str = ""
    sources: tuple[ShownSource, ...]
    claims: tuple[ShownClaim, ...]


class ClaimReply(Record):
    """What a model decided of the claim with this number."""

    claim: int
    quote: Text = ""
    verdict: VerdictKind
    reason: Text = ""


class SupportedReply(Record):
    """The number of a supported claim with the words that support it."""

    claim: int
    quote: Text = ""


class VerdictsReply(Record):
    """What a model decided of all claims: most are supported, and need no more than the words."""

    supported: tuple[SupportedReply, ...] = ()
    others: tuple[ClaimReply, ...] = ()

    @property
    def verdicts(self) -> tuple[ClaimReply, ...]:
        """The decisions in one form; of a claim in both lists the one that does not support it."""
        others = {one.claim for one in self.others}
        supported = (
            ClaimReply(claim=one.claim, quote=one.quote, verdict="supported")
            for one in self.supported
            if one.claim not in others
        )
        return (*supported, *self.others)


class Reworded(Record):
    """A new wording of the claim with this number."""

    claim: int
    text: Text


class RewordedReply(Record):
    """The claims that could be reworded."""

    claims: tuple[Reworded, ...] = ()


def inputs_of(
    claims: Sequence[Claim], passages: Sequence[Evidence], sources: Sequence[Source], language: str = ""
) -> ClaimsRequest:
    """Return the inputs of a task: claims and passages are numbered from 1."""
    cited = {name for claim in claims for name in claim.evidence_ids}
    groups = shown([one for one in passages if one.id in cited], sources)
    numbers = {one.id: one.number for group in groups for one in group.passages}
    return ClaimsRequest(
        language=language,
        sources=groups,
        claims=tuple(
            ShownClaim(
                number=number,
                text=claim.text,
                passages=tuple(sorted(numbers[name] for name in claim.evidence_ids if name in numbers)),
                under=claim.under,
                before=claim.before,
                note="; ".join(claim.findings),
            )
            for number, claim in enumerate(claims, start=1)
        ),
    )


def batches(claims: Sequence[Claim], passages: Sequence[Evidence]) -> Iterator[list[Claim]]:
    """Yield the claims in the batches of single calls, of about the same number."""
    most = math.ceil(len(claims) / math.ceil(len(claims) / BATCH)) if claims else BATCH
    sizes = {one.id: len(one.quote) + len(one.lead) for one in passages}
    batch: list[Claim] = []
    seen: set[str] = set()
    size = 0
    for claim in claims:
        added = len(claim.text) + sum(sizes.get(name, 0) for name in {*claim.evidence_ids} - seen)
        if batch and (len(batch) >= most or size + added > CHARACTERS):
            yield batch
            batch, seen, size = [], set(), 0
            added = len(claim.text) + sum(sizes.get(name, 0) for name in claim.evidence_ids)
        batch.append(claim)
        seen |= {*claim.evidence_ids}
        size += added
    if batch:
        yield batch


def _as_text(inputs: ClaimsRequest) -> str:
    language = [f"Language of the report: {inputs.language}"] if inputs.language else []
    claims = "\n\n".join("\n".join(_lines(one)) for one in inputs.claims)
    return "\n\n".join([*language, as_text(inputs.sources), "# Claims", claims])


def _lines(claim: ShownClaim) -> Iterator[str]:
    yield f"Claim {claim.number}: {claim.text}"
    yield f"cites: {''.join(f'[{number}]' for number in claim.passages)}"
    if claim.under:
        yield f"under: {' > '.join(claim.under)}"
    if claim.before:
        yield f"after: {claim.before}"
    if claim.note:
        yield f"note: {claim.note}"


def _fewer(inputs: ClaimsRequest) -> ClaimsRequest | None:
    """Return the first half of the claims with their passages; None for a single one."""
    claims = inputs.claims[: len(inputs.claims) // 2]
    if not claims:
        return None
    kept = {number for claim in claims for number in claim.passages}
    groups = (
        group.model_copy(update={"passages": tuple(one for one in group.passages if one.number in kept)})
        for group in inputs.sources
    )
    return inputs.model_copy(update={"claims": claims, "sources": tuple(one for one in groups if one.passages)})


def _unusable(inputs: ClaimsRequest, reply: Any) -> str:
    """Return what is wrong with a reply that is about none of the claims."""
    found = reply.verdicts if isinstance(reply, VerdictsReply) else reply.claims
    known = {one.number for one in inputs.claims}
    needed = isinstance(reply, VerdictsReply) or found
    return "" if not needed or any(one.claim in known for one in found) else "it is about none of the claims by number"


VERIFY = TaskKind(
    "verify_claim",
    ClaimsRequest,
    VerdictsReply,
    template("verify_claim"),
    shrink=_fewer,
    check=_unusable,
    schema=object_of(
        supported=list_of(object_of(claim=INTEGER, quote=TEXT)),
        others=list_of(
            object_of(claim=INTEGER, quote=TEXT, verdict=one_of("partial", "contradicted", "unsupported"), reason=TEXT)
        ),
    ),
    example="""{"supported": [{"claim": 1, "quote": "opened on 3 May 1998"}],
 "others": [
  {"claim": 2, "quote": "carries 40,000 cars a day", "verdict": "contradicted", "reason": "40,000 cars, not 60,000"},
  {"claim": 3, "quote": "", "verdict": "unsupported", "reason": "no passage gives the cost"}]}""",
    show=_as_text,
    expects=partial(expect.verify_claim, batch=BATCH),
)
REPAIR = TaskKind(
    "repair_claim",
    ClaimsRequest,
    RewordedReply,
    template("repair_claim"),
    shrink=_fewer,
    check=_unusable,
    schema=object_of(claims=list_of(object_of(claim=INTEGER, text=TEXT))),
    example='{"claims": [{"claim": 1, "text": "The bridge carries 40,000 cars a day."}]}',
    show=_as_text,
    expects=expect.repair_claim,
)
