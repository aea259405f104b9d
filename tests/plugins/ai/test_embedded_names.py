"""Names, and what tells a sentence from another in the same words."""

from __future__ import annotations

import pytest

from leadline.records import Evidence
from leadline_plugins.ai.embedded.choose import Rated, choose
from leadline_plugins.ai.embedded.names import names, telling
from leadline_plugins.text import content_set


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Specifically, we devise a network.", ()),
        ("First, we study a classifier.", ()),
        ("Unlike prior work, Detic is simple.", ("Detic",)),
        ("Existing methods collect labels.", ()),
        ("First National Bank grew.", ("First National Bank",)),
        ("The New Deal came.", ("New Deal",)),
    ],
)
def test_a_word_that_only_begins_a_sentence_is_no_name(text: str, found: tuple[str, ...]) -> None:
    assert names(text) == found


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("It was valued at 104.28 billion by Grand View [3].", {"104", "28", "grand", "view"}),
        ("France grew by 3% [1, 2].", {"franc", "3"}),
        ("金价升至3,357美元。", {"3", "357"}),
        ("It is expected to grow.", set()),
    ],
)
def test_figures_and_names_tell_and_the_number_of_a_citation_does_not(text: str, tokens: set[str]) -> None:
    assert telling(text) == tokens


def quoted(name: str, source: str, quote: str, rating: float) -> Rated:
    return Rated(Evidence(id=name, source_id=source, quote=quote, span=(0, len(quote)), claim=quote), rating)


ESTIMATES = (
    "The market was valued at USD 104.28 billion in 2024 and is expected to grow by 12.02% a year.",
    "The market was valued at USD 127.80 billion in 2024 and is expected to grow by 27.0% a year.",
)


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        (*ESTIMATES, True),
        ("Elm has a town hall of 40 rooms since 1901.", "Oak has a town hall of 40 rooms since 1901.", True),
        ("金价在2024年升至2,386美元每盎司。", "金价在2025年升至3,357美元每盎司。", True),
        (ESTIMATES[0], ESTIMATES[0].replace("market", "whole market"), False),
        (ESTIMATES[0], ESTIMATES[0].replace("year.", "year [3]."), False),
        ("However, the bridge was closed for repair.", "Specifically, the bridge was closed for repair.", False),
    ],
)
def test_what_differs_in_figures_or_names_is_no_repetition(one: str, other: str, both: bool) -> None:
    assert content_set(one) & content_set(other)
    taken = choose([quoted("a", "s", one, 0.5), quoted("b", "t", other, 0.49)], 1000, "en")
    assert [item.evidence.id for item in taken] == ["a", *(["b"] if both else [])]


def test_one_fact_brings_in_fewer_documents_than_what_is_asked_for_several_things() -> None:
    said = ("The bridge is of iron.", "Ferries ran at night.", "Tolls rose twice.")
    rated = [quoted(name, name, one, rating) for name, one, rating in zip("abc", said, (0.8, 0.45, 0.3), strict=True)]
    assert [item.evidence.id for item in choose(rated, 1000, "en")] == ["a"]
    assert [item.evidence.id for item in choose(rated, 1000, "en", wide=True)] == ["a", "b"]
