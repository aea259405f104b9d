"""What a run's calls came to, by kind and provider."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from typing import Any

from leadline.active import total
from leadline.records import Usage
from leadline.rows import Row

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
    """Return tokens and cost (USD; None: nobody knows) by a name of the rows; those without usage are left out."""
    groups: dict[str, list[Usage]] = {}
    for row in rows:
        if row.usage != Usage():
            groups.setdefault(by(row), []).append(row.usage)
    return {name: spent(total(usages) or Usage()) for name, usages in sorted(groups.items())}


def spent(usage: Usage) -> dict[str, Any]:
    """Return a usage as figures."""
    cost = None if usage.cost is None else float(usage.cost)
    figures = usage.model_dump(exclude={"cost"})
    return {"tokens": usage.input_tokens + usage.output_tokens, **figures, "cost": cost}


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
