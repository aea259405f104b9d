"""Prices of models: those of the settings, else of litellm or genai-prices if they are installed, else unknown.

litellm's table is read as a file: importing litellm takes seconds and fetches a newer table from the network.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from leadline.records import Usage
from leadline.settings import Price

TABLE = "model_prices_and_context_window_backup.json"
MILLION = Decimal(1_000_000)
# The price of output by the mode of a model, if the table has none: embeddings have no output.
_OUTPUT_BY_MODE = {"embedding": 0.0}


class Prices:
    """Prices by model, in USD per million tokens; `configured` are those of the settings."""

    def __init__(self, configured: Mapping[str, Price]) -> None:
        self._configured = configured
        # The highest price per token that providers reported, by model.
        self._reported: dict[str, Decimal] = {}

    def of(self, model: str) -> Price | None:
        """Return the price of a model, or None if it is unknown."""
        if price := self._configured.get(model) or self._configured.get(model.partition("/")[2]):
            return price
        return _litellm_price(model) or _genai_price(model)

    def priced(self, usage: Usage, model: str) -> Usage:
        """Return the usage with its cost, unless the provider reported one or the price is unknown."""
        if usage.cost is not None:
            if tokens := _tokens(usage):
                self._reported[model] = max(usage.cost / tokens, self._reported.get(model, Decimal(0)))
            return usage
        price = self.of(model)
        return usage if price is None else usage.model_copy(update={"cost": cost(usage, price)})

    def expected(self, usage: Usage, model: str) -> Decimal:
        """Return the expected cost, by the price or else by the highest reported one; 0 if unknown."""
        price = self.of(model)
        return self._reported.get(model, Decimal(0)) * _tokens(usage) if price is None else cost(usage, price)


def cost(usage: Usage, price: Price) -> Decimal:
    """Return the cost in USD; cached tokens are part of the input tokens."""
    cached = min(usage.cached_tokens, usage.input_tokens)
    rate = price.input if price.cached is None else price.cached
    amount = (usage.input_tokens - cached) * Decimal(str(price.input)) + cached * Decimal(str(rate))
    return (amount + usage.output_tokens * Decimal(str(price.output))) / MILLION


def _tokens(usage: Usage) -> int:
    return usage.input_tokens + usage.output_tokens


def _per_million(rate: Any) -> float:
    return float(Decimal(str(rate or 0)) * MILLION)


def load_tables() -> None:
    """Load the installed tables, which takes up to a second."""
    _table()
    _genai_price("")


def _litellm_price(model: str) -> Price | None:
    row = _row(model)
    if not row or row.get("output_cost_per_token", _OUTPUT_BY_MODE.get(str(row.get("mode")))) is None:
        return None
    return Price(
        input=_per_million(row.get("input_cost_per_token")),
        cached=_per_million(row.get("cache_read_input_token_cost", row.get("input_cost_per_token"))),
        output=_per_million(row.get("output_cost_per_token")),
    )


@cache
def _genai_price(model: str) -> Price | None:
    """Return the price in the table of genai-prices, without its surcharges for long contexts."""
    # NAME:TAG is a model of a local server. The table would price `deepseek-r1:7b` like DeepSeek's own service.
    if find_spec("genai_prices") is None or ":" in model:
        return None
    import genai_prices

    vendor, _, name = model.rpartition("/")
    tokens = {"input_tokens": 1_000, "output_tokens": 1_000}
    try:
        fresh, cached = (
            genai_prices.calc_price(usage, model_ref=name, provider_id=vendor or None)
            for usage in (genai_prices.Usage(**tokens), genai_prices.Usage(**tokens, cache_read_tokens=1_000))
        )
    except LookupError:
        return None
    return Price(
        input=float(fresh.input_price * 1_000),
        cached=float(cached.input_price * 1_000),
        output=float(fresh.output_price * 1_000),
    )


def _row(model: str) -> dict[str, Any]:
    """Return the row of a model, by NAME or VENDOR/NAME: the table has only one of them for most models."""
    vendor, _, name = model.partition("/")
    table = _table()
    row: dict[str, Any] = table.get(model) or table.get(name) or {}
    return row if model in table or row.get("litellm_provider") == vendor else {}


@cache
def _table() -> dict[str, Any]:
    spec = find_spec("litellm")
    path = Path(spec.origin).with_name(TABLE) if spec and spec.origin else None
    if path is None or not path.is_file():
        return {}
    table: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return table
