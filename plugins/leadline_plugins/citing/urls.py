"""Bare web addresses in running text: where they begin, and where they end."""

from __future__ import annotations

import re
from collections.abc import Iterator

_URL = re.compile(r"https?://[^\s<>\"`|，。；、：！？（）【】「」『』《》“”]+")
_PAIRS = {")": "(", "]": "[", "}": "{"}
_TRAILING = ".,;:!?'*_\\"


def find(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of the addresses: without the punctuation of the sentence, brackets only in pairs."""
    for match in _URL.finditer(text):
        yield match.start(), match.start() + len(trimmed(match.group()))


def host(url: str) -> str:
    """Return the site of an address, in lower case and without `www.`."""
    return re.sub(r"^\w+://(?:www\.)?", "", url.casefold()).partition("/")[0]


def trimmed(url: str) -> str:
    """Return an address without what belongs to the text around it."""
    depth = dict.fromkeys(_PAIRS.values(), 0)
    for at, char in enumerate(url):
        if char in depth:
            depth[char] += 1
        elif char in _PAIRS:
            depth[_PAIRS[char]] -= 1
            if depth[_PAIRS[char]] < 0:
                url = url[:at]
                break
    return url.rstrip(_TRAILING)
