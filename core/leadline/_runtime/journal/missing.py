"""Explanation of a missing reply in an offline run: the nearest stored request, and where it differs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from pydantic import JsonValue

from leadline._runtime.journal.journal import Journal
from leadline._runtime.journal.lock import resume_command

_ABSENT = "nothing"


async def explain_missing(journal: Journal, kind: str, label: str, request: bytes) -> str:
    """Return a message for a call of this kind that is not in the journal; `label` names it, `request` is its JSON."""
    start = f"offline, and the journal {journal.path} holds no such call: {label}"
    damage = f" ({len(journal.damaged)} of its entries are damaged)" if journal.damaged else ""
    stored = [await journal.request(row) for row in journal.unrequested(kind)]
    place = difference(json.loads(request), stored)
    hint = f" The nearest unused request differs at {place}." if place else ""
    return f"{start}{damage}.{hint} To make the call: {resume_command(journal.path.parent)}"


def difference(request: JsonValue, stored: Iterable[JsonValue]) -> str:
    """Return where a request first differs from the nearest of the stored ones; empty if there are none."""
    ours = dict(_flatten(request))
    candidates = [dict(_flatten(tree)) for tree in stored]
    if not candidates:
        return ""
    nearest = min(candidates, key=lambda candidate: len(_different_paths(ours, candidate)))
    path = next(iter(_different_paths(ours, nearest)), "nothing that is stored")
    return f"{path}: {nearest.get(path, _ABSENT):.120} there, {ours.get(path, _ABSENT):.120} here"


def _different_paths(ours: dict[str, str], theirs: dict[str, str]) -> list[str]:
    return sorted(path for path in ours.keys() | theirs.keys() if ours.get(path) != theirs.get(path))


def _flatten(tree: JsonValue, path: str = "") -> Iterator[tuple[str, str]]:
    match tree:
        case dict():
            for name, value in tree.items():
                yield from _flatten(value, f"{path}.{name}" if path else name)
        case list():
            for index, value in enumerate(tree):
                yield from _flatten(value, f"{path}[{index}]")
        case _:
            yield path, repr(tree)
