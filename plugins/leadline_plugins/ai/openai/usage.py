"""What a reply used, in every vendor's words, and what it cost where the vendor tells."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from math import inf
from typing import Any

from leadline.records import Usage

_TICKS = Decimal(10) ** 10
"""Of xAI, in a US dollar."""
_CACHED = ("prompt_cache_hit_tokens", "num_cached_tokens", "cached_tokens")
"""Of DeepSeek, of others, of Moonshot."""


def read_usage(data: Mapping[str, Any]) -> Usage:
    """Return the usage; reasoning tokens are among those of the output, also where the vendor counts them apart."""
    prompt = _count(data, "prompt_tokens", "input_tokens")
    output = _count(data, "completion_tokens", "output_tokens")
    inputs = _below(data, "prompt_tokens_details", "input_tokens_details")
    outputs = _below(data, "completion_tokens_details", "output_tokens_details")
    return Usage(
        input_tokens=prompt,
        cached_tokens=_count(inputs, "cached_tokens") or _count(data, *_CACHED),
        output_tokens=max(output, _count(data, "total_tokens") - prompt),
        reasoning_tokens=_count(outputs, "reasoning_tokens") or _count(data, "reasoning_tokens"),
        cost=_billed(data),
    )


def _count(data: Mapping[str, Any], *names: str) -> int:
    found = (data.get(name) for name in names)
    return next((int(value) for value in found if isinstance(value, int | float) and 0 < value < inf), 0)


def _below(data: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    found = (data.get(name) for name in names)
    return next((value for value in found if isinstance(value, Mapping)), {})


def _billed(data: Mapping[str, Any]) -> Decimal | None:
    """Return the cost as OpenRouter, Perplexity and xAI tell it."""
    cost = data.get("cost")
    if isinstance(cost, Mapping):
        cost = cost.get("total_cost")
    if isinstance(cost, int | float) and not isinstance(cost, bool) and 0 <= cost < inf:
        return Decimal(str(cost))
    ticks = data.get("cost_in_usd_ticks")
    return Decimal(ticks) / _TICKS if isinstance(ticks, int) and ticks >= 0 else None
