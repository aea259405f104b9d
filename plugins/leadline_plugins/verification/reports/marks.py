"""Citation marks of a text: numbers in brackets, footnotes, links."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from leadline_plugins.verification.reports.blocks import Spans, VisibleText

_ONE = r"\^?\d{1,3}"
# A mark by number; its only group has the numbers.
NUMBERS = (
    r"[\[【［](?:(?:sources?|refs?|references?|citations?|来源|參考|参考|文献)\.?[\s:：]*+)?\s*+"
    rf"({_ONE}(?:\s*+(?:[,，、;；&]|[-–—~]|and)\s*+{_ONE})*)\s*+(?:†[^\]】]{{0,200}})?[\]】］]"
)
_NUMBERED = re.compile(NUMBERS, re.IGNORECASE)
_PART = re.compile(rf"({_ONE})(?:\s*[-–—~]\s*({_ONE}))?")
_NOTE = re.compile(r"\[\^([^\]\s]+)\]")
_LONGEST_RANGE = 60
_WEB = ("http://", "https://")


@dataclass(frozen=True)
class Entry:
    """An entry of the list of sources; without a number its key is its position (`#3`)."""

    key: str
    text: str
    urls: tuple[str, ...] = ()


@dataclass(frozen=True)
class Mark:
    """A citation mark: `[1, 3-5]` has the keys 1, 3, 4, 5; a link has a `url`. Offsets are in characters."""

    text: str
    start: int
    end: int
    keys: tuple[str, ...] = ()
    url: str = ""
    # Whether it is not a word of its sentence.
    silent: bool = True


def numbered(flat: VisibleText) -> Iterator[Mark]:
    """Yield marks by number or footnote, in order."""
    literal = Spans([*flat.code, *flat.escaped])
    for match in sorted([*_NUMBERED.finditer(flat.text), *_NOTE.finditer(flat.text)], key=lambda mark: mark.start()):
        keys = values(match.group(1)) if match.re is _NUMBERED else (f"^{match.group(1)}",)
        plain_note = match.re is _NOTE and match.group(1).isdigit()
        if keys and not plain_note and match.start() not in literal:
            yield Mark(match.group(), match.start(), match.end(), keys)


def values(text: str) -> tuple[str, ...]:
    """Return the keys of `1, 3-5`; none if one is 0, because that is an interval."""
    keys: list[str] = []
    for first, last in _PART.findall(text):
        low, high = int(first.lstrip("^")), int((last or first).lstrip("^"))
        if low == 0 or not 0 <= high - low <= _LONGEST_RANGE:
            return ()
        sign = "^" if first.startswith("^") else ""
        keys += [f"{sign}{number}" for number in range(low, high + 1)]
    return tuple(keys)


def linked(flat: VisibleText) -> Iterator[Mark]:
    """Yield links and bare web addresses; one in its own parentheses is not a word of the sentence."""
    for start, end, url in sorted([*flat.links, *flat.bare()]):
        if not url.lower().startswith(_WEB):
            continue
        left, right = start, end
        while flat.text[left - 1 : left] in ("(", "（", "[") and flat.text[right : right + 1] in (")", "）", "]"):
            left, right = left - 1, right + 1
        anchor = flat.text[start:end]
        bare = left != start or anchor.startswith(_WEB) or bool(_NUMBERED.fullmatch(anchor)) or not anchor
        yield Mark(flat.text[left:right], left, right, url=url, silent=bare)
