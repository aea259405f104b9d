"""How much of what was found reaches a model that writes: a share of a lot, and all of a little."""

from __future__ import annotations

from pathlib import Path

import pytest

import leadline
from leadline.records import Document, Hit, Source
from leadline.settings import Settings
from leadline_plugins.stages.material import (
    A_QUERY,
    CJK_A_QUERY,
    CJK_LEAST,
    LEAST,
    LETTERS,
    SHARE,
    most_words,
    shortfall,
    words,
)


@pytest.mark.parametrize(
    ("characters", "language", "wanted"),
    [
        (40, "en", LEAST),
        (300_000, "en", int(300_000 * SHARE / LETTERS)),
        (3_000_000, "en", 24_000),
        (40, "zh", CJK_LEAST),
        (30_000, "zh", int(30_000 * SHARE)),
    ],
)
def test_the_share_has_a_least_and_a_most(characters: int, language: str, wanted: int) -> None:
    source = Source(id="a", hit=Hit(url="https://example.org/"), document=Document(text="x" * characters))
    assert words([source], language, 24_000) == wanted


def settings_of(tokens: int) -> Settings:
    return Settings.model_validate({"budget": {"tokens": tokens}})


@pytest.mark.parametrize(
    ("tokens", "queries", "cjk", "most"),
    [
        (400_000, 8, False, 8 * A_QUERY),
        (400_000, 20, False, 20 * A_QUERY),
        (400_000, 12, True, 12 * CJK_A_QUERY),
        (60_000, 12, False, 8_000),
        (0, 12, False, LEAST),
    ],
)
def test_what_reaches_writers_grows_with_the_searches_within_the_budget(
    tokens: int, queries: int, cjk: bool, most: int
) -> None:
    assert most_words(settings_of(tokens), queries, cjk=cjk) == most


def test_less_than_is_aimed_at_is_told() -> None:
    def pages(characters: int) -> list[Source]:
        return [Source(id="a", hit=Hit(url="https://example.org/"), document=Document(text="x" * characters))]

    def said(characters: int, language: str = "en", *, tokens: int = 400_000, queries: int = 11) -> str:
        return shortfall(pages(characters), language, settings_of(tokens), queries)

    searched, spent = "more would be over the tokens of a search", "the budget of tokens allows no more; raise it with"
    assert said(1_000_000) == f"some 12% of what was read is written from, not 16%: {searched}"
    assert said(1_000_000, "zh").startswith("some 6% of what was read")
    assert said(1_000_000, tokens=60_000).endswith(f"from, not 16%: {spent} --set budget.tokens=120000")
    assert said(1_000_000, tokens=0).endswith(f": {spent} --set budget.tokens=N")
    assert said(700_000) == said(100) == said(100, tokens=0) == ""
    assert shortfall([], "en", settings_of(400_000), 11) == ""


async def test_of_a_short_note_every_sentence_is_there_when_no_model_answers(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "varn.txt").write_text("The harbour of Varn is 12 fathoms deep.")
    values = {
        "ai.providers": ["openai"],
        "plugins.openai.base_url": "http://127.0.0.1:9/v1",
        "plugins.openai.model": "none",
        "retry.base": 0,
    }
    runs = leadline.Client(docs=[tmp_path / "docs"], folder=tmp_path / "runs", cache=tmp_path / "cache", set=values)
    async with runs:
        result = await runs.research("How deep is the harbour of Varn?")
    assert result.status == "partial"
    assert "never answered" in result.reason
    assert result.report is not None
    assert "12 fathoms deep" in (result.report.sections[0].text or "")
