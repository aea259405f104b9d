"""Figures that follow from two of the passage: their difference, ratio, share, change and sum."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from leadline_plugins.checks.causes import cause
from leadline_plugins.checks.derived import derived, follows
from leadline_plugins.checks.figures import figures
from leadline_plugins.checks.judge import judge
from leadline_plugins.checks.risks import risk_ratios

REST = "Growth was 4.1% in towns and 6.3% in the country."
INCOME = "城镇居民人均可支配收入51,821元，增长5.1%；\n农村居民人均可支配收入21,691元，增长7.7%。"


@pytest.mark.parametrize(
    ("claim", "held"),
    [
        ("Growth was 2.2 percentage points higher in the country.", REST),
        ("Growth was 2.2 points higher in the country.", REST),
        ("占比下降1.78个百分点", "2020年占比达到43.59%，2021年下降至41.81%"),
        ("农村增速比城镇高2.6个百分点", INCOME),
        ("城镇居民的收入是农村居民的约2.39倍", INCOME),
        (
            "人均消费支出为26,796元，约相当于可支配收入的68%",
            "人均消费支出26,796元。\n人均可支配收入为39,218元，增长6.3%。",
        ),
        ("Together bonds and loans are 39–57 % of assets.", "Bonds hold 32–42 % and loans 7–15 % of assets."),
        ("二つの高値の差は約68ドルである", "高値は$3,499.88、もう一つの高値は$3,432である"),
        ("Sales rose 25% to 500 units.", "Sales rose from 400 to 500 units."),
        ("The north has 350 more ships than the south.", "The north has 900 ships, the south has 550 ships."),
        ("The three fleets have 1,800 ships in total.", "They have 900 ships, 550 ships and 350 ships."),
        ("The gap between the old pier and the new one across all years is thus 0.18.", "Old pier: 1.32; new: 1.14."),
    ],
)
def test_what_follows_from_two_figures_is_not_doubted(claim: str, held: str) -> None:
    assert cause(claim, held) is None
    found = judge(claim, held)
    assert found.verdict != "contradicted"
    assert "claim says" not in found.reason


@pytest.mark.parametrize(
    ("claim", "held"),
    [
        ("Growth was 2.4 percentage points higher in the country.", REST),
        ("农村增速比城镇高3.6个百分点", INCOME),
        ("城镇居民的收入是农村居民的约3.39倍", INCOME),
        ("Growth was 2.2% in the country.", REST),
        ("The gap is told of, and the worth of the old pier for all years is 0.18.", "Old pier: 1.32; new: 1.14."),
        ("The north has 350 ships.", "The north has 900 ships, the south has 550 ships."),
        ("Growth was 2.2 points higher.", "Growth: 4.1%, 6.3%, 8.8%, 9.4%, 15.7%, 21.2%."),
    ],
)
def test_what_does_not_follow_or_is_not_said_to_is_doubted(claim: str, held: str) -> None:
    assert cause(claim, held)


@given(st.integers(1, 999), st.integers(1, 999), st.integers(1, 999))
def test_only_the_difference_of_the_two_is_one(one: int, other: int, said: int) -> None:
    assume(one != other and said % 10)  # a whole number may be any that rounds to it
    first, second = Decimal(one) / 10, Decimal(other) / 10
    claim, held = f"It was {Decimal(said) / 10} points higher.", f"They were {first}% and {second}%."
    found = [figure for figure in figures(claim) if derived(figure, claim, figures(claim), held)]
    assert bool(found) == (said == abs(one - other))


RISKS = (
    "Death: isolation HR ≈1.32 (95% CI 1.07–1.63); among those who walk a relative risk of 0.75; late care went with "
    "damp homes (adjusted odds ratio 1.59). The harbour has 1.44 cranes a ship."
)


@pytest.mark.parametrize(
    "claim",
    [
        "Isolation goes with a hazard of death about 32% higher.",
        "Isolation raises the risk of an early death by 32%.",
        "Isolation raises the risk of an early death by 32%, and what is done late in damp homes by 59%.",
        "Those who walk have a 25% lower risk.",
        "In damp homes the odds of late care were 59% higher (odds ratio 1.59).",
    ],
)
def test_a_ratio_of_risks_is_a_change_in_percent(claim: str) -> None:
    assert cause(claim, RISKS) is None


@pytest.mark.parametrize(
    "claim",
    [
        "In damp homes the odds of late care were 41% higher.",
        "Isolation lowers the risk of an early death by 32%.",
        "Those who walk have a 25% higher risk of death.",
        "Isolation raises the risk of an early death by 63%.",
        "The harbour has 44% more cranes.",
        "Isolation was found in 32% of all.",
    ],
)
def test_what_no_ratio_comes_to_is_doubted(claim: str) -> None:
    found = [one for one in figures(claim) if one.unit == "%"]
    assert found
    assert not any(derived(one, claim, figures(claim), RISKS) for one in found)


@pytest.mark.parametrize(
    ("text", "ratios"),
    [
        ("dementia HR ≈1.31 (≈1.39 Alzheimer’s; ≈1.74 vascular)", ["1.31", "1.39"]),
        ("aHRs of 1.2 to 1.4 were found. It is 1.59 times", []),
        ("孤独的风险比为1.32，隔离的比值比为1.59。", ["1.32", "1.59"]),
        ("It costs 1.32 OR so", []),
        ("RR 1.32 (95% CI: 1.1, 1.5) for stroke", ["1.32"]),
    ],
)
def test_the_ratios_of_a_text(text: str, ratios: list[str]) -> None:
    assert sorted({str(one) for one in risk_ratios(text)}) == ratios


@given(st.integers(1, 999), st.integers(1, 999))
def test_only_the_change_that_a_ratio_tells_follows_from_it(ratio: int, said: int) -> None:
    claim, held = f"The risk is {said}% higher.", f"It has a hazard ratio of {Decimal(ratio) / 100:.2f}."
    found = [one for one in figures(claim) if derived(one, claim, figures(claim), held)]
    assert bool(found) == (said == ratio - 100)


@pytest.mark.parametrize(
    ("claim", "held"),
    [
        ("净利润比上年增加0.4亿元。", "净利润43.59亿元，连续5年增长，上年为43.2亿元。"),
        ("The number rose by 25%.", "The number rose from 80 to 100."),
        ("The number fell by 20%.", "The number fell from 100 to 80."),
        ("人数增长25%。", "人数从80万人增至100万人。"),
        ("The change of the number was one of 20%, or by 25%.", "The number rose from 80 to 100."),
    ],
)
def test_a_change_is_one_of_what_it_was_before_and_may_be_rounded(claim: str, held: str) -> None:
    assert cause(claim, held) is None


@pytest.mark.parametrize(
    ("claim", "held"),
    [
        ("The number rose by 20%.", "The number rose from 80 to 100."),
        ("The number fell by 25%.", "The number fell from 100 to 80."),
        ("人数增长20%。", "人数从80万人增至100万人。"),
    ],
)
def test_a_share_of_what_it_became_is_no_change(claim: str, held: str) -> None:
    assert cause(claim, held) is not None


def test_the_figure_that_is_told_alike_is_named_instead() -> None:
    against = cause("占比提高1.2个百分点，至25.4%。", "连续5年提高，占比提高1.78个百分点，至25.4%。")
    assert against is not None
    assert against.reason.endswith("the passage 1.78")


ROW = (
    "Assets: $1.1 trillion in Oslo, $2.2 trillion in Bergen, $0.7 trillion in Narva, $1.3 trillion in Riga; "
    "then $3.4 trillion in Turku, $0.9 trillion in Visby, $3.3 trillion in Kiel and $12.9 trillion in all."
)


@pytest.mark.parametrize(
    ("claim", "bears"),
    [
        ("The four ports hold $5.3 trillion, or about 41% of assets.", True),
        ("The four ports hold $5.9 trillion, or about 41% of assets.", False),
        ("The four ports hold $5.3 trillion, or about 63% of assets.", False),
    ],
)
def test_a_sum_of_some_of_a_row_and_its_share_are_borne_by_the_row(claim: str, bears: bool) -> None:
    said = figures(claim)
    shown = figures(ROW)
    assert all(follows(one, shown, said) for one in said if one.unit) is bears
    assert len(shown) > 6
