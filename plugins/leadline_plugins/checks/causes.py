"""What rules can name against a claim, so that somebody who calls it supported has to show where it stands.

Only what a reader can check in the passages: a figure that stands in none of them, another in its very place, a word
that is denied or its opposite, what is said otherwise (`hints`), and hardly any word of the claim. None of it is a
proof, for passages say things in other words; but who says that they do can show the words.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from dataclasses import dataclass

from leadline_plugins.checks.conflicts import Conflict, conflicts
from leadline_plugins.checks.figure import Figure, missing
from leadline_plugins.checks.figures import figures
from leadline_plugins.checks.hints import hint
from leadline_plugins.checks.judge import SAME_THING, reason
from leadline_plugins.checks.measure import overlap
from leadline_plugins.checks.passages import passage
from leadline_plugins.checks.quotes import find, plain
from leadline_plugins.checks.verbatim import stands
from leadline_plugins.text import content_words
from leadline_plugins.text.language import language

_HARDLY = 0.1
"""The share of a claim's words below which a passage of its language would have to say it in wholly other words."""
_ENOUGH = 5
"""Content words of a claim of which a share tells something."""
_SMALL = 12
"""Up to here a number in words may be counted from what the passage lists: `three methods`."""
_FEWEST = 2
"""Content words that bear something; a figure does alone."""
_DIGIT = re.compile(r"\d")
_COUNTED = re.compile(
    r"\b(?:hal(?:f|ves|ved|ving)|thirds?|quarters?|fifths?|tenths?|doubl\w+|tripl\w+|twice|thrice|dozens?|score|decades?"
    r"|centur(?:y|ies)|all|none|every|both|single|once|pair|couple|majority|most|zero|nil|full|whole|entire)\b",
    re.IGNORECASE,
)
"""What says a number in words that are not read as a figure."""
_MARKS = " \t\n\"'“”„‘’«»「」『』…."
"""What stands about words that are quoted."""


@dataclass(frozen=True)
class Cause:
    """What rules find against a claim, in words, and whether it is about a figure."""

    reason: str
    figure: bool = False

    def answered(self, words: str, passages: Iterable[str]) -> bool:
        """Return whether these words stand in a passage and may bear the claim: of a figure they have one."""
        if len(set(content_words(words))) < _FEWEST and not _DIGIT.search(words):
            return False
        counts = not self.figure or bool(figures(words)) or bool(_COUNTED.search(words)) or language(words) != "en"
        return counts and any(find(words.strip(_MARKS), text) for text in passages)


def cause(claim: str, text: str, *, shown: str = "", around: str = "") -> Cause | None:
    """Return what rules find against a claim; None where they find nothing that they could name.

    `text` is all that is cited for it, `shown` what a judge sees about that; what stands `around` may date it too.
    """
    if stands(claim, text):
        return None
    held, said = passage(claim, text), plain(claim)
    share = overlap(said, held).share
    alike = language(said) == language(held.text)
    absent = {one.said for one in missing(figures(said), figures(f"{shown}\n{text}")) if _counts(one)}
    found = conflicts(said, held, f"{shown}\n{around}\n{text}")
    named = [one for one in found if _named(one, absent, same=alike and share >= SAME_THING)]
    if named:
        worst = max(named, key=lambda one: (one.certain, one.kind == "figure", one.contradicts))
        return Cause(reason(worst), figure=worst.kind == "figure")
    if alike and share >= SAME_THING and (other := hint(said, held, text, f"{shown}\n{text}")):
        return Cause(other.reason, figure=other.figure)
    if alike and share < _HARDLY and len(set(content_words(said))) >= _ENOUGH:
        return Cause(f"{share:.0%} of the claim's words stand in the passages")
    return None


def _named(one: Conflict, absent: Container[str], *, same: bool) -> bool:
    """Return whether a conflict is one to be asked about; of names none but the surest, as they have many forms."""
    if one.certain:
        return True
    return one.said in absent if one.kind == "figure" else same and one.kind in ("negation", "opposite", "comparison")


def _counts(figure: Figure) -> bool:
    """Return whether it is a figure that a passage would hold: one in words, said roughly, it may hold in others."""
    return bool(_DIGIT.search(figure.said)) or (figure.certain and (bool(figure.unit) or figure.value > _SMALL))
