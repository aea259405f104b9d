"""Quotable: what can stand alone in a report as a statement."""

from __future__ import annotations

import re

from leadline_plugins.text import length
from leadline_plugins.text.sentences import SURE

_TERMINATORS = tuple(f".!?{SURE}")
_CLOSING = "\"'”’」』）)]»*_`"
"""What may stand behind a full stop."""
_MARKED = re.compile(r"\s*(?:[-*+•‣▪◦·–]\s|\(?(?:\d{1,3}|[a-zA-Z])[.)]\s|```|~~~)")
"""List items, fenced code: they end without a full stop, as table rows do."""
_ROW = re.compile(r"\s*\|.*\|\s*$|.*\S\s\|\s\S.*\|")
_BLANK_LINE = re.compile(r"\n\s*\n")
_HEADING = re.compile(r"\s*(?:#{1,6}\s|\.\. )")
_LEAD_IN = (":", "：")
_POINTER = re.compile(r"\W*(?:see|cf\.?|siehe|voir|参见|參見|参照)\b", re.IGNORECASE)
"""`See also …`: it says only where something is said."""
_GRAMMAR = "::="
_CITES = "[@"
"""Our own mark of a citation: in a quote it would point nowhere."""
_SIGN = re.compile(r"[^\w\s]")
_SIGNS = 0.5
"""Share of what is neither letter nor space; above it is a formula, a row of figures, a drawing."""
_LONG_HEADING = 12
"""Words; what is longer and has no full stop is prose all the same."""
_LONGEST = 1200
"""Characters; more is a page without full stops."""


def quotable(text: str) -> bool:
    """Return whether a sentence, list item, table row or block of code states something by itself."""
    if _CITES in text or len(text) > _LONGEST or _HEADING.match(text) or ("\n" in text and _BLANK_LINE.search(text)):
        return False
    if _MARKED.match(text) or ("|" in text and _ROW.match(text)):
        return True
    said = text.rstrip()
    if said.endswith(_LEAD_IN) or _POINTER.match(text) or _GRAMMAR in text or _signs(text) > _SIGNS:
        return False
    return said.rstrip(_CLOSING).endswith(_TERMINATORS) or length(text) > _LONG_HEADING


def _signs(text: str) -> float:
    return (len(_SIGN.findall(text)) + text.count("_")) / len(text)
