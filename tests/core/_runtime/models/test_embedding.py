"""Embedding with the model of the settings, and its cost."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import leadline
from leadline._runtime.models.prices import EmbedEstimates, Prices
from leadline._runtime.runs.adhoc import adhoc_run
from leadline.contracts import Call
from leadline.records import Embeddings, EmbedRequest, Usage
from leadline.settings import Price


class Embedder:
    """Asks `usual` where a request names no model."""

    def model(self, model: str, /) -> str:
        return model or "usual"

    async def embed(self, request: EmbedRequest, call: Call, /) -> Embeddings:
        raise AssertionError("only its costs are looked at")


@dataclass
class CallPath:
    """Keeps what it was asked, and answers it."""

    asked: Any = None
    kind: Any = None

    async def call(self, kind: Any, request: Any, do: Any, **_: Any) -> Embeddings:
        self.kind, self.asked = kind, request
        return Embeddings(vectors=((1.0,),))


@pytest.mark.parametrize(
    ("chosen", "model", "cost"), [("static", "", None), ("static:hashed", "hashed", Decimal("0.002"))]
)
async def test_the_model_after_the_colon_is_requested_and_priced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chosen: str, model: str, cost: Decimal | None
) -> None:
    (tmp_path / "a.md").write_text("The harbour is deep.")
    settings = {
        "ai.embedder": chosen,
        "ai.prices": {"hashed": {"input": 2, "output": 0}},
        "search.engines": ["local"],
        "plugins.local.folders": [str(tmp_path)],
    }
    async with leadline.Client(set=settings, folder=tmp_path / "runs", cache=tmp_path / "cache") as client:
        calls = CallPath()
        async with adhoc_run(client.load(), "How deep is it?") as run:
            monkeypatch.setattr(run.calls, "call", calls.call)
            assert (await run.embed(["a text"])).vectors == ((1.0,),)
    assert calls.asked == EmbedRequest(model=model, texts=("a text",))
    assert calls.kind.price(calls.asked, Usage(input_tokens=1000)).cost == cost


def test_money_is_reserved_for_the_model_that_the_embedder_names() -> None:
    costs = EmbedEstimates(Prices({"usual": Price(input=3, output=0)}), Embedder())
    asked = EmbedRequest(model="", texts=("a" * 3000, "b" * 3000))
    assert (costs.need(asked).money, costs.need(asked).tokens) == (Decimal("0.006"), 0)
    assert costs.priced(asked, Usage(input_tokens=1500)).cost == Decimal("0.0045")
    other = asked.model_copy(update={"model": "other"})
    assert costs.need(other).money == 0
    assert costs.priced(other, Usage(input_tokens=9)).cost is None
