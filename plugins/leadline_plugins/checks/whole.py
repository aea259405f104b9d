"""What the verdicts on a claim come to: people count claims, of which some cite several passages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from leadline.findings import Verdict, VerdictKind

_DECIDES: Sequence[VerdictKind] = ("contradicted", "supported", "partial", "unsupported")
"""One passage against a claim is enough, and else one for it; what another does not say takes nothing from that."""


def whole(verdicts: Iterable[Verdict]) -> list[list[Verdict]]:
    """Return the verdicts by the claim they are on, in order, that first which decides over it."""
    claims: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        claims.setdefault(verdict.claim_id or verdict.id, []).append(verdict)
    return [sorted(group, key=lambda verdict: _DECIDES.index(verdict.verdict)) for group in claims.values()]


def deciding(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Return for each claim the verdict that decides over it."""
    return [group[0] for group in whole(verdicts)]
