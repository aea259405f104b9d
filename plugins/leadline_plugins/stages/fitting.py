"""How a sentence that a model says anew is made to stand where the old one stood: its stop, its marks, its list."""

from __future__ import annotations

import re

from leadline_plugins.stages.said import MARKER

_LONGEST, _ROOM = 2.0, 80
"""How much longer than the old one a new sentence may be, and characters besides: it is to say less."""
_STOPS = ".!?。！？؟۔।"
_STOPPED = re.compile(rf"([{_STOPS}])[\"'”’»)）」』\]*_]*\Z")
_MARKED = re.compile(r"(?:#{1,6}|[-*+•]|\d{1,3}[.)]|>)\s+")
_OPENS = re.compile(r"\*\*|__|[(（「『【《“„«\"]")
_DEEPEST = 4
"""Marks that one sentence may open before its first word."""
_PAIRS = ("()", "（）", "「」", "『』", "【】", "《》")
_EVEN = ("**", "__", "“”„", "«»", '"', "`")
"""Marks of which there is an even number, whichever opens and whichever closes."""
_NO_SENTENCE = re.compile(r"\n|\||\]\(|://|<\w|\A\W*\Z")
"""What a sentence of a report has not: lines, cells, addresses, HTML, nothing at all."""
_SAID = re.compile(r"[\W_]+")


def body(said: str) -> str:
    """Return a claim without what stays as it is: its list's marker, and what it opens and a citation stands in."""
    marked = MARKER.match(said)
    said = said[marked.end() if marked else 0 :]
    for _ in range(_DEEPEST):
        opened = None if _balanced(said) else _OPENS.match(said)
        said = said[opened.end() if opened else 0 :]
    return said


def fitted(new: str, old: str) -> str:
    """Return a new sentence so that it can stand in an old one's place; empty where it cannot, or says the same."""
    new = _MARKED.sub("", new.strip(), count=1) if _MARKED.match(new.strip()) else new.strip()
    new = new if "**" in old else new.replace("**", "")
    stop = _STOPPED.search(old)
    if not stop:
        new = new.rstrip(_STOPS)
    elif new and not _STOPPED.search(new):
        new += stop[1]
    same = _SAID.sub("", new) == _SAID.sub("", old)
    fits = _balanced(new) and _balanced(old) and len(new) <= _LONGEST * len(old) + _ROOM
    return new if fits and not same and not _NO_SENTENCE.search(new) else ""


def _balanced(text: str) -> bool:
    pairs = all(text.count(pair[0]) == text.count(pair[1]) for pair in _PAIRS)
    return pairs and all(_count(text, marks) % 2 == 0 for marks in _EVEN)


def _count(text: str, marks: str) -> int:
    return text.count(marks) if marks in ("**", "__") else sum(map(text.count, marks))
