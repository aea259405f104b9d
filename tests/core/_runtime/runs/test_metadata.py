"""Usage in the metadata of a run."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from leadline._runtime.journal.rows import Row
from leadline._runtime.runs.metadata import usage_of
from leadline.records import Usage


def chat(provider: str, cost: str | None, outcome: Any = "reply") -> Row:
    used = Usage(input_tokens=100, output_tokens=20, cost=None if cost is None else Decimal(cost))
    return Row(key=f"{provider}{cost}", kind="chat", provider=provider, outcome=outcome, usage=used)


def test_tokens_at_an_unknown_price_are_counted_beside_the_known_cost() -> None:
    said: Any = usage_of([chat("own", None), chat("own", None, "failure"), chat("vendor", "0.5"), chat("vendor", "0")])
    assert (said["tokens"], said["unpriced"], said["cost"], said["replies"]) == (480, 240, 0.5, 3)
    assert {name: (one["unpriced"], one["cost"]) for name, one in said["by_provider"].items()} == {
        "own": (240, None),
        "vendor": (0, 0.5),
    }
    assert usage_of([])["unpriced"] == 0
