"""Recognize sentences that depend on the one before: `It`, `Outcome:` or 三是 names no subject."""

from __future__ import annotations

import re

_COUNTED = re.compile(r"\W*(?:第?[一二三四五六七八九十]{1,2}(?:是|，|、)|其[一二三四五六七八九十])")
_HANGS = re.compile(
    r"\W*(?:(?:and|but|so|yet|however|moreover|therefore|thus|in|for|of|on|at|by|with|as)\s)?(?:it|its|itself|they|their"
    r"|them|this|these|that|those|he|she|his|her|him|such|both|neither|either|same|another|latter|former|each|all|here"
    r"|there|the\s(?:country|nation|state|government|company|firm|bank|city|region|party|war|study|authors?|report|model"
    r"|method|approach|tool|project|species)|a\sresult|consequently|hence)\b"
    r"|\W*(?:outcomes?|results?|allegations?|status|verdict)\W*[:：]"
    r"|[^，。；]{0,6}(?:它|其|这|這|该|該|此|彼|两者|兩者|二者|前者|后者|後者|上述|同样|同樣|他|她)",
    re.IGNORECASE,
)


def hangs_on(said: str) -> bool:
    """Return whether a sentence begins with a word that refers to the text before it, or in lower case."""
    return said.lstrip("-*+•> ")[:1].islower() or bool(_HANGS.match(said) or _COUNTED.match(said))
