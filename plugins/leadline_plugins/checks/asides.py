"""Whether a name is said by the way: in an apposition or a subordinate clause, which another text may fill otherwise.

"Marie Curie, born in Warsaw, won" and "Marie Curie, who worked in Paris, won" do not contradict each other.
"""

from __future__ import annotations

import re

_BREAK = re.compile(r"(?<!\d)[,;:]|[,;:](?!\d)|[()\[\]—–，；：（）、]|\s-\s")
_SUBORDINATE = re.compile(
    r"\b(?:who|whom|whose|which|where|while|although|though|because|since|when|after|before|qui|dont|où|cuy[oa]|quien"
    r"|cui|wier|який|котор\w+)\b",
    re.IGNORECASE,
)
_LED = r"born|known|led|run|built|made|as|like|unlike|[^\W\d_]+(?:ing|ed)"
_BEFORE = re.compile(rf"\W*(?:{_LED})\b", re.IGNORECASE)
_APPENDED = re.compile(rf"\W*(?:an?|the|one|now|then|once|formerly|previously|{_LED})\b", re.IGNORECASE)
"""How what is set before a sentence begins, and what is appended to one."""
_JOINING = re.compile(r"\W*(?:and|or|the|et|y|e|und)?\W*")


def aside(name: str, sentence: str) -> bool:
    """Return whether a name stands by the way in a sentence, wherever it first stands; of a name alone it does not."""
    at = sentence.find(name)
    if at < 0:
        return True
    breaks = [match.span() for match in _BREAK.finditer(sentence)]
    start = max((end for _, end in breaks if end <= at), default=0)
    end = min((begin for begin, _ in breaks if begin >= at + len(name)), default=len(sentence))
    before, behind = sentence[start:at], sentence[at + len(name) : end]
    if _JOINING.fullmatch(before) and not behind.strip(" ."):
        return False  # one of a list
    if _SUBORDINATE.search(before):
        return True
    clause, parted = sentence[start:end], end < len(sentence)
    if not start:
        return parted and bool(_BEFORE.match(clause))
    return parted or bool(_APPENDED.match(clause))
