"""What a reply used, in every vendor's words, and what it cost where that is known."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from leadline.records import Usage
from leadline_plugins.ai.openai.settings import ModelSettings

_TICKS = Decimal(10) ** 10
"""Of xAI, in a US dollar."""
_MILLION = Decimal(10) ** 6


def read_usage(data: Mapping[str, Any], prices: ModelSettings | None = None) -> Usage:
    """Return the usage; reasoning tokens are among those of the output, also where the vendor counts them apart."""
    prompt = _count(data, "prompt_tokens", "input_tokens")
    output = _count(data, "completion_tokens", "output_tokens")
    inputs = _below(data, "prompt_tokens_details", "input_tokens_details")
    outputs = _below(data, "completion_tokens_details", "output_tokens_details")
    usage = Usage(
        input_tokens=prompt,
        cached_tokens=_count(inputs, "cached_tokens") or _count(data, "prompt_cache_hit_tokens", "num_cached_tokens"),
        output_tokens=max(output, _count(data, "total_tokens") - prompt),
        reasoning_tokens=_count(outputs, "reasoning_tokens") or _count(data, "reasoning_tokens"),
    )
    cost = _billed(data)
    return usage.model_copy(update={"cost": _priced(usage, prices) if cost is None and prices else cost})


def _count(data: Mapping[str, Any], *names: str) -> int:
    found = (data.get(name) for name in names)
    return next((int(value) for value in found if isinstance(value, int | float) and value > 0), 0)


def _below(data: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    found = (data.get(name) for name in names)
    return next((value for value in found if isinstance(value, Mapping)), {})


def _billed(data: Mapping[str, Any]) -> Decimal | None:
    """Return the cost as OpenRouter, Perplexity and xAI tell it."""
    cost = data.get("cost")
    if isinstance(cost, Mapping):
        cost = cost.get("total_cost")
    if isinstance(cost, int | float) and not isinstance(cost, bool):
        return Decimal(str(cost))
    ticks = data.get("cost_in_usd_ticks")
    return Decimal(ticks) / _TICKS if isinstance(ticks, int) else None


def _priced(usage: Usage, prices: ModelSettings) -> Decimal | None:
    """Return the cost by the prices of the settings, None where they are not set."""
    if prices.input_price is None or prices.output_price is None:
        return None
    cached = prices.input_price if prices.cached_price is None else prices.cached_price
    fresh = usage.input_tokens - usage.cached_tokens
    sums = (fresh, prices.input_price), (usage.cached_tokens, cached), (usage.output_tokens, prices.output_price)
    return sum((count * Decimal(str(price)) for count, price in sums), Decimal(0)) / _MILLION
