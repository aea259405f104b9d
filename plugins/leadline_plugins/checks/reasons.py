"""The cause that a claim gives for what it tells, and of which no passage speaks."""

from __future__ import annotations

import re
from collections.abc import Iterator

from leadline_plugins.ai.embedded.names import key, names
from leadline_plugins.checks.measure import borne
from leadline_plugins.text import content_set, content_words

_SPACED = re.compile(
    r"\b(?:because(?:\s+of)?|due\s+to|owing\s+to|thanks\s+to|(?:caused|driven)\s+(?:mainly\s+|largely\s+)?by|(?:as\s+a|the)\s+result\s+of"
    r"|(?:attributed|attributable)\s+to|(?:reasons?|cause)\s+(?:is|was|are|were)(?:\s+that)?)"
    r"\s+(?P<why>(?:[^,.;:]|[.,:](?=\d))+)",
    re.IGNORECASE,
)
_HAN = re.compile(
    r"(?:因为|因為|由于|由於|得益于|得益於|归因于|歸因於|归功于|歸功於|源于|源於|[缘緣][于於]|主因是?|原因(?:是|在于|在於|[为為]))"
    r"(?P<why>(?:[^，。；：,;]|,(?=\d)){3,40})"
    r"|受(?P<under>[^，。；：,;、]{3,24}?)(?:影响|影響|拖累|推动|推動|带动|帶動|驱动|驅動)"
)
_KANA = re.compile(
    r"(?P<why>[^、。]{3,30}?)(?:が(?:主な)?(?:原因|要因)|のため(?=[だで、。])|を背景に|したため(?=[だで、。]))"
)
_KANA_SIGN = re.compile("[\u3041-\u309f]")
_ELSE = 6
"""Content words beside its cause of a claim that is nothing else: 主要原因是, the decline was driven by."""
_TOLD = 0.25
"""The share of a cause's words below which nothing is said of it."""


def no_such_cause(claim: str, text: str, *, alone: bool = False) -> str:
    """Return the cause that a claim gives and the text nowhere speaks of, but for its names and numbers.

    `alone`: only where the claim says hardly anything else: This was mainly because ….
    """
    held = None
    for why in _causes(claim):
        named = {part for name in names(claim) for part in key(name)}
        words = [word for word in set(content_words(why)) if not word.isdigit() and word not in named]
        if alone and len(content_words(claim.replace(why, " "))) > _ELSE:
            continue
        held = held if held is not None else content_set(text)
        if len(words) > 1 and sum(borne(word, held) for word in words) < _TOLD * len(words):
            return why
    return ""


def _causes(claim: str) -> Iterator[str]:
    yield from (match["why"].strip() for match in _SPACED.finditer(claim))
    if claim.isascii():
        return
    for match in (_KANA if _KANA_SIGN.search(claim) else _HAN).finditer(claim):
        yield next(part for part in match.groups() if part).strip()
