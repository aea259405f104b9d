"""The verdict on a claim and all texts cited for it together, by rule and by words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from leadline_plugins.checks.judge import Judgement, judge
from leadline_plugins.checks.passages import Span


@dataclass(frozen=True)
class Cited:
    """A text that is cited for a claim, and what stands around it; of a whole source with the `spans` of sentences."""

    text: str
    around: str = ""
    spans: Sequence[Span] | None = None


def each(claim: str, cited: Sequence[Cited]) -> list[Judgement]:
    """Return the verdict on a claim and each text."""
    return [judge(claim, one.text, spans=one.spans, around=one.around) for one in cited]


def together(claim: str, cited: Sequence[Cited], found: Sequence[Judgement]) -> Judgement:
    """Return the verdict on a claim and all texts, which was `found` for each.

    One that bears it is enough, and several may bear together what none bears alone. Where one bears it and another
    speaks against it, it is open.
    """
    bears = [one for one in found if one.verdict == "supported"]
    against = [one for one in found if one.verdict == "contradicted" and one.exact]
    if bears:
        best = max(bears, key=lambda one: (one.exact, one.score))
        reason = f"{best.reason}; another passage says otherwise: {against[0].reason}" if against else ""
        return replace(best, verdict="partial", reason=reason, confidence=0.5, exact=False) if against else best
    if len(found) == 1:
        return found[0]
    texts = [one.text if one.spans is None else held.passage.text for one, held in zip(cited, found, strict=True)]
    around = [one.around if one.spans is None else f"{one.around}\n{one.text}" for one in cited]
    return judge(claim, "\n".join(texts), around="\n".join(around))
