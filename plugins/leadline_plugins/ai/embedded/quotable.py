"""Quotable: what can stand alone in a report as a statement."""

from __future__ import annotations

import re

from leadline_plugins.text import length

_TERMINATED = re.compile(r"[.!?。！？；…][\"'”’」』）)\]»*_`]*\s*$")
_MARKED = re.compile(r"\s*(?:[-*+•‣▪◦·–]\s|\(?(?:\d{1,3}|[a-zA-Z])[.)]\s|```|~~~)|\s*\|.*\|\s*$|.*\S\s\|\s\S.*\|")
"""List items, table rows, fenced code: they end without a full stop."""
_HEADING = re.compile(r"\s*(?:#{1,6}\s|\.\. )")
_LEAD_IN = re.compile(r"[:：]\s*$")
_POINTER = re.compile(r"\W*(?:see|cf\.?|siehe|voir|参见|參見|参照)\b", re.IGNORECASE)
"""`See also …`: it says only where something is said."""
_GRAMMAR = "::="
_CITES = "[@"
"""Our own mark of a citation: in a quote it would point nowhere."""
_LETTERS = 0.5
"""Share of letters and spaces; below it is a formula, a row of figures, a drawing."""
_LONG_HEADING = 12
"""Words; what is longer and has no full stop is prose all the same."""
_LONGEST = 1200
"""Characters; more is a page without full stops."""


def quotable(text: str) -> bool:
    """Return whether a sentence, list item, table row or block of code states something by itself."""
    if _CITES in text or len(text) > _LONGEST or _HEADING.match(text) or re.search(r"\n\s*\n", text):
        return False
    if _MARKED.match(text):
        return True
    if _LEAD_IN.search(text) or _POINTER.match(text) or _GRAMMAR in text or _letters(text) < _LETTERS:
        return False
    return bool(_TERMINATED.search(text)) or length(text) > _LONG_HEADING


def _letters(text: str) -> float:
    return (sum(map(str.isalnum, text)) + sum(map(str.isspace, text))) / len(text)
