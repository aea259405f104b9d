"""Other spellings of a word, and what a misspelt query is likely to mean."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from leadline.records import SearchRequest


@pytest.mark.parametrize(
    ("query", "suggestion"),
    [
        ("How are handlrs rotated?", "How are handlers rotated?"),
        ("How are hanlders rotated?", "How are handlers rotated?"),
        ("lgging hndlers", "logging handlers"),
        ("Configuraton of Loggging", "configuration of logging"),
        ("How are handlers rotated?", ""),
        ("Who was Napoleon?", ""),  # nothing is near
        ("Does rust log?", ""),  # too short: it is near `dust`, and to many other words
        ("ログの設定は？", ""),
        ("rotates handler", ""),  # other forms of known words
    ],
)
async def test_unknown_words_are_replaced_by_the_nearest_known_ones(desk: Any, query: str, suggestion: str) -> None:
    desk.write("a.md", "# Configuration\n\nLogging handlers are rotated by size. Dust must be wiped.")
    desk.write("b.md", "# Handles\n\nThe handle of the door is of brass.")
    page = await desk.engine().search(SearchRequest(query=query), desk.call)
    assert page.suggestion.casefold() == suggestion.casefold()


async def test_a_question_finds_the_text_that_spells_its_words_otherwise(desk: Any) -> None:
    labelled = Path(__file__).parents[3] / "benchmarks" / "quality" / "data" / "spellings.jsonl"
    rows = [json.loads(line) for line in labelled.read_text("utf-8").splitlines()]
    for index, row in enumerate(rows):
        desk.write(f"{index}.md", row["text"])
    engine = desk.engine()
    for index, row in enumerate(rows):
        page = await engine.search(SearchRequest(query=row["question"]), desk.call)
        assert page.hits, row
        assert Path(page.hits[0].url).stem == str(index), row
