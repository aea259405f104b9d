"""What rules can name against a claim, so that somebody who calls it supported has to show where it stands.

Only what a reader can check in the passages: a figure that stands in none of them, another in its very place, a word
that is denied or its opposite, what is said otherwise (`hints`), and hardly any word of the claim. None of it is a
proof, for passages say things in other words; but who says that they do can show the words.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

from leadline_plugins.checks.comparisons import inexact, other_since, turned
from leadline_plugins.checks.conflicts import Conflict, conflicts
from leadline_plugins.checks.derived import follows
from leadline_plugins.checks.figure import Figure, missing
from leadline_plugins.checks.figures import figures
from leadline_plugins.checks.hints import Hint, counted_in, hints, recounted, subject, told_causes, told_of_figures
from leadline_plugins.checks.judge import SAME_THING, reason
from leadline_plugins.checks.measure import overlap
from leadline_plugins.checks.negators import is_soft
from leadline_plugins.checks.opposites import opposed
from leadline_plugins.checks.passages import passage
from leadline_plugins.checks.periods import told_then
from leadline_plugins.checks.places import other_name
from leadline_plugins.checks.polarity import contrary, lacking
from leadline_plugins.checks.quotes import find_said, plain
from leadline_plugins.checks.verbatim import stands
from leadline_plugins.text import content_words
from leadline_plugins.text.language import language

_HARDLY = 0.1
"""The share of a claim's words below which a passage of its language would have to say it in wholly other words."""
_ENOUGH = 5
"""Content words of a claim of which a share tells something."""
_NONE_ENOUGH = 3
"""The same where the passage has none of them at all."""
_SMALL = 12
"""Up to here a number in words may be counted from what the passage lists: `three methods`."""
_FEWEST = 2
"""Content words that bear something; a figure does alone."""
_HELD = 1 / 3
"""The share of a claim's words that words for it hold where they cannot have the very one that is contested."""
_RECKONED = ("", "%")
"""Kinds of figures that nothing is converted into: what they do not come to they do not bear."""
_DIGIT = re.compile(r"\d")
_COUNTED = re.compile(
    r"\b(?:hal(?:f|ves|ved|ving)|thirds?|quarters?|fifths?|tenths?|doubl\w+|tripl\w+|twice|thrice|dozens?|score|decades?"
    r"|centur(?:y|ies)|all|none|every|both|single|once|pair|couple|majority|most|zero|nil|full|whole|entire)\b",
    re.IGNORECASE,
)
"""What says a number in words that are not read as a figure."""
_MARKS = " \t\n\"'“”„‘’«»「」『』…."
"""What stands about words that are quoted."""
_LEFT_OUT = re.compile(r"\s*[\[(]?(?:…|\.{3})[\])]?\s*")
"""What parts words that are quoted from several places."""


@dataclass(frozen=True)
class Cause:
    """What rules find against a claim, in words; `against` is what differs, none where hardly a word is shared."""

    reason: str
    claim: str = ""
    against: Conflict | Hint | None = None

    @property
    def certain(self) -> bool:
        """Whether the passages have another figure or name in its very place."""
        return isinstance(self.against, Conflict) and self.against.certain

    @property
    def denies(self) -> bool:
        """Whether it is a word that is denied, or its opposite, which other words may take back."""
        return isinstance(self.against, Conflict) and self.against.kind in ("negation", "opposite")

    def answered(self, words: str, passages: Iterable[str]) -> bool:
        """Return whether these words stand in passages and may bear the claim, in spite of what was found.

        They are held against the claim by the same rule: the very words that differ from it bear nothing. Words of
        several places are parted by `…`.
        """
        if len(set(content_words(words))) < _FEWEST and not _DIGIT.search(words):
            return False
        texts = tuple(passages)
        pieces = [piece for part in _LEFT_OUT.split(words) if (piece := part.strip(_MARKS))]
        stand = all(any(find_said(piece, text) for text in texts) for piece in pieces)
        return stand and (self.against is None or _bears(words, self.claim, self.against, "\n".join(texts)))


def _bears(words: str, claim: str, against: Conflict | Hint, text: str) -> bool:
    """Return whether words do away with a conflict: they speak of what is contested, and say nothing else of it."""
    held = passage(claim, words)
    if isinstance(against, Hint) and against.figures:
        told = not missing(figures(against.figures), figures(words))
        return told and all(one.figures != against.figures for one in told_of_figures(claim, words))
    if isinstance(against, Hint):
        again = hints(claim, held, words, words)
        return _speaks(words, claim) and counted_in(against.count, words) and against not in again
    match against.kind:
        case "figure":
            said = figures(claim)
            return all(_bear(words, one, text, said) for one in said if one.said == against.said)
        case "name":
            return not other_name(against.said, claim, (words,))
        case "negation" if against.word:
            return _denies_alike(words, claim) or (against.word in content_words(words) and not contrary(claim, words))
        case "negation":  # the passage has nothing of what is denied, and may say so without denying: `remained`
            denied = contrary(claim, words)
            return (_speaks(words, claim) or _speaks(words, against.rest)) and (denied is None or denied.bare)
        case "opposite":
            return _speaks(words, claim) and not opposed(claim, words)
        case "comparison" if against.found:
            rules = (turned, other_since, inexact)
            return _speaks(words, claim) and not any(rule(claim, words) for rule in rules)
        case "period":
            return told_then(claim, words)
        case "comparison":  # its own figures deny it, unless a passage puts it so too
            return _speaks(words, claim) and bool(find_said(against.said, words))


