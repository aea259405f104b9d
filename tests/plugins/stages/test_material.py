"""How much of what was found reaches a model that writes: a share of a lot, and all of a little."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

import leadline
from leadline.contracts import Run
from leadline.findings import Plan, Question, SearchTask
from leadline.records import Document, Evidence, Hit, Section, Source
from leadline.settings.load import Settings
from leadline_plugins.stages.material import (
    A_QUERY,
    CJK_A_QUERY,
    CJK_LEAST,
    LEAST,
    LETTERS,
    SHARE,
    learnings,
    most_words,
    shortfall,
    words,
)
from leadline_plugins.tasks.sorting import SortRequest


def pages(*characters: int) -> tuple[Source, ...]:
    return tuple(
        Source(id=f"s{place}", hit=Hit(url=f"https://example.org/{place}"), document=Document(text="x" * size))
        for place, size in enumerate(characters)
    )


@pytest.mark.parametrize(
    ("characters", "language", "length", "wanted"),
    [
        (40, "en", 0, LEAST),
        (300_000, "en", 0, int(300_000 * SHARE / LETTERS)),
        (3_000_000, "en", 0, 24_000),
        (40, "zh", 0, CJK_LEAST),
        (30_000, "zh", 0, int(30_000 * SHARE)),
        (56_000, "en", 3_300, 6_600),
        (56_000, "en", 300, int(56_000 * SHARE / LETTERS)),
        (56_000, "en", 20_000, 24_000),
    ],
)
def test_the_share_has_a_least_and_a_most(characters: int, language: str, length: int, wanted: int) -> None:
    assert words(pages(characters), language, 24_000, length) == wanted


class Writing:
    """A run whose sections a model writes."""

    async def by_chat(self, task: str, role: str = "task") -> bool:
        return True


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("The bay is deep. " * 400, 15),
        ("海湾很深，船只不能停泊在那里的岸边。" * 120, 14),
        ("만은 깊다. " * 400, 14),
        ("The bay is deep. " * 4_000, 40),
        ("海湾很深。" * 10, 8),
    ],
)
async def test_a_page_in_chinese_gives_as_much_as_one_in_english(text: str, wanted: int) -> None:
    source = Source(id="a", hit=Hit(url="https://example.org/"), document=Document(text=text))
    assert await learnings(source, cast("Run", Writing())) == wanted


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


def said(
    characters: int, quoted: int, language: str = "en", *, tokens: int = 400_000, queries: int = 11, unsent: int = 0
) -> str:
    """Return what is told where of three pages, the first of which is so long, so many characters are written from."""
    line = "word " * 20 if language == "en" else "字" * 100
    quotes = [line[: min(100, quoted - at)] for at in range(0, quoted, 100)]
    found = tuple(
        Evidence(id=f"e{place}", source_id="s0", quote=quote, span=(0, len(quote)), claim="")
        for place, quote in enumerate(quotes)
    )
    ids = tuple(item.id for item in found)
    sources, settings = pages(characters, 0, 0), settings_of(tokens)
    most = most_words(settings, queries, cjk=language == "zh")
    request = SortRequest(
        question=Question(text="x", language=language),
        plan=Plan(title="x", sections=()),
        evidence=(*found, Evidence(id="not chosen", source_id="s1", quote="x" * 5_000, span=(0, 5_000), claim="")),
        sources=sources,
        tasks=tuple(SearchTask(id=f"q{place}", query="x") for place in range(queries)),
        material=words(sources, language, most, 0),
    )
    section = Section(id="1", title="x", evidence_ids=ids, unsent=ids[:unsent])
    return shortfall(request, [section], settings)


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        (
            said(1_000_000, 95_000),
            "passages come from 1 of 3 pages read, and are some 10% of what stands there: more would take over",
        ),
        (said(1_000_000, 59_000, "zh"), ": more would take over 10,000 tokens a search"),
        (said(1_000_000, 40_000, tokens=60_000), ": the budget of tokens allows no more; raise it with --set"),
        (said(1_000_000, 40_000, tokens=60_000), "--set budget.tokens=120000"),
        (said(1_000_000, 5_000, tokens=0), "--set budget.tokens=N"),
        (
            said(1_000_000, 24_100),
            "passages come from 1 of 3 pages read, and are some 2% of what stands there",
        ),
        (
            said(100_000, 17_000, unsent=100),
            "passages come from 1 of 3 pages read, and are some 7% of what stands there: the rest could not",
        ),
    ],
)
def test_less_than_is_aimed_at_is_told_as_it_is_and_with_its_reason(told: str, reason: str) -> None:
    assert reason in told


def test_no_reason_is_told_that_nobody_saw_and_not_the_aim() -> None:
    assert said(1_000_000, 24_100).endswith("of what stands there")
    assert "16%" not in said(1_000_000, 24_100)


def test_what_is_as_much_as_is_aimed_at_is_not_told() -> None:
    assert said(100_000, 16_000) == said(100, 100) == said(0, 0) == ""
    assert said(100_000, 15_900) != ""


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
    assert "did no task: " in result.reason
    assert result.report is not None
    assert "12 fathoms deep" in (result.report.sections[0].text or "")
