"""Claims that are a passage word for word, but for the words that join a sentence to what stands before it.

Writers put "In addition," before a sentence that they took over. Such words state nothing; any other word in front may
("It is false that", "Contrary to"), and then the claim is no longer the passage.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from leadline_plugins.checks.quotes import find_said, squeezed

# fmt: off
_JOINING = frozenset((
    "a", "above", "addition", "additionally", "again", "all", "also", "an", "and", "as", "at", "below", "beside",
    "besides", "but", "by", "comparison", "consequently", "contrast", "conversely", "correspondingly", "detail",
    "end", "equally", "exactly", "example", "fact", "finally", "first", "for", "furthermore", "hand", "hence",
    "here", "however", "importantly", "in", "indeed", "instance", "it", "its", "last", "lastly", "likewise",
    "meanwhile", "more", "moreover", "namely", "nevertheless", "next", "nonetheless", "notably", "now", "of", "on",
    "one", "other", "over", "overall", "parallel", "part", "particular", "particularly", "result", "same", "second",
    "secondly", "seen", "separately", "short", "similarly", "so", "specifically", "still", "subsequently", "sum",
    "taken", "that", "the", "then", "there", "therefore", "these", "third", "this", "thus", "time", "to", "together",
    "too", "turn", "turning", "what", "with", "yet",
))
# fmt: on
_FRONT = re.compile(r"\s*([A-Za-z][A-Za-z ]{0,48}),\s+(?=\S)")
_CJK_FRONT = re.compile(
    r"\s*(?:此外|另外|同时|同時に|然而|因此|总之|例如|首先|其次|最后|而且|不过|相比之下|具体而言|また|さらに|一方"
    r"|しかし|そのため|たとえば|まず|次に|最後に)[，,、]\s*(?=\S)"
)

_BREAK = re.compile(r"[.!?]\s|[。！？]|\n\s*\n")
_BOUND = re.compile(r"(?:\d[^\s,;]*\s+(?:to|and|or)|\b(?:above|below|over))\s*$", re.IGNORECASE)
"""What makes another figure of digits behind it, though its words only join: `20 to 30`, `over 30`."""
_END = re.compile(r"[\s*_`\"'”’»)\]]*(?:$|[.。!！?？;；:：|\[(（]|\n)")
_WORD = re.compile(r"[^\W\d_]+")


def stands(claim: str, text: str) -> bool:
    """Return whether a claim stands in a text, word for word."""
    return squeezed(claim).is_whole(squeezed(text)) or any(_told(form, text) for form in _forms(claim))


def _forms(claim: str) -> Iterator[str]:
    yield claim.rstrip(".。 ")
    if joined := _joined(claim):
        rest = claim[joined:].rstrip(".。 ")
        yield rest
        yield rest[:1].upper() + rest[1:]


def _told(form: str, text: str) -> bool:
    """Return whether a text says this, and neither denies it in front ("No proof that …") nor takes it back behind."""
    span = find_said(form, text) if squeezed(form).stands_in(squeezed(text)) else None
    if span is None:
        return False
    before = _BREAK.split(text[: span[0]])[-1]
    if form[:1].isdecimal() and _BOUND.search(before):
        return False
    return bool(_END.match(text, span[1])) and _JOINING.issuperset(_WORD.findall(before.casefold()))


def _joined(claim: str) -> int:
    """Return where a claim goes on behind words that only join it; 0 where it begins without."""
    if front := _CJK_FRONT.match(claim):
        return front.end()
    front = _FRONT.match(claim)
    return front.end() if front and _JOINING.issuperset(front[1].casefold().split()) else 0
