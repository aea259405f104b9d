"""What models cost: by the settings, else by the table of litellm where that is installed, else unknown.

The table is read as the file it is: importing litellm takes seconds, and fetches a newer table unless told not to.
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
from leadline.settings.model import Price

TABLE = "model_prices_and_context_window_backup.json"
MILLION = Decimal(1_000_000)
_OUTPUT = {"embedding": 0.0}
"""What output costs by the mode of a model, where the table says nothing: embeddings have none."""


class Prices:
    """Prices by model, USD a million tokens."""

    def __init__(self, own: Mapping[str, Price]) -> None:
        self._own = own
        self._billed: dict[str, Decimal] = {}

    def of(self, model: str) -> Price | None:
        """Return the price of a model, None where nobody knows it."""
        if own := self._own.get(model) or self._own.get(model.partition("/")[2]):
            return own
        row = _row(model)
        if not row or row.get("output_cost_per_token", _OUTPUT.get(str(row.get("mode")))) is None:
            return None
        return Price(
            input=_per_million(row.get("input_cost_per_token")),
            cached=_per_million(row.get("cache_read_input_token_cost", row.get("input_cost_per_token"))),
            output=_per_million(row.get("output_cost_per_token")),
        )

    def priced(self, usage: Usage, model: str) -> Usage:
        """Return the usage with its cost, where the provider did not tell it and the price is known."""
        if usage.cost is not None:
            self._note(usage, model, usage.cost)
            return usage
        price = self.of(model)
        return usage if price is None else usage.model_copy(update={"cost": cost(usage, price)})

    def expected(self, usage: Usage, model: str) -> Decimal:
        """Return what this usage may cost: by the price, else by the dearest token that was billed; 0 where unknown."""
        price = self.of(model)
        return self._billed.get(model, Decimal(0)) * _tokens(usage) if price is None else cost(usage, price)

    def _note(self, usage: Usage, model: str, billed: Decimal) -> None:
        if tokens := _tokens(usage):
            self._billed[model] = max(billed / tokens, self._billed.get(model, Decimal(0)))


def _tokens(usage: Usage) -> int:
    return usage.input_tokens + usage.output_tokens


def cost(usage: Usage, price: Price) -> Decimal:
    """Return the cost in USD; cached tokens are part of the input tokens."""
    cached = min(usage.cached_tokens, usage.input_tokens)
    rate = price.input if price.cached is None else price.cached
    amount = (usage.input_tokens - cached) * Decimal(str(price.input)) + cached * Decimal(str(rate))
    return (amount + usage.output_tokens * Decimal(str(price.output))) / MILLION


def _per_million(rate: Any) -> float:
    return float(Decimal(str(rate or 0)) * MILLION)


def _row(model: str) -> dict[str, Any]:
    """Return the row of a model, by its name or by VENDOR/NAME, as the table has some of a vendor's and some not."""
    vendor, _, name = model.partition("/")
    table = _table()
    found: dict[str, Any] = table.get(model) or table.get(name) or {}
    return found if model in table or found.get("litellm_provider") == vendor else {}


@cache
def _table() -> dict[str, Any]:
    spec = find_spec("litellm")
    path = Path(spec.origin).with_name(TABLE) if spec and spec.origin else None
    if path is None or not path.is_file():
        return {}
    table: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return table
