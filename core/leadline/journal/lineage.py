"""How the rows of a journal hang together: what was lost, what it was lost of, and what was made in spite of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from leadline.door.kinds import CHAT, TASK
from leadline.journal.rows import Row


def lost(rows: Iterable[Row]) -> list[Row]:
    """Return the failures and refusals."""
    return [row for row in rows if row.outcome != "reply"]


def useless(rows: Collection[Row]) -> list[Row]:
    """Return the replies of models of which a task could make nothing."""
    failed = {row.key for row in rows if (row.kind, row.outcome) == (TASK, "failure")}
    return [row for row in rows if row.parent in failed and (row.kind, row.outcome) == (CHAT, "reply")]


def with_those_below(rows: Iterable[Row], keys: Iterable[str]) -> list[Row]:
    """Return the failures and refusals of these keys, and those that they are made of or that stand below them."""
    failures, wanted = lost(rows), set(keys)
    found = {row.key: row for row in failures if row.key in wanted}
    causes = {key for row in found.values() for key in row.causes}
    while more := [row for row in failures if row.key not in found and (row.parent in found or row.key in causes)]:
        found.update((row.key, row) for row in more)
        causes.update(key for row in more for key in row.causes)
    return list(found.values())


def with_those_above(rows: Iterable[Row], keys: Iterable[str]) -> set[str]:
    """Return the keys of these failures and refusals, and of those that they are the causes of."""
    failures, found = lost(rows), set(keys)
    while more := {row.key for row in failures if row.key not in found and not found.isdisjoint(row.causes)}:
        found |= more
    return found


def those_of(rows: Collection[Row], keys: Iterable[str]) -> list[Row]:
    """Return the rows of these keys, of what stands below them, and of what they were lost of."""
    known = {row.key: row for row in rows}
    below: defaultdict[str, list[str]] = defaultdict(list)
    for row in rows:
        below[row.parent].append(row.key)
    found: set[str] = set()
    waiting = [*keys]
    while waiting:
        key = waiting.pop()
        if key in known and key not in found:
            found.add(key)
            waiting += [*below[key], *known[key].causes]
    return [row for row in rows if row.key in found]


def above(rows: Mapping[str, Row], below: Iterable[Row], stages: Collection[str]) -> list[Row]:
    """Return the replies of these stages below which one of the others stands; `rows` are all, by their keys."""
    found: dict[str, Row] = {}
    waiting = [row.parent for row in below]
    while waiting:
        row = rows.get(waiting.pop())
        if row and row.outcome == "reply" and row.step in stages and row.key not in found:
            found[row.key] = row
            waiting.append(row.parent)
    return list(found.values())
