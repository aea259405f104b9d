"""The estimate of a run, in words and columns: what it is likely to cost, and what that rests on."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from leadline.cli.out import table
from leadline.models.estimate import Estimate, TaskEstimate

_HEADERS = ("TASK", "ASKED BY", "MODEL", "CALLS", "TOKENS IN", "TOKENS OUT", "USD")


def estimated(found: Estimate) -> Iterator[str]:
    """Yield the lines."""
    if not any(one.model for one in found.tasks):
        yield "Estimated calls of models: none. Every task is done by algorithm."
        return
    yield "Estimated calls of models (likely, and least to most; an estimate, no limit):"
    rows = [_row(one) for one in found.tasks if one.most]
    total = ("all", "", "", _calls(found), f"{found.input_tokens:,}", f"{found.output_tokens:,}", _money(found.cost))
    yield table([*rows, total], _HEADERS, indent="  ")
    if free := [one.task for one in found.tasks if not one.model]:
        yield f"  By algorithm, at no cost: {', '.join(free)}."
    for model in found.unpriced:
        yield f'  Price unknown: set ai.prices = {{ "{model}" = {{ input = …, output = … }} }} (USD a million tokens).'
    if found.unknown:
        yield f"  Not estimated, for their plugins say nothing: {', '.join(found.unknown)}."
    for told in found.over:
        yield f"  More than {told}: the run would end with what it has."
    yield f"  Based on: {'; '.join(found.basis)}."


def _row(one: TaskEstimate) -> tuple[str, ...]:
    tokens = (f"{one.input_tokens:,}", f"{one.output_tokens:,}")
    return one.task, one.asked_by, f"{one.provider}:{one.model}", _calls(one), *tokens, _money(one.cost)


def _calls(found: TaskEstimate | Estimate) -> str:
    return f"{found.calls} ({found.least}-{found.most})" if found.least != found.most else f"{found.calls}"


def _money(cost: Decimal | None) -> str:
    return "unknown" if cost is None else f"{cost:.4f}"
