"""Prices of models, and estimates of what requests use: reservations in the budget.

Prices are those of the settings, else of litellm or genai-prices if they are installed, else unknown.

litellm's table is read as a file: importing litellm takes seconds and fetches a newer table from the network.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from leadline._runtime.journal.rows import Need
from leadline.records import ChatRequest, EmbedRequest, Message, Usage
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


# --- estimates for reservations ---------------------------------------------------------------------------------------


# Before the first reply: no tokenizer has fewer characters per token in the major languages, CJK aside.
CHARS_PER_TOKEN = 3
# Reserved for a reply of unknown length.
REPLY_TOKENS = 4_000
# Replies after which the run's own usage is the basis.
_ENOUGH_REPLIES = 3
_MARGIN = 1.2
# Over the longest reply so far: plans and reviews are shorter than sections.
_REPLY_MARGIN, _SHORTEST_REPLY = 2, 1_500


class ChatEstimates:
    """Estimates for the chats of one run; they get closer as the run sees real usage."""

    def __init__(self, prices: Prices) -> None:
        self._prices = prices
        self._replies = 0
        self._tokens_per_character = 0.0
        self._longest_reply = 0

    def need(self, request: ChatRequest, model: str) -> Need:
        """Return the amounts that a request may use."""
        rate, reply = 1 / CHARS_PER_TOKEN, REPLY_TOKENS
        if self._replies >= _ENOUGH_REPLIES:
            rate = min(rate, self._tokens_per_character * _MARGIN)
            reply = min(reply, max(_SHORTEST_REPLY, self._longest_reply * _REPLY_MARGIN))
        may_use = Usage(input_tokens=int(_size(request) * rate), output_tokens=request.max_tokens or reply)
        money = self._prices.expected(may_use, model)
        return Need(model_calls=1, tokens=may_use.input_tokens + may_use.output_tokens, money=money)

    def learn(self, request: ChatRequest, usage: Usage) -> None:
        """Take the usage of a request into account."""
        if usage.input_tokens and usage.output_tokens and (size := _size(request)):
            self._replies += 1
            self._tokens_per_character = max(self._tokens_per_character, usage.input_tokens / size)
            self._longest_reply = max(self._longest_reply, usage.output_tokens)


class EmbedEstimates:
    """Estimates and costs of one embedder, which may have `model`: from the model of a request to the one it calls."""

    def __init__(self, prices: Prices, embedder: Any) -> None:
        self._prices = prices
        self._embedder = embedder

    def need(self, request: EmbedRequest) -> Need:
        """Return the money that a request may cost; nothing if no price is known."""
        size = sum(map(len, request.texts))
        return Need(money=self._prices.expected(Usage(input_tokens=size // CHARS_PER_TOKEN), self._model(request)))

    def priced(self, request: EmbedRequest, usage: Usage) -> Usage:
        """Return the usage with its cost, if that is known."""
        return self._prices.priced(usage, self._model(request))

    def _model(self, request: EmbedRequest) -> str:
        model_for = getattr(self._embedder, "model", None)
        return str(model_for(request.model)) if callable(model_for) else request.model


def exceeds_context(messages: Iterable[Message], context: int) -> bool:
    """Return True if a request and a reply of some length are probably longer than a context of so many tokens.

    The measure is bytes, since scripts with more bytes have more tokens per character, and never the usage seen so far:
    the content of a request must not depend on which reply came first.
    """
    size = sum(len(message.text.encode("utf-8", "replace")) for message in messages)
    return size / CHARS_PER_TOKEN + min(REPLY_TOKENS, context // 4) > context


def _size(request: ChatRequest) -> int:
    return sum(len(message.text) for message in request.messages)
