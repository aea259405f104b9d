"""Relations between the rows of a journal: calls below a composite call, and the causes of failures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from leadline._runtime.journal.rows import CHAT, TASK, Row


def failures(rows: Iterable[Row]) -> list[Row]:
    """Return the failures and refusals."""
    return [row for row in rows if row.outcome != "reply"]


def unusable_replies(rows: Collection[Row]) -> list[Row]:
    """Return the replies of models from which a task could parse no result."""
    failed = {row.key for row in rows if (row.kind, row.outcome) == (TASK, "failure")}
    return [row for row in rows if row.parent in failed and (row.kind, row.outcome) == (CHAT, "reply")]


def with_causes(rows: Iterable[Row], keys: Iterable[str]) -> list[Row]:
    """Return the failures and refusals with these keys, and those that caused them or lie below them."""
    failed, wanted = failures(rows), set(keys)
    found = {row.key: row for row in failed if row.key in wanted}
    causes = {key for row in found.values() for key in row.causes}
    while more := [row for row in failed if row.key not in found and (row.parent in found or row.key in causes)]:
        found.update((row.key, row) for row in more)
        causes.update(key for row in more for key in row.causes)
    return list(found.values())


def with_consequences(rows: Iterable[Row], keys: Iterable[str]) -> set[str]:
    """Return the keys of these failures and refusals, and of those that they caused."""
    failed, found = failures(rows), set(keys)
    while more := {row.key for row in failed if row.key not in found and not found.isdisjoint(row.causes)}:
        found |= more
    return found


def with_descendants(rows: Collection[Row], keys: Iterable[str]) -> list[Row]:
    """Return the rows with these keys, the rows below them, and the causes of their failures."""
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


def ancestors(rows: Mapping[str, Row], descendants: Iterable[Row], stages: Collection[str]) -> list[Row]:
    """Return the replies of these stages that were made with one of the descendants; `rows` are all, by key."""
    found: dict[str, Row] = {}
    waiting = [row.parent for row in descendants]
    while waiting:
        row = rows.get(waiting.pop())
        if row and row.outcome == "reply" and row.step in stages and row.key not in found:
            found[row.key] = row
            waiting.append(row.parent)
    return list(found.values())
