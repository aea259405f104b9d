"""The task of verification: judge claims, and correct those that their passages do not support."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from leadline.records import Claim, Evidence, Record, Source, Text, VerdictKind
from leadline.schemas import INTEGER, TEXT, list_of, object_of, one_of
from leadline.tasks import TaskKind
from leadline_plugins.prompting import estimates
from leadline_plugins.prompting.inputs import quoted, template
from leadline_plugins.prompting.numbered_passages import ShownSource, group_by_source, passages_text

# Maximum characters of passages and claims in one call: some 12,000 tokens.
CHARACTERS = 48_000


class ShownClaim(Record):
    """A claim with its number in the prompt, and the numbers of its passages."""

    number: int
    text: Text
    passages: tuple[int, ...]
    under: tuple[Text, ...] = ()
    before: Text = ""
    # The findings of other judges, or the fault that a correction is asked for.
    note: Text = ""


class ClaimsRequest(Record):
    """Claims with the passages that they cite."""

    language: str = ""
    sources: tuple[ShownSource, ...]
    claims: tuple[ShownClaim, ...]


class ClaimReply(Record):
    """The verdict on the claim with this number."""

    claim: int
    quote: Text = ""
    verdict: VerdictKind
    reason: Text = ""
    correction: Text = ""
    asserts: bool = True
    names: tuple[Text, ...] = ()


class SupportedReply(Record):
    """The number of a supported claim, and the quote that supports it."""

    claim: int
    quote: Text = ""


class VerdictsReply(Record):
    """The verdicts on all claims; supported claims, usually the most, need only a quote."""

    supported: tuple[SupportedReply, ...] = ()
    others: tuple[ClaimReply, ...] = ()
    # Numbers of the sentences that assert nothing.
    no_claims: tuple[int, ...] = ()
    # Names in all claims that have a number as a part.
    names: tuple[Text, ...] = ()

    @property
    def verdicts(self) -> tuple[ClaimReply, ...]:
        """All verdicts in one form; if a claim is in several lists, `others` wins, then `supported`."""
        supported = (ClaimReply(claim=reply.claim, quote=reply.quote, verdict="supported") for reply in self.supported)
        silent = (ClaimReply(claim=number, verdict="unsupported", asserts=False) for number in self.no_claims)
        by_claim = {reply.claim: reply for reply in (*silent, *supported, *self.others)}
        return tuple(reply.model_copy(update={"names": self.names}) for reply in by_claim.values())


def claims_request(
    claims: Sequence[Claim], passages: Sequence[Evidence], sources: Sequence[Source], language: str = ""
) -> ClaimsRequest:
    """Return the inputs of a task, with claims and passages numbered from 1."""
    cited = {name for claim in claims for name in claim.evidence_ids}
    groups = group_by_source([passage for passage in passages if passage.id in cited], sources)
    numbers = {passage.id: passage.number for group in groups for passage in group.passages}
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


def batches(claims: Sequence[Claim], passages: Sequence[Evidence], at_most: int) -> Iterator[list[Claim]]:
    """Yield batches of claims for single calls, of similar size: the model quotes for each claim of its batch."""
    limit = math.ceil(len(claims) / math.ceil(len(claims) / at_most)) if claims else at_most
    sizes = {passage.id: len(passage.quote) + len(passage.lead) for passage in passages}
    batch: list[Claim] = []
    seen: set[str] = set()
    size = 0
    for claim in claims:
        added = len(claim.text) + sum(sizes.get(name, 0) for name in {*claim.evidence_ids} - seen)
        if batch and (len(batch) >= limit or size + added > CHARACTERS):
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
    shown = zip(inputs.claims, (None, *inputs.claims), strict=False)
    claims = "\n\n".join("\n".join(_lines(claim, previous)) for claim, previous in shown)
    return "\n\n".join([*language, passages_text(inputs.sources), "# Claims", claims])


def _lines(claim: ShownClaim, previous: ShownClaim | None) -> Iterator[str]:
    """Yield the lines of a claim; what the claim before it already shows is left out."""
    yield f"Claim {claim.number}: {quoted(claim.text)}"
    yield f"cites: {''.join(f'[{number}]' for number in claim.passages) or 'nothing'}"
    if claim.under and (previous is None or claim.under != previous.under):
        yield f"under: {quoted(' > '.join(claim.under))}"
    if claim.before and (previous is None or claim.before != previous.text):
        yield f"after: {quoted(claim.before)}"
    if claim.note:
        yield f"note: {quoted(claim.note)}"


def _halved(inputs: ClaimsRequest) -> ClaimsRequest | None:
    """Return the request with the first half of its claims; None for a single claim."""
    claims = inputs.claims[: len(inputs.claims) // 2]
    if not claims:
        return None
    cited = {number for claim in claims for number in claim.passages}
    groups = (
        group.model_copy(update={"passages": tuple(passage for passage in group.passages if passage.number in cited)})
        for group in inputs.sources
    )
    return inputs.model_copy(update={"claims": claims, "sources": tuple(group for group in groups if group.passages)})


def _reply_fault(inputs: ClaimsRequest, reply: VerdictsReply) -> str:
    """Return the fault of a reply that concerns none of the claims; empty for others."""
    known = {claim.number for claim in inputs.claims}
    return "" if any(v.claim in known for v in reply.verdicts) else "it is about none of the claims by number"


VERIFY_TASK = TaskKind(
    "verify_claim",
    ClaimsRequest,
    VerdictsReply,
    template("verify_claim"),
    shrink=_halved,
    check=_reply_fault,
    schema=object_of(
        supported=list_of(object_of(claim=INTEGER, quote=TEXT)),
        others=list_of(
            object_of(
                claim=INTEGER,
                verdict=one_of("partial", "contradicted", "unsupported"),
                reason=TEXT,
                quote=TEXT,
                correction=TEXT,
            )
        ),
        no_claims=list_of(INTEGER),
        names=list_of(TEXT),
    ),
    example="""{"supported": [{"claim": 1, "quote": "opened on 3 May 1998"}],
 "others": [
  {"claim": 2, "verdict": "contradicted", "reason": "40,000 cars, not 60,000", "quote": "carries 40,000 cars a day",
   "correction": "The bridge carries 40,000 cars a day."},
  {"claim": 3, "verdict": "unsupported", "reason": "no passage gives the cost", "quote": "", "correction": ""}],
 "no_claims": [4],
 "names": ["PostgreSQL 15"]}""",
    show=_as_text,
    expects=estimates.verify_claim,
)