def _denies_alike(words: str, claim: str) -> bool:
    """Return whether words hold most of a claim and put in another way what one of the two denies, and deny no more.

    Whoever copies what the claim has turned round shows a negation that stands or does not, and no word for it.
    """
    if overlap(claim, passage(claim, words)).share < SAME_THING:
        return False
    return is_soft(words) != is_soft(claim)


def _bear(words: str, wanted: Figure, text: str, said: Sequence[Figure]) -> bool:
    """Return whether words may bear a figure: they have it, or what it is computed from, or none of its kind.

    One of another kind it may be converted from, and one that is said in words is not always read.
    """
    held = figures(words)
    if not missing([wanted], held) or follows(wanted, held, said):
        return True
    numbers = all(one.kind in _RECKONED for one in (wanted, *held))
    if (numbers and len(held) > 1) or any(_is_of_another(one, wanted) for one in held):
        return False
    unread = bool(held) or bool(_COUNTED.search(words)) or language(text) != "en"
    return unread and not any(one.kind == wanted.kind for one in held)


def _is_of_another(one: Figure, wanted: Figure) -> bool:
    """Return whether the same number is one of something else: 40 minutes and not 40 hours."""
    return one.value == wanted.value and bool(one.unit and wanted.unit) and one.unit != wanted.unit


def _speaks(words: str, claim: str) -> bool:
    """Return whether words have a good share of a claim."""
    return overlap(claim, passage(claim, words)).share >= _HELD


def cause(claim: str, text: str, *, shown: str = "", around: str = "") -> Cause | None:
    """Return what rules find against a claim; None where they find nothing that they could name.

    `text` is all that is cited for it, `shown` what a judge sees about that; what stands `around` may date it too.
    """
    if stands(claim, text):
        return None
    held, said = passage(claim, text), plain(claim)
    share = overlap(said, held).share
    alike = language(said) == language(held.text)
    absent = {
        one.said
        for one in missing(figures(said), figures(f"{shown}\n{text}"))
        if _counts(one) or recounted(one, said, text)
    }
    absent -= {one.said for one in figures(said) if _dated_around(one, held.best, around)}
    found = conflicts(said, held, f"{shown}\n{around}\n{text}")
    named = [one for one in found if _named(one, absent, same=alike and share >= SAME_THING) and not _of_gap(one, said)]
    if named:
        worst = max(named, key=lambda one: (one.certain, one.kind == "period", one.kind == "figure", one.contradicts))
        return Cause(reason(worst), said, worst)
    if alike and share >= SAME_THING and (other := next(hints(said, held, text, f"{shown}\n{text}"), None)):
        return Cause(other.reason, said, other)
    if other := next(told_of_figures(said, text), None):
        return Cause(other.reason, said, other)
    if alike and (other := next(told_causes(said, f"{shown}\n{text}"), None)):
        return Cause(other.reason, said, other)
    if alike and share < SAME_THING and (another := subject(said, held, f"{shown}\n{text}", alike=True)):
        return Cause(another.reason, said, another)
    if alike and share < _HARDLY and len(set(content_words(said))) >= (_ENOUGH if share else _NONE_ENOUGH):
        return Cause(f"{share:.0%} of the claim's words stand in the passages", said)
    return None


def _named(one: Conflict, absent: Container[str], *, same: bool) -> bool:
    """Return whether a conflict is one to be asked about; of names none but the surest, as they have many forms."""
    if one.certain:
        return True
    if one.kind == "period":
        return True
    return one.said in absent if one.kind == "figure" else same and one.kind in ("negation", "opposite", "comparison")


def _dated_around(figure: Figure, best: str, around: str) -> bool:
    """Return whether what stands around tells the year of a sentence that has none of its own."""
    if figure.kind != "year" or any(one.kind == "year" for one in figures(best)):
        return False
    return not missing([figure], figures(around))


def _of_gap(one: Conflict, claim: str) -> bool:
    """Return whether a figure only tells of what the source is said to lack: a year, or a bound as `over 65`."""
    if one.kind != "figure" or one.certain:
        return False
    told = [figure for part in lacking(claim) for figure in figures(part) if figure.said == one.said]
    return 0 < len(told) == claim.count(one.said) and all(figure.bound or figure.kind == "year" for figure in told)


def _counts(figure: Figure) -> bool:
    """Return whether it is a figure that a passage would hold: one in words, said roughly, it may hold in others."""
    return bool(_DIGIT.search(figure.said)) or (figure.certain and (bool(figure.unit) or figure.value > _SMALL))
