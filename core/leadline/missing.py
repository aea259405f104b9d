"""Why an offline run has no answer: the stored request that comes nearest, and where it differs."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import JsonValue

from leadline.journal import Journal
from leadline.kinds import Job

_MISSING = "nothing"


async def explain_missing(journal: Journal, job: Job) -> str:
    """Return, for people, that the journal holds no such call, and the nearest one that was not asked for."""
    begin = f"offline, and the journal {journal.path} holds no such call: {job.what}"
    damage = f" ({len(journal.damaged)} of its entries are damaged)" if journal.damaged else ""
    hint = await _hint(journal, job)
    return f"{begin}{damage}.{hint} Ask online: leadline resume {journal.path.parent.name}"


async def _hint(journal: Journal, job: Job) -> str:
    asked = dict(_flat(job.asked()))
    stored = [dict(_flat(await journal.request(row))) for row in journal.unasked(job.kind.name)]
    if not stored:
        return ""
    other = min(stored, key=lambda one: len(_differences(asked, one)))
    path = next(iter(_differences(asked, other)), "nothing that is kept")
    was, now = other.get(path, _MISSING), asked.get(path, _MISSING)
    return f" The nearest one not asked for differs at {path}: {was:.120} in the journal, {now:.120} now."


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
