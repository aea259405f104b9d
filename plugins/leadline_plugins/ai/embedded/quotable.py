"""Quotable: what can stand alone in a report as a statement."""

from __future__ import annotations

import re

from leadline_plugins.text import length

_TERMINATED = re.compile(r"[.!?。！？；…:：][\"'”’」』）)\]»*_`]*\s*$")
_MARKED = re.compile(r"\s*(?:[-*+•‣▪◦·–]\s|\(?(?:\d{1,3}|[a-zA-Z])[.)]\s|\||```|~~~)|.*\S\s\|\s\S.*\|")
"""List items, table rows, fenced code: they end without a full stop."""
_HEADING = re.compile(r"\s*(?:#{1,6}\s|\.\. )")
_LONG_HEADING = 12
"""Words; what is longer and has no full stop is prose all the same."""
_LONGEST = 1200
"""Characters; more is a page without full stops."""


def quotable(text: str) -> bool:
    """Return whether a sentence, list item, table row or block of code states something by itself."""
    if len(text) > _LONGEST or _HEADING.match(text) or re.search(r"\n\s*\n", text):
        return False
    return bool(_TERMINATED.search(text) or _MARKED.match(text)) or length(text) > _LONG_HEADING
