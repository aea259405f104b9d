from __future__ import annotations

import sys
from decimal import Decimal
from types import SimpleNamespace

import pytest

from leadline._runtime.models import prices
from leadline._runtime.models.prices import Prices, cost
from leadline.records import Usage
from leadline.settings import Price

USAGE = Usage(input_tokens=1_000_000, cached_tokens=400_000, output_tokens=100_000)


def test_cached_tokens_have_a_price_of_their_own() -> None:
    assert cost(USAGE, Price(input=2.0, cached=0.5, output=10)) == Decimal("2.4")
    assert cost(USAGE, Price(input=2.0, output=10)) == Decimal("3.0")


def test_the_cost_that_a_provider_reports_is_kept() -> None:
    told = USAGE.model_copy(update={"cost": Decimal("9.99")})
    assert Prices({"m": Price(input=1, output=1)}).priced(told, "m") is told


def test_an_unknown_model_has_no_price(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prices, "_table", dict)
    assert Prices({}).of("m") is None
    assert Prices({}).priced(USAGE, "m").cost is None


def test_the_settings_come_before_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"input_cost_per_token": 2.5e-6, "cache_read_input_token_cost": 1.25e-6, "output_cost_per_token": 1e-5}
    monkeypatch.setattr(prices, "_table", lambda: {"m": row, "embedding": {"input_cost_per_token": 1e-8}})
    assert Prices({}).of("m") == Price(input=2.5, cached=1.25, output=10)
    assert Prices({"m": Price(input=1, output=2)}).of("m") == Price(input=1, output=2)
    assert Prices({}).of("embedding") is None


def test_the_expected_cost_uses_the_price_or_the_highest_reported_one() -> None:
    may_use = Usage(input_tokens=1000, output_tokens=1000)
    assert Prices({"m": Price(input=1, output=4)}).expected(may_use, "m") == Decimal("0.005")
    prices = Prices({})
    assert prices.expected(may_use, "m") == 0
    for tokens, billed in ((100, "0.01"), (1000, "0.01"), (0, "0.01")):
        prices.priced(Usage(input_tokens=tokens, cost=Decimal(billed)), "m")
    assert prices.expected(may_use, "m") == Decimal("0.2")
    assert prices.expected(may_use, "other") == 0


def test_an_embedding_has_a_price_without_one_of_output(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prices, "_table", lambda: {"e": {"input_cost_per_token": 2e-8, "mode": "embedding"}})
    assert Prices({}).of("e") == Price(input=0.02, cached=0.02, output=0)


def test_a_price_is_found_with_and_without_the_vendor(monkeypatch: pytest.MonkeyPatch) -> None:
    def row(vendor: str) -> dict[str, object]:
        return {"input_cost_per_token": 1e-6, "output_cost_per_token": 1e-6, "litellm_provider": vendor}

    monkeypatch.setattr(prices, "_table", lambda: {"small": row("openai"), "voyage/v3": row("voyage")})
    known = Prices({"own": Price(input=3, output=4)})
    assert [bool(known.of(model)) for model in ("small", "openai/small", "voyage/v3")] == [True] * 3
    assert [known.of(model) for model in ("mistral/small", "v3", "openai/voyage/v3", "", "/")] == [None] * 5
    assert known.of("acme/own") == known.of("own") == Price(input=3, output=4)


def test_genai_prices_prices_models_of_vendors_but_no_local_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    def calc_price(usage: SimpleNamespace, *, model_ref: str, provider_id: str | None) -> SimpleNamespace:
        if not model_ref.startswith("acme") or provider_id not in (None, "acme"):
            raise LookupError(model_ref)
        rate = Decimal("0.1") if hasattr(usage, "cache_read_tokens") else Decimal(1)
        return SimpleNamespace(input_price=rate * usage.input_tokens / 1_000_000, output_price=Decimal("0.004"))

    monkeypatch.setattr(prices, "_table", dict)
    monkeypatch.setattr(prices, "find_spec", lambda name: object())
    monkeypatch.setitem(sys.modules, "genai_prices", SimpleNamespace(calc_price=calc_price, Usage=SimpleNamespace))
    prices._genai_price.cache_clear()
    known = Prices({"acme-own": Price(input=3, output=4)})
    assert known.of("acme-1") == known.of("acme/acme-1") == Price(input=1, cached=0.1, output=4)
    assert known.of("acme-own") == Price(input=3, output=4)
    assert [known.of(model) for model in ("acme-r1:7b", "other/acme-1", "small")] == [None] * 3
    prices._genai_price.cache_clear()
