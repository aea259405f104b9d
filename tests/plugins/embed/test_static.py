"""The embedder of this machine: near where words are shared, the same in every process, honest about what it lacks."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import leadline
from leadline._hosting.catalog import PluginCatalog
from leadline.errors import Unsupported
from leadline.records import EmbedRequest
from leadline.testing.context import FakeCall, fake_context
from leadline_plugins.embed.static import SIZE, Static, StaticSettings, features, hashed

needs_words = pytest.mark.skipif(find_spec("wordllama") is None, reason="pip install leadline[static]")


def likeness(one: str, other: str) -> float:
    return sum(a * b for a, b in zip(hashed(one), hashed(other), strict=True))


@pytest.mark.parametrize(
    ("question", "right", "wrong"),
    [
        ("How deep is the harbour?", "The harbours were deepest at the mole.", "Prices of grain rose in spring."),
        ("海底有多深？", "海底深度为八百米。", "股票价格上涨了。"),
        ("首都はどこですか", "その国の首都は大きい。", "電車は速い。"),
        ("한국의 수도는?", "서울은 한국의 수도이다.", "기차는 빠르다."),
    ],
)
def test_shared_words_are_near(question: str, right: str, wrong: str) -> None:
    assert likeness(question, right) > 2 * max(likeness(question, wrong), 0.01)


@given(st.text())
def test_any_text_has_a_vector_of_length_one_or_none(text: str) -> None:
    vector = hashed(text)
    length = sum(place * place for place in vector)
    assert len(vector) == SIZE
    assert length == pytest.approx(1.0) or length == 0.0
    assert hashed(text) == vector


def test_forms_of_a_word_share_parts() -> None:
    assert set(features("sounding")) & set(features("soundings"))
    assert list(features("a 海底")) == ["海", "底", "海底", "a"]


def test_the_vector_is_the_same_in_another_process() -> None:
    code = "from leadline_plugins.embed.static import hashed; print(hashed('The harbour, 海底'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(hashed("The harbour, 海底"))


async def test_one_vector_a_text_in_their_order(tmp_path: Path) -> None:
    context = fake_context(tmp_path)
    static = Static(StaticSettings(), context)
    made = await static.embed(EmbedRequest(model="", texts=("a b", "", "海底")), FakeCall())
    assert [len(vector) for vector in made.vectors] == [SIZE] * 3
    assert made.vectors[0] == tuple(round(place, 5) for place in hashed("a b"))
    assert (await static.embed(EmbedRequest(model="", texts=()), FakeCall())).vectors == ()
    with pytest.raises(Unsupported, match="choose from hashed, wordllama, both"):
        await static.embed(EmbedRequest(model="bert", texts=("a",)), FakeCall())
    await context.close()


@needs_words
async def test_trained_vectors_know_words_of_one_meaning(tmp_path: Path) -> None:
    context = fake_context(tmp_path)
    static = Static(StaticSettings(model="both"), context)
    texts = ("The physician was ill.", "A doctor fell sick.", "Trains are fast.")
    one, same, other = (await static.embed(EmbedRequest(model="", texts=texts), FakeCall())).vectors
    assert len(one) == SIZE + 256
    assert sum(a * b for a, b in zip(one, same, strict=True)) > sum(a * b for a, b in zip(one, other, strict=True))
    await context.close()


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    offer = PluginCatalog.discover().offer("embedders", "static")
    assert offer.ready(StaticSettings()) is None
    monkeypatch.setattr("leadline_plugins.embed.static.find_spec", lambda name: None)
    assert "leadline plugins install 'leadline[static]'" in str(offer.ready(StaticSettings(model="both")))


async def test_a_run_embeds_with_it(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("The harbour is deep.")
    settings = {"ai.embedder": "static", "search.engines": ["local"], "plugins.local.folders": [str(tmp_path)]}
    async with leadline.Client(set=settings, folder=tmp_path / "runs", cache=tmp_path / "cache") as client:
        member = client.plugins.instance("embedders", "static")
        made = await (await member.get()).embed(EmbedRequest(model="", texts=("a",)), FakeCall())
    assert len(made.vectors[0]) == SIZE
