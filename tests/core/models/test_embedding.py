"""A run embeds with the model that the settings name, and pays for it."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import leadline
from leadline.contracts import Call
from leadline.models.embedding import EmbedCosts
from leadline.models.prices import Prices
from leadline.records import Embeddings, EmbedRequest, Usage
from leadline.runs.making import Making
from leadline.settings.model import Price


class Embedder:
    """Asks `usual` where a request names no model."""

    def model(self, model: str, /) -> str:
        return model or "usual"

    async def embed(self, request: EmbedRequest, call: Call, /) -> Embeddings:
        raise AssertionError("only its costs are looked at")


@dataclass
class Door:
    """Keeps what it was asked, and answers it."""

    asked: Any = None
    kind: Any = None

    async def call(self, kind: Any, request: Any, do: Any, **_: Any) -> Embeddings:
        self.kind, self.asked = kind, request
        return Embeddings(vectors=((1.0,),))


@pytest.mark.parametrize(
    ("chosen", "model", "cost"), [("static", "", None), ("static:hashed", "hashed", Decimal("0.002"))]
)
async def test_the_model_behind_the_colon_is_asked_and_priced(
    tmp_path: Path, chosen: str, model: str, cost: Decimal | None
) -> None:
    settings = {
        "ai.embedder": chosen,
        "ai.prices": {"hashed": {"input": 2, "output": 0}},
        "search.engines": ["local"],
        "plugins.local.folders": [str(tmp_path)],
    }
    async with leadline.Client(set=settings, folder=tmp_path / "runs", cache=tmp_path / "cache") as client:
        house, door = client.house, Door()
        making = Making(house, door, house.loaded.chosen, None, tmp_path)  # type: ignore[arg-type]
        assert (await making.embed(["a text"])).vectors == ((1.0,),)
    assert door.asked == EmbedRequest(model=model, texts=("a text",))
    assert door.kind.price(door.asked, Usage(input_tokens=1000)).cost == cost


def test_money_is_leased_and_paid_for_the_model_that_the_embedder_names() -> None:
    costs = EmbedCosts(Prices({"usual": Price(input=3, output=0)}), Embedder())
    asked = EmbedRequest(model="", texts=("a" * 3000, "b" * 3000))
    assert (costs.need(asked).money, costs.need(asked).tokens) == (Decimal("0.006"), 0)
    assert costs.priced(asked, Usage(input_tokens=1500)).cost == Decimal("0.0045")
    other = asked.model_copy(update={"model": "other"})
    assert costs.need(other).money == 0
    assert costs.priced(other, Usage(input_tokens=9)).cost is None
