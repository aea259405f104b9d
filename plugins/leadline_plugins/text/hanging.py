"""What hangs on what stands before it: a passage that begins with `It`, `Outcome:` or 三是 names nobody by itself."""

from __future__ import annotations

import re

from leadline_plugins.text.sentences import sentences

AROUND = 500
"""Characters before and behind a quote that may say whom it speaks of."""
_LONGEST = 240
"""Characters of a neighbour."""
_ITEM = re.compile(r"\s*(?:[-*+•]\s|\d{1,3}[.)]\s|\|)")
_HEADING = re.compile(r"\s*#{1,6}\s")
_COUNTED = re.compile(r"\W*(?:第?[一二三四五六七八九十]{1,2}(?:是|，|、)|其[一二三四五六七八九十])")
"""How the parts of a list in a sentence begin, behind what opens it."""
_YEAR = re.compile(r"(?<!\d)(?:1[89]|20)\d\d(?!\d)")
_HANGS = re.compile(
    r"\W*(?:(?:and|but|so|yet|however|moreover|therefore|thus|in|for|of|on|at|by|with|as)\s)?(?:it|its|itself|they|their"
    r"|them|this|these|that|those|he|she|his|her|him|such|both|neither|either|same|another|latter|former|each|all|here"
    r"|there|the\s(?:country|nation|state|government|company|firm|bank|city|region|party|war|study|authors?|report|model"
    r"|method|approach|tool|project|species)|a\sresult|consequently|hence)\b"
    r"|\W*(?:outcomes?|results?|allegations?|status|verdict)\W*[:：]"
    r"|[^，。；]{0,6}(?:它|其|这|這|该|該|此|彼|两者|兩者|二者|前者|后者|後者|上述|同样|同樣|他|她)",
    re.IGNORECASE,
)
"""How what hangs on its neighbours begins."""


def hangs_on(said: str) -> bool:
    """Return whether a sentence or a passage begins in a way that leaves something to what stands before it."""
    return said.lstrip("-*+•> ")[:1].islower() or bool(_HANGS.match(said) or _COUNTED.match(said))


def begins_item(quote: str, before: str) -> bool:
    """Return whether a quote is an item of a list, or a row, from the beginning of its line."""
    line = before.rstrip(" \t")
    return (not line or line.endswith("\n")) and bool(_ITEM.match(quote))


def opening(quote: str, before: str) -> str:
    """Return what stands before a quote and may name what it speaks of: the sentence before it, and what opens a list.

    A list is opened by the line above that is set in less, an item by its first sentence; a list in a sentence (一是,
    二是) by the last sentence that is no part of it, and where that tells no year by the last that does.
    """
    if begins_item(quote, before):
        return cut(_parent(quote, before))
    last, first = _last(before, counted=bool(_COUNTED.match(quote))), _first(before)
    lead = first if first and not hangs_on(first) else _parent(quote, before)
    return " ".join(dict.fromkeys(filter(None, (cut(lead), cut(last, end=True)))))


def cut(said: str, *, end: bool = False) -> str:
    """Return a neighbour in one line, of a long one its beginning or its end."""
    said = " ".join(said.split())
    if len(said) <= _LONGEST:
        return said
    return f"…{said[-_LONGEST:]}" if end else f"{said[:_LONGEST]}…"


def _last(before: str, *, counted: bool) -> str:
    """Return the last sentence of what stands before a quote, in its paragraph; not one that is counted with it."""
    near = before.rpartition("\n\n")[2]
    said = [near[slice(*span)] for span in sentences(near)]
    while counted and len(said) > 1 and _COUNTED.match(said[-1]):
        said.pop()
    dated = (one for one in reversed(said) if _YEAR.search(one))
    told = next(dated, "") if counted and said and not _YEAR.search(said[-1]) else ""
    return " ".join(filter(None, (told, *said[-1:])))


def _first(before: str) -> str:
    """Return the first sentence of the item of a list that what stands before a quote ends in."""
    line = before.rpartition("\n")[2]
    spans = sentences(line) if _ITEM.match(line) else []
    return line[slice(*spans[0])] if spans else ""


def _parent(quote: str, before: str) -> str:
    """Return the line over the list that a quote stands in: set in less than its own line, and no heading."""
    *lines, own = before.split("\n")
    own = own if own.strip() else own + quote
    if not _ITEM.match(own) or own.lstrip().startswith("|"):
        return ""
    for line in reversed(lines):
        if not line.strip():
            continue
        if _HEADING.match(line):
            return ""
        if _indent(line) < _indent(own):
            return line
        if not _ITEM.match(line):
            return line if line.rstrip().endswith((":", "：")) else ""
    return ""


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
