"""What a run's calls came to: figures by kind and provider, and who was refused, replied, or was asked in vain."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence, Set
from typing import Any

from leadline.door.active import total
from leadline.door.kinds import CHAT, TASK
from leadline.journal.rows import Row
from leadline.records import THEN, Usage

Counts = dict[str, dict[str, dict[str, Any]]]
"""Kind, provider, name of the figure."""


def count(rows: Iterable[Row], replayed: Set[str]) -> Counts:
    """Return the figures of these rows; `replayed` are the keys of those answered from the journal."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.kind, row.provider), []).append(row)
    counts: Counts = {}
    for (kind, provider), members in sorted(groups.items()):
        counts.setdefault(kind, {})[provider] = _figures(members, replayed)
    return counts


def used(rows: Iterable[Row], by: Callable[[Row], str]) -> dict[str, dict[str, Any]]:
    """Return what `spent` does by a name of the rows; those without usage are left out."""
    groups: dict[str, list[Usage]] = {}
    for row in rows:
        if row.usage != Usage():
            groups.setdefault(by(row), []).append(row.usage)
    return {name: spent(usages) for name, usages in sorted(groups.items())}


def spent(usages: Sequence[Usage]) -> dict[str, Any]:
    """Return tokens, those of them at a price that nobody knows (`unpriced`), and the cost in USD; None: all are so."""
    whole = total([*usages]) or Usage()
    cost = None if whole.cost is None else float(whole.cost)
    unpriced = sum(_tokens(usage) for usage in usages if usage.cost is None)
    return {"tokens": _tokens(whole), **whole.model_dump(exclude={"cost"}), "unpriced": unpriced, "cost": cost}


def _tokens(usage: Usage) -> int:
    return usage.input_tokens + usage.output_tokens


def _figures(rows: list[Row], replayed: Set[str]) -> dict[str, Any]:
    outcomes = [row.outcome for row in rows]
    usage = total([row.usage for row in rows]) or Usage()
    return {
        "calls": len(rows),
        "replies": outcomes.count("reply"),
        "failures": outcomes.count("failure"),
        "refusals": outcomes.count("refusal"),
        "attempts": sum(row.attempts for row in rows),
        "from_cache": sum(row.cached for row in rows),
        "from_journal": sum(row.key in replayed for row in rows),
        "usage": usage.model_dump(mode="json"),
    }


def refused(rows: Iterable[Row]) -> tuple[str, ...]:
    """Return the stages to which calls were refused, by name: what they made of it all the same is not the whole."""
    return tuple(sorted({row.step for row in rows if row.outcome == "refusal" and row.step}))


def in_vain(rows: Collection[Row]) -> tuple[str, ...]:
    """Return the models that were asked and did no task, by name; none where another did one for them."""
    if taken(rows):
        return ()
    asked = {row.provider for row in rows if row.kind == CHAT and row.outcome != "refusal"}
    # One that could not be made has no call of its own: its name is the first of the chains that did without it.
    first = {row.provider.split(THEN)[0] for row in rows if (row.kind, row.outcome) == (TASK, "reply")}
    return tuple(sorted(asked | first - {row.provider for row in rows if row.outcome == "reply"}))


def answered(rows: Iterable[Row]) -> frozenset[str]:
    """Return the models that said anything, of use or not, by name."""
    return frozenset(row.provider for row in rows if (row.kind, row.outcome) == (CHAT, "reply"))


def untold(rows: Iterable[Row]) -> list[Row]:
    """Return the replies of language models that told nothing of what they used; those of other runs used nothing."""
    return [
        row for row in rows if (row.kind, row.outcome) == (CHAT, "reply") and not row.cached and row.usage == Usage()
    ]


def taken(rows: Collection[Row]) -> list[Row]:
    """Return the replies of models that tasks were done with: of those below a task, those of the last of its chain."""
    tasks: dict[str, list[Row]] = {row.key: [] for row in rows if (row.kind, row.outcome) == (TASK, "reply")}
    chains = {row.key: row.provider.split(THEN) for row in rows if row.key in tasks}
    for row in rows:
        if row.parent in tasks and row.outcome == "reply":
            tasks[row.parent].append(row)
    found = []
    for key, below in tasks.items():
        asked = {row.provider for row in below}
        last = [name for name in chains[key] if name in asked][-1:]
        found += [row for row in below if [row.provider] == last and row.kind == CHAT]
    return found


def models(rows: Collection[Row]) -> tuple[str, ...]:
    """Return the language models of which a reply was taken, by name, each with its provider."""
    return tuple(sorted({f"{row.provider}:{row.model}" for row in taken(rows) if row.model}))
