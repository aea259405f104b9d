"""Detection of near duplicates at different addresses: press releases, mirrors, syndicated articles.

Two texts are compared by the runs of eight words they share (Broder, 1997), estimated from the smallest hashes of each,
so that a page of any length is a few hundred numbers. Scripts without spaces count by characters.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Mapping, Sequence
from heapq import nsmallest
from threading import Lock
from typing import TypeAlias
from zlib import crc32

from leadline.workers import compute
from leadline_plugins.text.tokens import CJK, ascii_words, has_cjk

# Words of a run: long enough for a figure with its name or year.
RUN = 8
# Hashes kept of a text; the estimate is off by about 0.03.
SKETCH = 256
# Share of common runs of near duplicates; pages of one form about different years have less.
SAME = 0.85
# Fewest runs; a shorter text is a copy only if it is identical.
SHORTEST = 40
_MOST_KEPT = 2000
# Bytes of a hash.
_SIZE = 4
# A limit above all hashes.
_ALL = 2 ** (8 * _SIZE)
# Smallest hashes of a sketch. The chance that near duplicates share none of them is 0.15 to the 16th.
_FIRST = 16
_WORD = re.compile(rf"[{CJK}]|[^\W_{CJK}]+")
# The same for a text without CJK, in half the time.
_SPACED = re.compile(r"[^\W_]+")
# Hashes in ascending order, 64 bits each.
Sketch: TypeAlias = "array[int]"
# Sketches by hash and length of the text, because each round compares all earlier pages.
_KEPT: dict[tuple[int, int], Sketch] = {}
# Runs may be in several threads, each with its own event loop.
_KEEPING = Lock()


async def copies(texts: Iterable[tuple[str, str]], known: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the ids of near duplicates among texts (id, text), each with the id of the earlier text.

    `known` are texts by id that came before all others. A text is sketched once, wherever its run computes, and never
    travels there again.
    """
    new, before = list(texts), list((known or {}).items())
    rows = [*before, *new]
    names = [(hash(text), len(text)) for _, text in rows]
    looked_at = [_KEPT.get(name) or text for name, (_, text) in zip(names, rows, strict=True)]
    originals, sketched = await compute(_compare, looked_at, len(before))
    with _KEEPING:
        _KEPT.update((names[index], made) for index, made in sketched.items())
        while len(_KEPT) > _MOST_KEPT:
            _KEPT.pop(next(iter(_KEPT)))
    return {rows[index][0]: rows[original][0] for index, original in originals.items()}


def _compare(rows: Sequence[str | Sketch], start: int) -> tuple[dict[int, int], dict[int, Sketch]]:
    """Return which from `start` on are copies of an earlier one, by their indexes, and the sketches that were made."""
    made = {index: sketch(row) for index, row in enumerate(rows) if isinstance(row, str)}
    originals: list[tuple[int, frozenset[int], frozenset[int]]] = []
    copied: dict[int, int] = {}
    for index, row in enumerate(rows):
        hashes = made[index] if isinstance(row, str) else row
        first, own = frozenset(hashes[:_FIRST]), frozenset(hashes)
        alike = (other for other, theirs, all_of in originals if not first.isdisjoint(theirs) and same(own, all_of))
        original = next(alike, None) if index >= start else None
        if original is None:
            originals.append((index, first, own))
        else:
            copied[index] = original
    return copied, made


def same(mine: frozenset[int], theirs: frozenset[int]) -> bool:
    """Return whether two sketches are of nearly the same text."""
    shared = mine & theirs
    if len(shared) < SAME * min(len(mine), len(theirs)) / 2:
        return False
    if min(len(mine), len(theirs)) < SHORTEST:
        return mine == theirs
    smallest = nsmallest(SKETCH, mine | theirs)
    return sum(number in shared for number in smallest) >= SAME * len(smallest)


def sketch(text: str) -> Sketch:
    """Return the smallest hashes of runs of words, of a shorter text that of the whole; the same on every machine."""
    words = _words(text)
    known = {word: crc32(word.encode("utf-8", "replace")).to_bytes(_SIZE) for word in set(words)}
    row = b"".join(map(known.__getitem__, words))
    limit = 2 * _ALL * SKETCH // max(1, len(words))  # of a long text about twice as many as are kept: less to sort
    lowest = _hashes(row, limit)
    if len(lowest) < SKETCH and limit < _ALL:
        lowest = _hashes(row, _ALL)
    return array("Q", sorted(lowest)[:SKETCH])


def _hashes(row: bytes, limit: int) -> set[int]:
    """Return the hashes below a limit of the runs in a row of hashed words."""
    run = RUN * _SIZE
    places = range(0, max(1, len(row) - run + 1), _SIZE)
    return {made for offset in places if (made := crc32(row[offset : offset + run])) < limit}


def _words(text: str) -> list[str]:
    if text.isascii():
        return ascii_words(text)
    folded = text.casefold()
    return (_WORD if has_cjk(folded) else _SPACED).findall(folded)
