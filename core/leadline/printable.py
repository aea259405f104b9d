"""Foreign text on its way to a terminal: titles, file names and pages may hold what would steer or falsify it."""

from __future__ import annotations

import re
from collections.abc import Iterable

# Controls but for tab and line feed, overrides of the writing direction, lone surrogates. Joiners stay: words of
# several scripts are spelt with them.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

_REASON = re.compile(r"(?P<what>.+?)(?P<why> \(.+\)|（.+）)", re.DOTALL)


def printable(text: object) -> str:
    """Return text, of any number of lines, without what would steer the terminal."""
    return _UNPRINTABLE.sub(" ", str(text))


def one_line(text: object) -> str:
    """Return the text on one line."""
    return " ".join(printable(text).split())


def shortened(text: object, most: int = 400) -> str:
    """Return the text on one line; of a long one the beginning, and how long it is."""
    whole = one_line(text)
    if len(whole) <= most:
        return whole
    return f"{whole[:most].rstrip()} … ({len(whole):,} characters)"


def by_reason(told: Iterable[str]) -> list[str]:
    """Return what is told, all of one reason as one, which stands in brackets at the end: in the place of the first."""
    rows: dict[str, list[str]] = {}
    for text in told:
        found = _REASON.fullmatch(text) if text.endswith((")", "）")) else None
        rows.setdefault(found["why"] if found else text, []).append(found["what"] if found else "")
    return [_together(why, what) for why, what in rows.items()]


def _together(why: str, what: list[str]) -> str:
    if what == [""]:
        return why
    joint = "；" if why.startswith("（") else "; "
    return f"{joint.join(dict.fromkeys(what))}{why}"
