"""Answers: whether a sentence holds something of the kind that is asked for."""

from __future__ import annotations

import re

from leadline_plugins.ai.embedded.asked import Asked
from leadline_plugins.ai.embedded.names import key, names
from leadline_plugins.text import is_cjk

_NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred|thousand|million|billion|half|twice|first|second|third)\b|[一二三四五六七八九十百千万億亿两]",
    re.I,
)
_TIME = re.compile(
    r"\b(?:1\d|20)\d\d\b|\b\d{1,2}(?:st|nd|rd|th)? century\b|[一二三四五六七八九十\d]+(?:年|月|日|世紀|世纪)|"
    r"\b(?:january|february|march|april|may|june|july|august|september|october|november|december|monday|tuesday|"
    r"wednesday|thursday|friday|saturday|sunday|spring|summer|autumn|winter|noon|midnight|today|ancient)\b|\d\s*(?:a\.?m|p\.?m)\b|时代|時代|期",
    re.I,
)
_REASON = re.compile(
    r"\b(?:because|since|due to|caused?|causes|result(?:s|ed|ing)?|so that|therefore|thus|reason|owing|led to|in order to|allow)|因|由于|由於|所以|为了|為了|ため|から|ので|により|によって", re.I
)


def holds(question: Asked, sentence: str) -> bool:
    """Return whether the sentence holds something of the kind asked for; true where the kind has no mark."""
    if question.kind == "number":
        return bool(_NUMBER.search(sentence))
    if question.kind == "time":
        return bool(_TIME.search(sentence))
    if question.kind == "reason":
        return bool(_REASON.search(sentence))
    if question.kind in ("person", "place") and not is_cjk(question.language):
        known = set(question.terms)
        return any(k and not set(k) <= known for k in map(key, names(sentence)))
    return True
