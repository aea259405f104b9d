"""How far the passages cited for a claim bear it all together, by rule and by words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from leadline_plugins.checks import several
from leadline_plugins.checks.judge import Judgement, judge
from leadline_plugins.checks.verbatim import stands as word_for_word
from leadline_plugins.stages.claims import Claim
from leadline_plugins.stages.library import Cited


def held(claim: Claim, cited: Sequence[Cited], beside: Sequence[Cited] = ()) -> Judgement | None:
    """Judge a claim by the quotes cited for it; None where none of them stands in its source.

    One passage that bears it is enough, and several may bear together what none bears alone. Where one bears it and
    another speaks against it, it is open. What is `beside` is asked where what is cited does not bear it.
    """
    sound = [item for item in cited if not item.problem]
    if not sound:
        return None
    if _taken_over(claim, sound):
        return _whole(judge(claim.said, _joined(sound), around=_around(sound)))
    found = _together(claim, sound)
    if found.verdict != "supported" and beside and not found.exact:
        more = _together(claim, [*sound, *beside])
        return more if more.verdict == "supported" else found
    return found


def _together(claim: Claim, sound: Sequence[Cited]) -> Judgement:
    cited = [several.Cited(item.evidence.quote, item.around) for item in sound]
    return several.together(claim.said, cited, several.each(claim.said, cited))


def _joined(sound: Sequence[Cited]) -> str:
    return "\n".join(item.evidence.quote for item in sound)


def _around(sound: Sequence[Cited]) -> str:
    return "\n".join(item.around for item in sound)


def _taken_over(claim: Claim, sound: Sequence[Cited]) -> bool:
    """Return whether a row is taken over cell by cell, with the one that tells what it is about."""
    said = (*claim.row.first, *claim.row.cells)
    return len(said) > 1 and all(any(word_for_word(cell, one.evidence.quote) for one in sound) for cell in said)


def _whole(found: Judgement) -> Judgement:
    reason = "each cell of the row stands in the passages, word for word"
    return replace(found, verdict="supported", reason=reason, confidence=1.0, score=1.0, exact=True)
