"""The verdict on a claim and a text cited for it, without a model: exact where exactness is possible, else by words.

What contradicts a claim is exact where the passage has another figure or name in the very place of the claim's, and no
other way to read either. What supports it is exact only where the claim is the passage; for other wordings there is a
measure, and the verdict says that it is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from leadline.findings import VerdictKind
from leadline_plugins.checks.conflicts import Conflict, conflicts
from leadline_plugins.checks.marks import written
from leadline_plugins.checks.measure import Overlap, overlap
from leadline_plugins.checks.passages import Passage, Span, passage
from leadline_plugins.checks.quotes import plain
from leadline_plugins.checks.verbatim import stands
from leadline_plugins.text.language import language
from leadline_plugins.text.scripts import primary

SUPPORTED = 0.5
"""The probability from which a claim counts as supported."""
ENOUGH = 0.5
"""The share of a claim's words without which it never counts as supported."""
UNRELATED = 0.35
"""The share of a claim's words below which a text does not speak of it."""
SAME_THING = 0.5
"""The share from which a difference is a contradiction: below it, text and claim may speak of different things."""
BY_WORDS = "by words, without a model"


@dataclass(frozen=True)
class Judgement:
    """A verdict with its reason; `score` is the probability of support, `passage` what the claim was held against."""

    verdict: VerdictKind
    reason: str
    confidence: float
    score: float
    passage: Passage
    exact: bool = False
    """Whether a rule decided, so that there is nothing to ask a model."""


def judge(claim: str, text: str, *, spans: Sequence[Span] | None = None, around: str = "") -> Judgement:
    """Judge whether a text bears a claim. `spans` are its sentences, where they are known.

    `around` may lend names and figures that the text leaves out: its title, the sentences before it.
    """
    held = passage(claim, text, spans)
    if stands(claim, text):
        return Judgement("supported", "the claim stands in the passage, word for word", 1.0, 1.0, held, exact=True)
    claim = plain(claim)
    found = list(conflicts(claim, held, f"{around}\n{text}"))
    measured = overlap(claim, held)
    return _decided(claim, found, measured, held)


def _decided(claim: str, found: list[Conflict], measured: Overlap, held: Passage) -> Judgement:
    score = measured.probability()
    said = f"{measured.share:.0%} of the claim's words stand in the passage ({BY_WORDS})"
    if found and measured.share >= SAME_THING:
        return _against(found, measured.probability(against=True), held)
    if score >= SUPPORTED and measured.share >= ENOUGH:
        return Judgement("supported", said, score, score, held)
    lacking = "; ".join([lacks(measured), *map(reason, found)])
    if measured.share < UNRELATED:
        if not measured.figures and (other := _other_language(claim, held.text)):
            return Judgement("partial", f"{said}; {other}", 0.5, score, held)
        return Judgement("unsupported", said, 1 - score, score, held)
    return Judgement("partial", f"{said}; {lacking}", 0.5, score, held)


def _other_language(claim: str, text: str) -> str:
    """Return why words tell nothing of a claim and a text, where that is because of their languages; else nothing."""
    mine, theirs = primary(language(claim)), primary(language(text))
    if "und" in (mine, theirs) or mine == theirs:
        return ""
    return f"words cannot tell, as the claim is in another language ({mine}) than the passage ({theirs})"


def _against(found: list[Conflict], score: float, held: Passage) -> Judgement:
    """Return the verdict of the rules on a passage that speaks of the same thing."""
    worst = max(found, key=lambda one: (one.certain, one.contradicts))
    said = reason(worst) if worst.certain else f"{reason(worst)} ({BY_WORDS})"
    if worst.contradicts:
        return Judgement("contradicted", said, 0.7, score, held, exact=worst.certain)
    return Judgement("partial", said, 0.6, score, held)


def reason(conflict: Conflict) -> str:
    """Return a conflict in words."""
    match conflict.kind:
        case "negation":
            return f"one denies what the other says ({conflict.said})"
        case "period":
            return f"the claim tells it of {conflict.said}, the passage of {conflict.found}"
        case "figure":
            said = f"{conflict.sign}{written(conflict.said)}"
            return f"the claim says {said}, the passage {written(conflict.found) or 'does not'}"
        case "name":
            return f"the claim names {conflict.said}, the passage {conflict.found or 'does not'}"
        case "opposite":
            return f"the claim says {conflict.said}, the passage the opposite: {conflict.found}"
        case "comparison":
            says = f"the claim says {conflict.said}"
            return f"{says}, the passage {conflict.found}" if conflict.found else f"{says}: its own figures deny that"


def lacks(measured: Overlap) -> str:
    """Return what the passage lacks, in words."""
    counts = ((measured.names, "name"), (measured.figures, "figure"))
    kinds = [f"{count} {kind}{'s' * (count > 1)}" for count, kind in counts if count]
    return f"it lacks {' and '.join(kinds)}" if kinds else "it lacks the others"
