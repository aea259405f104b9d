"""Find statements of a report that repeat earlier ones word for word.

A statement repeats an earlier one if a run of at least eight words (of Chinese and Japanese: twelve characters) of the
earlier one makes up nearly all of it, and the words beside the run have no number: such as "In addition," before it.
Removing it then loses nothing. A shorter run in both is a shared passage.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from leadline.records import Claim, Section
from leadline_plugins.text.tokens import CJK, fold
from leadline_plugins.verification.claims import section_statements
from leadline_plugins.verification.repair import without_claims

# Tokens of the shortest run that counts.
_RUN, _CJK_RUN = 8, 12
# The share of a statement that the run makes up, if it repeats the other.
_MOST = 0.85
_TOKEN = re.compile(rf"[{CJK}]|[^\W_]+(?:['’.,:/-][^\W_]+)*")
_CJK = re.compile(f"[{CJK}]")
_DIGIT = re.compile(r"\d")


@dataclass(frozen=True)
class Repetition:
    """Two statements with a common run of words; `whole`: the later one says nothing else."""

    claim: Claim
    earlier: Claim
    words: str
    whole: bool


def repetitions(sections: Sequence[Section]) -> list[Repetition]:
    """Return the statements that share a run of words with an earlier one, each with the longest run."""
    claims = section_statements(sections).claims
    tokens = [_TOKEN.findall(fold(claim.text)) for claim in claims]
    seen: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    repeats: list[Repetition] = []
    for index, own in enumerate(tokens):
        size = _least(own)
        grams = [tuple(own[at : at + size]) for at in range(len(own) - size + 1)]
        others = {other for gram in grams for other in seen.get(gram, ())}
        if others and (best := _longest(index, sorted(others), tokens, claims)):
            repeats.append(best)
        for gram in dict.fromkeys(grams):
            seen[gram].append(index)
    return repeats


def _longest(
    index: int, others: Sequence[int], tokens: Sequence[Sequence[str]], claims: Sequence[Claim]
) -> Repetition | None:
    """Return the repetition with the longest common run."""
    own = tokens[index]
    best: Repetition | None = None
    longest = 0
    for other in others:
        match = SequenceMatcher(None, own, tokens[other], autojunk=False).find_longest_match()
        if match.size > longest and match.size >= _least(own):
            longest = match.size
            rest = [*own[: match.a], *own[match.a + match.size :]]
            whole = match.size >= _MOST * len(own) and not any(map(_DIGIT.search, rest))
            words = " ".join(own[match.a : match.a + match.size])
            best = Repetition(claims[index], claims[other], words, whole)
    return best


def _least(tokens: Sequence[str]) -> int:
    """Return the shortest run that counts in a statement, by its script."""
    characters = sum(bool(_CJK.match(token)) for token in tokens)
    return _CJK_RUN if characters * 2 > len(tokens) else _RUN


def without_repetitions(sections: Sequence[Section]) -> tuple[tuple[Section, ...], list[Repetition]]:
    """Return the sections without statements that say nothing but what an earlier one says, and those."""
    dropped: list[Repetition] = []
    now = tuple(sections)
    while repeats := [repeat for repeat in repetitions(now) if repeat.whole]:
        dropped += repeats
        now = without_claims(now, {repeat.claim.id for repeat in repeats})
    return now, dropped
