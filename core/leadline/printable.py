"""Foreign text on its way to a terminal: titles, file names and pages may hold what would steer or falsify it."""

from __future__ import annotations

import re

# Controls but for tab and line feed, overrides of the writing direction, lone surrogates. Joiners stay: words of
# several scripts are spelt with them.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


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
