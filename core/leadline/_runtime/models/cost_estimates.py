"""Estimates of what requests to models use, for reservations in the budget; and the cost of their usage."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from leadline._runtime.journal.rows import Need
from leadline._runtime.models.prices import Prices
from leadline.records import ChatRequest, EmbedRequest, Message, Usage

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
