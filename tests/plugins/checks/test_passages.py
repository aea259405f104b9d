"""Where a source speaks of a claim: which sentences are picked, and what stands beside the best."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

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
