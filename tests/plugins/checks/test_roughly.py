"""Figures that are said roughly: rounded, bounded, by another scale, in words; and what is never certain of them."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadline_plugins.checks.asides import aside
from leadline_plugins.checks.figure import missing
from leadline_plugins.checks.figures import figures
from leadline_plugins.checks.judge import judge
from leadline_plugins.checks.rounding import rounded, within


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("The firm has 12,000 employees.", "The firm has 11,982 employees."),
        ("Revenue rose to $4.3 billion.", "Revenue rose to $4.27 billion."),
        ("Revenue rose to $4.3 billion.", "Revenue rose to $4,271 million."),
        ("Revenue rose to about USD 128 billion.", "Revenue rose to $127.8 billion."),
        ("Revenue rose to $24B.", "Revenue rose to $23,987 million."),
        ("收入为3.92万元。", "收入为39,218元。"),
        ("共有4.9亿个家庭。", "共有4.94亿个家庭。"),
        ("It was about 39.2 thousand yuan.", "It was 39,218 yuan."),
        ("Revenue rose to roughly $4 billion.", "Revenue rose to $4.27 billion."),
        ("The price (about 4 billion)", "The price of 4.27 billion"),
        ("约有5亿个家庭。", "共有4.94亿个家庭。"),
        ("Der Umsatz stieg auf rund 4,3 Milliarden Euro.", "Der Umsatz stieg auf 4,27 Milliarden Euro."),
        ("It holds more than 1,000 patients.", "It holds 1,043 patients."),
        ("It holds fewer than 1,100 patients.", "It holds 1,043 patients."),
        ("It holds nearly 1,100 patients.", "It holds 1,043 patients."),
        ("已有20多个国家。", "已有24个国家。"),
        ("已有20余个国家。", "已有24个国家。"),
        ("票房超过57亿元。", "票房为57.9亿元。"),
        ("票房接近58亿元。", "票房为57.9亿元。"),
        ("It was 1.5 million cells.", "It was 1.5×10⁶ cells."),
        ("It was 1.5 million cells.", "It was 1.5 x 10^6 cells."),
        ("It was 6.21 million hl.", "It was 6.21e6hL."),
        ("未来一两年", "未来一至两年"),
        ("未来一两年", "未来1-2年"),
        ("两三年内", "2-3年内"),
        ("三四千万户", "3000万-4000万户"),
        ("Three quarters of them.", "75% of them."),
        ("It fell by a third.", "It fell by 33%."),
        ("In 2024", "印度主导，2022-2024年"),
        ("In 2024", "dominated by India,2022-2024"),
        ("For two and a half weeks", "For 2.5 weeks"),
        ("The 21st prize", "The twenty-first prize"),
    ],
)
def test_what_is_said_roughly_is_borne(claim: str, text: str) -> None:
    assert missing(figures(claim), figures(text)) == []


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("The firm has 12,000 employees.", "The firm has 12,982 employees."),
        ("The firm has 120 employees.", "The firm has 119 employees."),
        ("It was in 1990.", "It was in 1989."),
        ("It holds more than 1,000 patients.", "It holds 900 patients."),
        ("It holds fewer than 1,000 patients.", "It holds 1,043 patients."),
        ("It holds more than 10 patients.", "It holds 1,043 patients."),
        ("They are at least 22 years old.", "They are 25 years old."),
        ("About 20 ships", "About 31 ships"),
        ("The 26th prize", "The 27th prize"),
        ("Revenue rose to EUR 5 billion.", "Revenue rose to USD 5 billion."),
        ("The 120th prize", "The 119th prize"),
        ("二〇二四年", "二〇二三年"),
        ("It cost 38 dollars.", "It cost much [38]."),
    ],
)
def test_what_differs_beyond_rounding_is_not_borne(claim: str, text: str) -> None:
    assert missing(figures(claim), figures(text))


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("The firm has 11,982 employees.", "The firm has 12,000 employees."),
        ("The firm has 4,000 employees.", "The firm has 4,271 employees."),
        ("The firm has about 4,000 employees.", "The firm has 6,271 employees."),
        ("The firm has more than 1,000 employees.", "The firm has 900 employees."),
        ("The loss was lowered to 25 dB/m.", "The loss was lowered to 0.25 dB/cm."),
        ("The loss was lowered to 25 dB/m.", "The loss was lowered to 3 dB/cm."),
        ("The loss was lowered to 2.5 million.", "The loss was lowered to 2.5 billion."),
        ("The 26th match was lost in Porto.", "The match was lost 513,319 times in Porto."),
        ("Four fifths of the trade went to Porto.", "Seven of the trade went to Porto."),
        ("Revenue of zoos grew by 45 million in the last year.", "Revenue of zoos grew [38] in the last year."),
        ("The firm was sold after two or three years.", "The firm was sold after about 5 years."),
    ],
)
def test_what_may_be_the_same_is_never_a_contradiction_beyond_doubt(claim: str, text: str) -> None:
    assert not judge(claim, text).exact


def test_a_bound_that_is_broken_contradicts_all_the_same() -> None:
    judged = judge("The firm has more than 1,000 employees.", "The firm has 900 employees.")
    assert (judged.verdict, judged.exact) == ("contradicted", False)


def test_the_mark_of_a_reference_contradicts_nothing() -> None:
    judged = judge(
        "Revenue of zoos grew by 45 million in the last year.", "Revenue of zoos grew [38] in the last year."
    )
    assert judged.verdict == "partial"


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("The firm has 11,982 employees.", "The firm has 12,900 employees."),
        ("The loss was lowered to 25 dB/m.", "The loss was lowered to 38 dB/m."),
        ("The 26th match was lost in Porto.", "The 27th match was lost in Porto."),
    ],
)
def test_what_differs_beyond_doubt_stays_exact(claim: str, text: str) -> None:
    judged = judge(claim, text)
    assert (judged.verdict, judged.exact) == ("contradicted", True)


@pytest.mark.parametrize(
    ("name", "sentence", "by_the_way"),
    [
        ("Warsaw", "Marie Curie, born in Warsaw, won the prize.", True),
        ("Paris", "Marie Curie, who worked in Paris, won the prize.", True),
        ("Siemens", "The mill was sold to Brown, a subsidiary of Siemens.", True),
        ("Warsaw", "Born in Warsaw, Marie Curie won the prize.", True),
        ("Brown", "The mill was sold to Brown, a subsidiary of Siemens.", False),
        ("Marie Curie", "Marie Curie, born in Warsaw, won the prize.", False),
        ("Kentucky", "Virginia, Arkansas, Kentucky, and Maine seceded.", False),
        ("Fitz", "In 1831 Robert Fitz sounded the bay at 40,000 feet.", False),
    ],
)
def test_what_is_said_by_the_way(name: str, sentence: str, by_the_way: bool) -> None:
    assert aside(name, sentence) == by_the_way


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        (
            "Marie Curie, born in Warsaw, won the Nobel Prize in 1903.",
            "Marie Curie, who worked in Paris, won the Nobel Prize in 1903.",
        ),
        (
            "Anna Berg, a graduate of Yale, opened the bridge on May 3, 2011.",
            "Anna Berg, the mayor under Governor Hill, opened the bridge on May 3, 2011.",
        ),
    ],
)
def test_names_said_by_the_way_are_never_a_contradiction_beyond_doubt(claim: str, text: str) -> None:
    assert not judge(claim, text).exact


numbers = st.decimals(min_value=1, max_value=10**9, places=2)


@given(numbers, st.integers(min_value=-1, max_value=6))
def test_a_rounded_number_is_within_half_a_unit_of_its_last_digit(found: Decimal, place: int) -> None:
    unit = Decimal(1).scaleb(place)
    claimed = (found / unit).to_integral_value() * unit
    if rounded(claimed, found, digits=1):
        assert abs(claimed - found) * 2 <= Decimal(1).scaleb(int(claimed.normalize().as_tuple().exponent))


@given(numbers, numbers)
def test_no_number_beyond_a_bound_is_within_it(claimed: Decimal, found: Decimal) -> None:
    assert not (within(claimed, found, "least") and found < claimed)
    assert not (within(claimed, found, "most") and found > claimed)
