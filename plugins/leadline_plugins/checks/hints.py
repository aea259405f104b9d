"""What a passage does not say as a claim says it: hints for what to ask a judge about, too weak to judge by.

What is only expected told as a fact, a cause of which nothing is said, a subject that is another one's, a figure of
one thing told of another, and what is true of most told of all: each word of such a claim may stand in its passages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from leadline_plugins.checks.expectations import only_expected
from leadline_plugins.checks.extents import other_extent
from leadline_plugins.checks.figure import Figure, same
from leadline_plugins.checks.figures import figures
from leadline_plugins.checks.manner import only_bounded, only_points
from leadline_plugins.checks.marks import marked
from leadline_plugins.checks.naming import coded, missing_names, proper_names
from leadline_plugins.checks.pairings import exchanged
from leadline_plugins.checks.passages import Passage
from leadline_plugins.checks.places import other_name
from leadline_plugins.checks.reasons import no_such_cause
from leadline_plugins.text import content_set, content_words
from leadline_plugins.text.stopwords import word_set
from leadline_plugins.text.tokens import CJK, fold

_GLUED = re.compile(rf"[A-Za-z0-9][{CJK}]|[{CJK}][A-Za-z0-9]")
"""Where a name without spaces goes on as a sentence: Siemensの売上高は450億円."""
_LEAD = 4
"""Words of a sentence before what it speaks of."""
_JOINING = word_set("of in on at for over by from with after before during to under about as when while if")
_CLAUSE = re.compile(r"[,.;:()，。；：（）、\n]")
_NOUN = re.compile(r"[\s-]?(?P<noun>[^\W\d_]+)")
_COINED = re.compile(r"[a-zß-ÿ][A-ZÀ-Þ]")
"""What only the name of a product has: RainbowCake."""
_FEW = 3
"""Up to here a number in words may be counted from what a passage lists."""
_KNOWN = re.compile(r"\b(?:the|these|those|all|his|her|its|their|our|of|other)\s+$", re.IGNORECASE)
"""What tells that only some of all are counted, of which was told before."""
_DIGIT = re.compile(r"\d")
_NEXT = 24
"""Characters behind a figure in which stands what it counts, or before an aim what became of it."""


@dataclass(frozen=True)
class Hint:
    """What is said otherwise, in words; `count` is what the claim counts, where the passages count other things so.

    `figures` are those of the claim of which the passages say something else, in whichever language.
    """

    reason: str
    count: str = ""
    figures: str = ""


@dataclass(frozen=True)
class _Count:
    """A figure and what it counts: as it is said, the first word, and those near it."""

    figure: Figure
    said: str
    noun: str
    near: frozenset[str]


def counted_in(said: str, words: str) -> bool:
    """Return whether words count the same thing with the same figure: `44 degrees`."""
    held = list(_counted(words))
    return all(
        any(same(one.figure, other.figure) and one.noun in other.near for other in held) for one in _counted(said)
    )


def hints(claim: str, passage: Passage, text: str, around: str) -> Iterator[Hint]:
    """Yield hints against a claim whose passage speaks of the same thing.

    `text` is all that is cited, with `around` all that a judge sees of it.
    """
    if counts := _other_count(claim, text):
        yield Hint(f"the claim says {counts[0]}, the passages {counts[1]}", counts[0])
    if said := only_expected(claim, passage.best):
        yield Hint(f"the claim tells as a fact what the passage says with “{said}”")
    yield from told_causes(claim, around, alone=False)
    if pair := other_extent(claim, passage.best):
        yield Hint(f"the claim says it of “{pair[0]}”, the passage of “{pair[1]}”")
    if other := subject(claim, passage, around):
        yield other
    yield from _other_variant(claim, passage)


def subject(claim: str, passage: Passage, around: str, *, alike: bool = False) -> Hint | None:
    """Return the hint that a claim's subject stands nowhere, and another leads the passage; `alike`: one of its kind.

    So much may be said of a claim that shares few words with its passage: the other's are not its own.
    """
    pair = _other_subject(claim, passage.best, around)
    if pair is None or (alike and _shape(pair[0]) != _shape(pair[1])):
        return None
    return Hint(f"the claim says it of {pair[0]}, the passage of {pair[1]}")


def _other_variant(claim: str, passage: Passage) -> Iterator[Hint]:
    """Yield for each name with a number the one that stands in its place, though its own stands elsewhere: GPT-4."""
    for name in proper_names(claim) if _DIGIT.search(claim) else ():
        if (
            _DIGIT.search(name)
            and not _GLUED.search(name)
            and (other := other_name(name, claim, passage.parts, variant=True))
        ):
            yield Hint(f"the claim says it of {name}, the passage of {other}")


def recounted(figure: Figure, claim: str, text: str) -> bool:
    """Return whether a text counts the same thing as a claim with another figure than one that is said in words."""
    if figure.value <= _FEW:
        return False
    nouns = {one.noun for one in _counted(claim) if one.figure == figure and not _KNOWN.search(claim, 0, figure.at)}
    return bool(nouns) and any(one.noun in nouns for one in _counted(text))


def _shape(name: str) -> tuple[bool, bool, int]:
    """Return how a name is made: a code, a word with a capital within, and of how many words."""
    return coded(name), bool(_COINED.search(name)), len(name.split())


def told_causes(claim: str, text: str, *, alone: bool = True) -> Iterator[Hint]:
    """Yield hints against the causes that a claim gives; what is a cause `alone` may have no word of its passages."""
    if why := no_such_cause(claim, text, alone=alone):
        yield Hint(f"no passage gives the cause that the claim does ({why})")


def told_of_figures(claim: str, text: str) -> Iterator[Hint]:
    """Yield hints against what a claim says of its figures, which a text in any language may say otherwise."""
    if pair := exchanged(claim, text):
        one, other = (figure.said for figure in pair)
        yield Hint(f"the passages tell {one} and {other} the other way round", figures=f"{one}; {other}")
    if found := only_bounded(claim, text):
        said, bound = (figure.said for figure in found)
        yield Hint(f"the claim tells {said} as reached, the passages {bound} only as a bound", figures=said)
    if share := only_points(claim, text):
        yield Hint(f"the claim says {share.said}, the passages so many percentage points", figures=share.said)


def _other_subject(claim: str, held: str, text: str) -> tuple[str, str] | None:
    """Return the name that leads a claim and stands in no text, with the one that leads the passage instead."""
    mine = next((name for name in proper_names(claim) if _leads(name, claim)), "")
    if not mine or mine.upper() == mine.lower() or _GLUED.search(mine) or mine not in missing_names(claim, text):
        return None
    if not content_set(mine).isdisjoint(content_set(text)):
        return None  # said with more words: `the UAE's fund`
    said = content_set(claim)
    theirs = (name for name in proper_names(held) if _leads(name, held) and said.isdisjoint(content_set(name)))
    return next(((mine, name) for name in theirs), None)


def _leads(name: str, sentence: str) -> bool:
    """Return whether a name is what a sentence begins to speak of: `The analyst Kuo`, not `In the north of Kuo`."""
    at = sentence.find(name)
    before = sentence[: max(at, 0)].lower().split()
    labelled = sentence.startswith(":", at + len(name))
    return at >= 0 and not labelled and len(before) <= _LEAD and _JOINING.isdisjoint(before)


def _other_count(claim: str, text: str) -> tuple[str, str] | None:
    """Return what a claim counts with a figure that counts other things in the text, and the text's own count of it."""
    mine = list(_counted(claim))
    theirs = list(_counted(text)) if mine else []
    for count in mine:
        where = [other.near for other in theirs if same(count.figure, other.figure)]
        if not where or any(count.noun in near for near in where):
            continue
        for other in theirs:
            if other.noun == count.noun and not any(
                same(one.figure, other.figure) for one in mine if one.noun == other.noun
            ):
                return count.said, other.said
    return None


def _counted(text: str) -> Iterator[_Count]:
    """Yield the bare figures of a text before a content word, with that and the next."""
    folded = fold(marked(text))
    for one in figures(text):
        end = one.at + len(one.said)
        found = None if one.kind else _NOUN.match(folded, end)
        if found and (noun := content_words(found["noun"])):
            near = content_words(_CLAUSE.split(folded[end : end + _NEXT], maxsplit=1)[0])
            yield _Count(one, f"{one.said}{found[0]}", noun[0], frozenset((*noun, *near)))
