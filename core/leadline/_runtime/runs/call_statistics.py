"""Statistics of a run's calls: usage, and which models and stages were refused, answered or were of no use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from leadline._runtime.calls.job import CHAT, TASK, total
from leadline._runtime.journal.rows import Row
from leadline.records import THEN, Usage


def call_counts(rows: Iterable[Row]) -> dict[str, int]:
    """Return the number of calls by kind and provider: `search/local`."""
    return dict(sorted(Counter(f"{row.kind}/{row.provider}" for row in rows).items()))


def usage_by(rows: Iterable[Row], name_of: Callable[[Row], str]) -> dict[str, dict[str, Any]]:
    """Return the usage totals of rows grouped by name, without rows that have no usage."""
    groups: dict[str, list[Usage]] = {}
    for row in rows:
        if row.usage != Usage():
            groups.setdefault(name_of(row), []).append(row.usage)
    return {name: usage_totals(usages) for name, usages in sorted(groups.items())}


def usage_totals(usages: Sequence[Usage]) -> dict[str, Any]:
    """Return tokens, tokens without a known price (`unpriced`) and the cost in USD (None: no price is known)."""
    whole = total([*usages]) or Usage()
    cost = None if whole.cost is None else float(whole.cost)
    unpriced = sum(_tokens(usage) for usage in usages if usage.cost is None)
    return {"tokens": _tokens(whole), **whole.model_dump(exclude={"cost"}), "unpriced": unpriced, "cost": cost}


def _tokens(usage: Usage) -> int:
    return usage.input_tokens + usage.output_tokens


def refused_stages(rows: Iterable[Row]) -> tuple[str, ...]:
    """Return the stages whose calls were refused, by name: their output is incomplete."""
    return tuple(sorted({row.step for row in rows if row.outcome == "refusal" and row.step}))


def useless_models(rows: Collection[Row]) -> tuple[str, ...]:
    """Return the models that were called and did no task, by name; none if another model did one."""
    if used_replies(rows):
        return ()
    called = {row.provider for row in rows if row.kind == CHAT and row.outcome != "refusal"}
    # A model whose plugin could not be created has no call: it is the first of the chains that did without it.
    first = {row.provider.split(THEN)[0] for row in rows if (row.kind, row.outcome) == (TASK, "reply")}
    return tuple(sorted(called | first - {row.provider for row in rows if row.outcome == "reply"}))


def answering_models(rows: Iterable[Row]) -> frozenset[str]:
    """Return the models that answered a chat, whether or not the reply was of use, by name."""
    return frozenset(row.provider for row in rows if (row.kind, row.outcome) == (CHAT, "reply"))


def without_usage(rows: Iterable[Row]) -> list[Row]:
    """Return the chat replies without a reported usage; replies from other runs have none."""
    return [
        row for row in rows if (row.kind, row.outcome) == (CHAT, "reply") and not row.cached and row.usage == Usage()
    ]


def used_replies(rows: Collection[Row]) -> list[Row]:
    """Return the chat replies that did tasks: for each task, those of the last model of its chain."""
    tasks: dict[str, list[Row]] = {row.key: [] for row in rows if (row.kind, row.outcome) == (TASK, "reply")}
    chains = {row.key: row.provider.split(THEN) for row in rows if row.key in tasks}
    for row in rows:
        if row.parent in tasks and row.outcome == "reply":
            tasks[row.parent].append(row)
    found = []
    for key, below in tasks.items():
        called = {row.provider for row in below}
        last = [name for name in chains[key] if name in called][-1:]
        found += [row for row in below if [row.provider] == last and row.kind == CHAT]
    return found


def models(rows: Collection[Row]) -> tuple[str, ...]:
    """Return the language models whose replies were used, by name, each with its provider."""
    return tuple(sorted({f"{row.provider}:{row.model}" for row in used_replies(rows) if row.model}))
