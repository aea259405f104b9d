"""What embedding texts costs: an embedder tells tokens, and its prices are those of any model."""

from __future__ import annotations

from typing import Any

from leadline.door.leases import CHARS_PER_TOKEN
from leadline.models.prices import Prices
from leadline.records import EmbedRequest, Usage
from leadline.runs.budget import Need


class EmbedCosts:
    """The costs of one embedder. It may have `model`, a function from the model of a request to the one it asks."""

    def __init__(self, prices: Prices, embedder: Any) -> None:
        self._prices = prices
        self._embedder = embedder

    def need(self, request: EmbedRequest) -> Need:
        """Return the money that a request may cost; nothing where no price is known."""
        size = sum(map(len, request.texts))
        return Need(money=self._prices.expected(Usage(input_tokens=size // CHARS_PER_TOKEN), self._model(request)))

    def priced(self, request: EmbedRequest, usage: Usage) -> Usage:
        """Return the usage with its cost, where that is known."""
        return self._prices.priced(usage, self._model(request))

    def _model(self, request: EmbedRequest) -> str:
        asked = getattr(self._embedder, "model", None)
        return str(asked(request.model)) if callable(asked) else request.model
