"""Twin runs: the same question in another folder, at another time, must make the same calls.

A difference means that a request holds something of its surroundings: a clock, a folder, an `id()`, the order of a
set. Such a run could not be resumed.
"""

from __future__ import annotations

from pathlib import Path

from leadline.journal.journal import Journal
from leadline.journal.missing import difference
from leadline.journal.rows import Row


async def assert_twins(one: Path, other: Path) -> None:
    """Check that two journals hold the same calls; AssertionError names those that differ, and where."""
    first, second = await Journal.open(one, mode="read"), await Journal.open(other, mode="read")
    try:
        apart = [*await _only_in(first, second), *await _only_in(second, first)]
    finally:
        await first.close()
        await second.close()
    assert not apart, "the runs are no twins:\n" + "\n".join(apart)


async def _only_in(one: Journal, other: Journal) -> list[str]:
    strangers = _unmatched(other, one)
    lines = []
    for row in _unmatched(one, other):
        alike = [await other.request(stranger) for stranger in strangers if stranger.kind == row.kind]
        place = difference(await one.request(row), alike) or "nothing like it in the other"
        lines.append(f"only in {one.path}: {row.kind} by {row.provider}; {place}")
    return lines


def _unmatched(one: Journal, other: Journal) -> list[Row]:
    matched = other.keys()
    return [row for row in one.rows() if row.key not in matched]
