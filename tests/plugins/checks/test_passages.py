"""Where a source speaks of a claim: which sentences are picked, and what stands beside the best."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadline_plugins.checks.conflicts import conflicts
from leadline_plugins.checks.passages import passage
from leadline_plugins.text import sentences

COMMON = "".join(f"Troops of the army marched through village number {place}. " for place in range(12))
SIEGE = "The garrison at Sumter held out for a day. Its major hauled down the flag. Nobody was hurt."
CLAIM = "The troops in the garrison at Sumter gave up after a day."


def test_no_sentence_is_picked_for_one_common_word() -> None:
    found = passage(CLAIM, f"{COMMON}{SIEGE}")
    assert found.text == found.best == "The garrison at Sumter held out for a day."


def test_a_sentence_is_picked_for_a_rare_word() -> None:
    found = passage(CLAIM, f"{SIEGE} A long time after it, in another chapter of the book, troops are mentioned.")
    assert len(found.parts) == 2


def test_rare_words_weigh_more_than_common_ones() -> None:
    text = f"{COMMON}The army marched with its troops. {SIEGE}"
    assert passage("Troops of the army that marched held Sumter's garrison.", text).best.startswith("The garrison")


def test_a_judge_sees_the_neighbours_of_the_best_sentence() -> None:
    found = passage(CLAIM, f"{SIEGE} {COMMON}")
    assert found.wide == "The garrison at Sumter held out for a day. Its major hauled down the flag."
    far = passage("Nobody was hurt in village number 7.", f"{SIEGE} {COMMON}")
    assert " … " in far.wide
    assert all(part in far.wide for part in far.parts)


@given(claim=st.text("ab cd.", max_size=30), text=st.text("abc d.\n", max_size=120))
def test_what_is_picked_stands_in_the_text_and_in_what_a_judge_sees(claim: str, text: str) -> None:
    found = passage(claim, text)
    assert found.best in found.parts
    assert all(part in text and part in found.wide for part in found.parts)
    assert 1 <= len(found.parts) <= 3
    assert all(text[slice(*span)] == part for span, part in zip(found.spans, found.parts, strict=True))
    assert len(found.wide) <= len(text) + 6 * max(1, len(sentences(text)))


RISKS = (
    "Few friends go with higher risks of early death (hazard ratio about 1.32), of heart disease (risk ratio 1.29), "
    "and with impaired sleep. The odds of care put off were higher, with an odds ratio of 1.59. "
    "Other risks: poor sleep (OR ≈1.75), more falls, and worse outcomes in heart failure. "
) + "".join(f"In town {place} those over 75 were asked. " for place in range(8))
"""The digits of a figure are words that many of its sentences have."""


@pytest.mark.parametrize(
    "claim",
    ["The odds ratio of the risk of impaired sleep is about 1.75.", "Risks of impaired sleep; few friends; OR ≈1.75"],
)
def test_a_sentence_is_added_for_a_figure_that_none_of_those_picked_has(claim: str) -> None:
    found = passage(claim, RISKS)
    assert "(OR ≈1.75)" in found.text
    assert "Few friends" in found.best
    assert not list(conflicts(claim, found, RISKS))


def test_a_figure_of_another_thing_adds_no_sentence() -> None:
    other = f"{RISKS} The boat was sold for 1.75 million crowns.".replace("≈1.75", "≈1.74")
    assert "boat" not in passage("The hazard ratio of early death is 1.75.", other).text


def test_another_figure_in_the_place_of_the_claims_is_found_still() -> None:
    claim = "The hazard ratio of early death with few friends is about 1.75."
    assert [one.found for one in conflicts(claim, passage(claim, RISKS), RISKS)] == ["1.32"]


@given(numbers=st.lists(st.integers(1, 99), min_size=1, max_size=9), said=st.integers(1, 99))
def test_a_figure_that_stands_beside_the_claims_word_is_picked(numbers: list[int], said: int) -> None:
    text = " ".join(f"The level of lake {'abcdefghi'[at]} was {number} cubits." for at, number in enumerate(numbers))
    found = passage(f"The level of a lake was {said} cubits.", text)
    assert (str(said) in found.text.replace(".", "").split()) == (said in numbers)
    assert len(found.parts) <= 4
