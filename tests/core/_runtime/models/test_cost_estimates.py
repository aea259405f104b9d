"""What a request may use is reserved high at first, and nearer to what is used once that was seen."""

from __future__ import annotations

from decimal import Decimal

from leadline._runtime.models.prices import ChatEstimates, Prices
from leadline.records import ChatRequest, Message, Usage
from leadline.settings import Price

ASKED = ChatRequest(model="m", messages=(Message(role="user", text="x" * 3000),))
PRICES = Prices({"m": Price(input=1, output=4)})


def test_before_anything_was_seen_the_most_is_reserved() -> None:
    need = ChatEstimates(PRICES).need(ASKED, "m")
    assert (need.model_calls, need.tokens, need.money) == (1, 1000 + 4000, Decimal("0.017"))
    shorter = ASKED.model_copy(update={"max_tokens": 100})
    assert ChatEstimates(PRICES).need(shorter, "m").tokens == 1000 + 100


def test_an_estimate_is_the_usage_so_far_with_a_margin() -> None:
    estimates = ChatEstimates(PRICES)
    for output in (100, 900, 200):
        assert estimates.need(ASKED, "m").tokens == 5000
        estimates.learn(ASKED, Usage(input_tokens=600, output_tokens=output))
    estimates.learn(ASKED, Usage(output_tokens=3000))  # nothing is told of the prompt
    assert estimates.need(ASKED, "m").tokens == 720 + 1800
    short = ChatEstimates(PRICES)
    for _ in range(3):
        short.learn(ASKED, Usage(input_tokens=600, output_tokens=100))
    assert short.need(ASKED, "m").tokens == 720 + 1500
    estimates.learn(ASKED, Usage(input_tokens=3000, output_tokens=30_000))  # Chinese, and much thought
    assert estimates.need(ASKED, "m").tokens == 5000
