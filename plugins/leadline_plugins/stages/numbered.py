"""Which claims a model's verdicts are on: by the numbers that they have in the call, however a reply names them."""

from __future__ import annotations

import re

from leadline_plugins.tasks.checking import ClaimVerdict, ClaimVerdicts

_LONGEST = 50
"""Claims that a range names at most."""
_AND = re.compile(r"[,;，；、&]\s*(?:and\b)?|\band\b")
"""What stands between the claims of a list."""
_ID = re.compile(
    r"[\W_]*(?:(?:claims?|ids?|items?|statements?|numbers?|nos?|nr|c)[\W_]*){0,2}"
    r"0?([1-9]\d{0,3})(?:\s*(?:[-–—]|to)\s*([1-9]\d{0,3}))?[\W_]*",
    re.IGNORECASE,
)
"""A claim by its number, or a range of them: `claim 3`, `#3`, `1-3`. Other words may say otherwise: `all except 3`."""


def by_number(reply: ClaimVerdicts) -> dict[str, ClaimVerdict]:
    """Return the verdicts by the number of the claim; of what is said to be supported and not, none."""
    sure = {number for name in reply.supported for number in numbers(name)}
    others = [(number, one) for one in reply.others for number in numbers(one.id)]
    both = sure & {number for number, one in others if one.verdict != "supported"}
    bare = ((number, ClaimVerdict(id=number, verdict="supported", confidence=reply.confidence)) for number in sure)
    return {number: one for number, one in (*bare, *others) if number not in both}


def named(reply: ClaimVerdicts) -> set[str]:
    """Return the numbers of all claims that anything is said of."""
    return {number for name in (*reply.supported, *(one.id for one in reply.others)) for number in numbers(name)}


def numbers(name: str) -> list[str]:
    """Return the numbers that an id, a list or a range of them names; none where any of it is unclear."""
    found: list[str] = []
    for part in _AND.split(name):
        match = _ID.fullmatch(part)
        if match is None:
            return []
        first, last = int(match[1]), int(match[2] or match[1])
        if not 0 <= last - first < _LONGEST:
            return []
        found += map(str, range(first, last + 1))
    return found
