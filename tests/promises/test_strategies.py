"""The four search strategies, over engines that answer at once, late, with little or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import leadline

QUESTION = "How deep was the harbour of Port Ellery in 1871, in fathoms?"
TEXT = "The harbour of Port Ellery was {} fathoms deep at the mole in 1871, as the survey of the coast found."
Pages = Callable[..., dict[str, Any]]


@pytest.fixture
def ask(examples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[list[str], list[str]]]:
    """Search once with a strategy; returns the engines that were asked, in order, and those whose pages were kept."""
    monkeypatch.syspath_prepend(str(examples))

    def ask(strategy: str, engines: list[str], *settings: dict[str, Any]) -> tuple[list[str], list[str]]:
        chosen = {"search.engines": engines, "search.strategy": strategy, "research.first_queries": 1}
        chosen |= {"ai.providers": ["embedded"], "retry.attempts": 1, "search.straggler": 0.2}
        for more in settings:
            chosen |= more
        result = leadline.research_sync(QUESTION, pipeline="oneshot", folder=tmp_path / "runs", set=chosen)
        assert result.status == "complete", result.reason
        found = json.loads((result.folder / "search_results.json").read_text(encoding="utf-8"))
        asked = (tmp_path / "engines.log").read_text(encoding="utf-8").split()
        return asked, sorted({hit["engine"] for item in found for hit in item["hits"]})

    return ask


def test_batch_asks_all_engines_merges_their_pages_and_leaves_a_straggler(ask: Any, pages: Pages) -> None:
    engines = pages("one", TEXT.format(9)), pages("two", TEXT.format(7)), pages("late", TEXT.format(5), late=5)
    asked, kept = ask("batch", ["one", "two", "late"], *engines)
    assert sorted(asked) == ["late", "one", "two"]
    assert kept == ["one", "two"]


def test_race_takes_the_first_good_answer(ask: Any, pages: Pages) -> None:
    engines = pages("late", TEXT.format(9), late=5), pages("empty"), pages("first", TEXT.format(7), late=0.1)
    asked, kept = ask("race", ["late", "empty", "first"], *engines)
    assert sorted(asked) == ["empty", "first", "late"]
    assert kept == ["first"]


def test_hybrid_asks_the_next_engine_only_where_the_first_finds_too_little(ask: Any, pages: Pages) -> None:
    enough = {"plugins.hybrid.enough": 2}
    engines = (
        pages("few", TEXT.format(9)),
        pages("more", TEXT.format(7), TEXT.format(5)),
        pages("spare", TEXT.format(3)),
    )
    asked, kept = ask("hybrid", ["few", "more", "spare"], *engines, enough)
    assert asked == ["few", "more"]
    assert kept == ["few", "more"]


def test_fallback_asks_the_next_engine_only_where_the_first_fails_or_finds_nothing(ask: Any, pages: Pages) -> None:
    engines = pages("down", fails=True), pages("empty"), pages("good", TEXT.format(9)), pages("spare", TEXT.format(7))
    asked, kept = ask("fallback", ["down", "empty", "good", "spare"], *engines)
    assert asked == ["down", "empty", "good"]
    assert kept == ["good"]
