"""Pages that say nearly the same under different addresses: press releases, mirrors, syndicated articles.

Two texts are compared by the runs of eight words they share (Broder, 1997), estimated from the smallest hashes of each,
so that a page of any length is a few hundred numbers. Scripts without spaces count by characters.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from heapq import nsmallest
from threading import Lock
from zlib import crc32

from leadline_plugins.text.tokens import CJK, ascii_words, has_cjk

RUN = 8
"""Words of a run: long enough to hold a figure with the name or year it belongs to."""
SKETCH = 256
"""Hashes kept of a text; the estimate is off by about 0.03."""
SAME = 0.85
"""The share of runs from which on two texts are one: pages of one form about different years stay below."""
SHORTEST = 40
"""Runs; what is shorter is a copy only where it is the same word for word."""
_MOST_KEPT = 2000
_SIZE = 4
"""Bytes of a hash."""
_KEPT: dict[bytes, array[int]] = {}
"""Sketches by a digest of their text: each round looks at the pages of all rounds before."""
_KEEPING = Lock()
"""Texts are compared in threads, those of several runs at once."""
_WORD = re.compile(rf"[{CJK}]|[^\W_{CJK}]+")
_SPACED = re.compile(r"[^\W_]+")
"""The same of a text without CJK, in half the time."""


def copies(texts: Iterable[tuple[str, str]], known: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the ids of texts (id, text) that say nearly the same as an earlier one, each with the id of that one.

    `known` are texts by id that came before all others.
    """
    kept = [(name, _sketch(text)) for name, text in (known or {}).items()]
    found: dict[str, str] = {}
    for name, text in texts:
        sketch = _sketch(text)
        original = next((other for other, theirs in kept if alike(sketch, theirs)), None)
        if original is None:
            kept.append((name, sketch))
        else:
            found[name] = original
    return found


def alike(one: frozenset[int], other: frozenset[int]) -> bool:
    """Return whether two sketches are of nearly the same text."""
    shared = one & other
    if len(shared) < SAME * min(len(one), len(other)) / 2:
        return False
    if min(len(one), len(other)) < SHORTEST:
        return one == other
    smallest = nsmallest(SKETCH, one | other)
    return sum(number in shared for number in smallest) >= SAME * len(smallest)


def _sketch(text: str) -> frozenset[int]:
    """Return the smallest hashes of a text; those of the texts that were sketched last are kept, a few KB each."""
    data = text.encode("utf-8", "replace")
    name = blake2b(data, digest_size=16).digest()
    found = _KEPT.get(name)
    if found is None:
        found = array("Q", _hashes(text))
        with _KEEPING:
            while len(_KEPT) >= _MOST_KEPT:
                _KEPT.pop(next(iter(_KEPT)))
            _KEPT[name] = found
    return frozenset(found)


def _hashes(text: str) -> list[int]:
    """Return the smallest hashes of runs of words, of a shorter text that of the whole; the same on every machine."""
    words = _words(text)
    known = {word: crc32(word.encode("utf-8", "replace")).to_bytes(_SIZE) for word in set(words)}
    row, run = b"".join(map(known.__getitem__, words)), RUN * _SIZE
    places = range(0, max(1, len(row) - run + 1), _SIZE)
    return sorted({crc32(row[place : place + run]) for place in places})[:SKETCH]


def _words(text: str) -> list[str]:
    if text.isascii():
        return ascii_words(text)
    folded = text.casefold()
    return (_WORD if has_cjk(folded) else _SPACED).findall(folded)
