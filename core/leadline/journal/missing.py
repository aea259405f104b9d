"""Why an offline run has no answer: the stored request that comes nearest, and where it differs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from pydantic import JsonValue

from leadline.door.kinds import Job
from leadline.journal.journal import Journal
from leadline.runs.folder import resuming

_NOTHING = "nothing"


async def explain_missing(journal: Journal, job: Job) -> str:
    """Return, for people, that the journal holds no such call, and the nearest one that was not asked for."""
    begin = f"offline, and the journal {journal.path} holds no such call: {job.what}"
    damage = f" ({len(journal.damaged)} of its entries are damaged)" if journal.damaged else ""
    stored = [await journal.request(row) for row in journal.unasked(job.kind.name)]
    place = difference(json.loads(job.asked), stored)
    hint = f" The nearest one not asked for differs at {place}." if place else ""
    return f"{begin}{damage}.{hint} Ask online: {resuming(journal.path.parent)}"


def difference(asked: JsonValue, stored: Iterable[JsonValue]) -> str:
    """Return where a request first differs from the nearest of the stored ones; empty where there are none."""
    now = dict(_flat(asked))
    others = [dict(_flat(tree)) for tree in stored]
    if not others:
        return ""
    then = min(others, key=lambda other: len(_differences(now, other)))
    path = next(iter(_differences(now, then)), "nothing that is kept")
    return f"{path}: {then.get(path, _NOTHING):.120} there, {now.get(path, _NOTHING):.120} here"


def _differences(one: dict[str, str], other: dict[str, str]) -> list[str]:
    return sorted(path for path in one.keys() | other.keys() if one.get(path) != other.get(path))


def _flat(tree: JsonValue, path: str = "") -> Iterator[tuple[str, str]]:
    match tree:
        case dict():
            for name, value in tree.items():
                yield from _flat(value, f"{path}.{name}" if path else name)
        case list():
            for place, value in enumerate(tree):
                yield from _flat(value, f"{path}[{place}]")
        case _:
            yield path, repr(tree)
