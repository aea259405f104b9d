"""What a claim says its source does not tell is no denial of what the source tells."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadline_plugins.checks.causes import cause
from leadline_plugins.checks.polarity import contrary

HELD = "Sales of the harbour's fish hall rose 5% in 2023."
LACKING = [
    "no reason is named",
    "no reason for it is given",
    "no share of small boats in it was ever reported",
    "why is not said",
    "why it did so is not known",
    "the source gives no reason",
    "the source does not say why",
    "the source doesn’t state by how much before",
    "nobody says why",
    "none of the sources gives a reason",
    "the report says nothing of boats",
    "no effect on wages is claimed for it",
]


@pytest.mark.parametrize("lacking", LACKING)
def test_a_gap_that_is_named_denies_nothing(lacking: str) -> None:
    claim = f"Sales of the fish hall rose 5%, but {lacking}."
    assert contrary(claim, HELD) is None
    assert contrary(HELD, claim) is None
    assert cause(claim, HELD) is None


@pytest.mark.parametrize(
    ("claim", "held"),
    [
        ("Sales rose without the report giving a figure.", "Sales rose."),
        ("The paper names a link without giving a figure.", "The paper reports a link."),
        ("销售额增长5%，但没有给出具体原因", "销售额增长5%"),
        ("销售额增长5%，原因未具体说明", "销售额增长5%"),
        ("销售额增长5%，原因不得而知", "销售额增长5%"),
        ("Der Umsatz stieg, doch wird kein Grund genannt.", "Der Umsatz stieg."),
        ("Der Umsatz stieg, der Grund wird nicht genannt.", "Der Umsatz stieg."),
    ],
)
def test_a_gap_is_known_in_other_words_and_languages(claim: str, held: str) -> None:
    assert contrary(claim, held) is None
    assert contrary(held, claim) is None


@pytest.mark.parametrize(
    ("claim", "held"),
    [
        ("No share of the lonely is given.", "A share of the lonely is given: 5%."),
        ("No adverse effects were reported.", "Adverse effects were common."),
        ("The bank gives no discount.", "The bank gives a discount."),
        ("There is no known cure for the fever.", "A cure for the fever was found."),
        ("The mayor did not say that sales fell.", "The mayor said that sales fell."),
        ("The harbour has not received an inquiry.", "The harbour has received an inquiry."),
        ("The cranes and the men have not returned.", "The cranes and the men have returned."),
        ("原因未具体说明", "原因已经说明"),
    ],
)
def test_a_gap_that_the_other_text_fills_is_denied(claim: str, held: str) -> None:
    assert contrary(claim, held)
    assert contrary(held, claim)


@pytest.mark.parametrize(
    ("claim", "asked"),
    [
        ("Sales of the fish hall rose 5% in 2023, but no figure for 2024 is given.", False),
        ("Sales of the fish hall rose 5%, but no share of buyers over 65 is given.", False),
        ("Sales of the fish hall rose 5%, but no reason for the 14,000 deaths is given.", True),
        ("Sales of the fish hall rose 5% in 2024, but no figure for 2024 is given.", True),
        ("Sales of the fish hall rose 5% to over 65, but no reason is given.", True),
        ("Sales of the fish hall rose 6%, but no reason is given.", True),
        ("Sales of the fish hall rose 5% in March 2023.", True),
    ],
)
def test_a_year_or_bound_of_what_is_lacking_stands_in_no_passage(claim: str, asked: bool) -> None:
    assert (cause(claim, HELD) is not None) is asked


def test_what_is_denied_is_named_in_its_own_words() -> None:
    found = cause("The fish hall rose to fame in town, but no ships called at its quay.", "The fish hall rose to fame.")
    assert found is not None
    assert found.reason == "one denies what the other says (no ships called at its quay)"


def test_words_for_the_rest_of_a_sentence_bear_a_negation_that_no_words_could_say() -> None:
    text = "The fish hall rose to lasting fame abroad. Much else is told."
    claim = "The fish hall rose to lasting fame abroad, but no foreign ships called at its crowded quay."
    found = cause(claim, text)
    assert found is not None
    assert found.denies
    assert found.answered("rose to lasting fame", [text])
    assert not found.answered("Much else is told", [text])
    assert not found.answered("Ships called at its quay", [text])


@given(st.text(max_size=60), st.text(max_size=60))
def test_what_denies_nothing_else_is_named_from_the_claim(claim: str, held: str) -> None:
    found = contrary(claim, held)
    assert found is None or (found.said and (not found.bare or found.said in claim))


@pytest.mark.parametrize(
    ("held", "asked"),
    [
        ("非税收入44730亿元，增长25.4%。", False),
        ("非税收入44730亿元，增长25.4%。2025年非税收入预算为43000亿元，增长2%。", False),
        ("2025年非税收入44730亿元，增长25.4%。", True),
    ],
)
def test_the_year_may_stand_around_a_sentence_that_has_none(held: str, asked: bool) -> None:
    around = "2024年，全国一般公共预算收入219702亿元。"
    assert bool(cause("2024年非税收入增长25.4%。", held, around=around)) == asked
