"""What a request to a model may use: leased before it is made, and nearer to what is used the more was seen."""

from __future__ import annotations

from collections.abc import Iterable

from leadline.models.prices import Prices
from leadline.records import ChatRequest, Message, Usage
from leadline.runs.budget import Need

CHARS_PER_TOKEN = 3
"""Before anything was seen: no tokenizer gives fewer characters a token in the languages that matter, CJK aside."""
REPLY_TOKENS = 4_000
"""What is leased for a reply of unknown length."""
_SEEN = 3
"""Replies from which the run's own are gone by."""
_MARGIN = 1.2
_REPLY_MARGIN, _SHORTEST_REPLY = 2, 1_500
"""Over the most that was seen: plans and reviews are shorter than sections."""


class Leases:
    """What the requests of one run may need."""

    def __init__(self, prices: Prices) -> None:
        self._prices = prices
        self._seen = 0
        self._per_character = 0.0
        self._longest = 0

    def need(self, request: ChatRequest, model: str) -> Need:
        """Return what a request may use."""
        rate, reply = 1 / CHARS_PER_TOKEN, REPLY_TOKENS
        if self._seen >= _SEEN:
            rate = min(rate, self._per_character * _MARGIN)
            reply = min(reply, max(_SHORTEST_REPLY, self._longest * _REPLY_MARGIN))
        may_use = Usage(input_tokens=int(_size(request) * rate), output_tokens=request.max_tokens or reply)
        money = self._prices.expected(may_use, model)
        return Need(model_calls=1, tokens=may_use.input_tokens + may_use.output_tokens, money=money)

    def note(self, request: ChatRequest, usage: Usage) -> None:
        """Learn from what a request used."""
        if usage.input_tokens and usage.output_tokens and (size := _size(request)):
            self._seen += 1
            self._per_character = max(self._per_character, usage.input_tokens / size)
            self._longest = max(self._longest, usage.output_tokens)


def over(messages: Iterable[Message], context: int) -> bool:
    """Return whether a request is likely to be over a context of so many tokens, with a reply of some length.

    By its bytes, since the scripts with more of them have more tokens a character, and by nothing that was seen before:
    what a request holds must not hang on which reply came first.
    """
    size = sum(len(message.text.encode("utf-8", "replace")) for message in messages)
    return size / CHARS_PER_TOKEN + min(REPLY_TOKENS, context // 4) > context


def _size(request: ChatRequest) -> int:
    return sum(len(message.text) for message in request.messages)
