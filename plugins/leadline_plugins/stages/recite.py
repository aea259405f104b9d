"""Which other passage of the run bears a claim that those cited for it do not bear: judged as any citation is."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from leadline.computing import compute
from leadline.contracts import Run
from leadline.findings import Verdict
from leadline_plugins.checks.judge import judge
from leadline_plugins.stages.claims import Claim
from leadline_plugins.stages.library import Cited, Library
from leadline_plugins.stages.verdicts import judged
from leadline_plugins.text import content_set

_TRIED = 3
"""Passages held against a claim: those that share most of its words. A judgement takes milliseconds."""


async def recitable(run: Run, claims: Sequence[Claim], library: Library) -> tuple[dict[str, str], list[Verdict]]:
    """Return by the ids of claims the evidence that bears them, and all verdicts that were given to find it.

    What the measure proposes a model judges where there is one: nothing is cited because words alone agree.
    """
    found = await compute(bearers, claims, library.sound())
    trials = [
        replace(claim, id=f"{claim.id}.{found[claim.id]}", cite_ids=(found[claim.id],), beside=())
        for claim in claims
        if claim.id in found
    ]
    verdicts = await judged(run, trials, library)
    holds = {verdict.claim_id for verdict in verdicts if verdict.verdict == "supported"}
    return {name: other for name, other in found.items() if f"{name}.{other}" in holds}, verdicts


def bearers(claims: Sequence[Claim], evidence: Sequence[Cited]) -> Mapping[str, str]:
    """Return by the ids of claims the evidence that bears them best by rule and words, where any does."""
    index: dict[str, list[int]] = defaultdict(list)
    for place, item in enumerate(evidence):
        for word in content_set(item.evidence.quote):
            index[word].append(place)
    found = {claim.id: _bearer(claim, list(_near(claim, evidence, index))) for claim in claims}
    return {name: other for name, other in found.items() if other}


def _near(claim: Claim, evidence: Sequence[Cited], index: Mapping[str, list[int]]) -> Iterator[Cited]:
    """Yield the evidence that shares most words with a claim which does not cite it; of equals the first."""
    shared = Counter(place for word in content_set(claim.said) for place in index.get(word, ()))
    others = {place: count for place, count in shared.items() if evidence[place].evidence.id not in claim.cite_ids}
    for place in sorted(others, key=lambda place: (-others[place], place))[:_TRIED]:
        yield evidence[place]


def _bearer(claim: Claim, near: Sequence[Cited]) -> str:
    said = claim.said
    judgements = ((judge(said, other.evidence.quote, around=other.around), other) for other in near)
    fits = [(found.score, other.evidence.id) for found, other in judgements if found.verdict == "supported"]
    return max(fits, default=(0.0, ""))[1]
