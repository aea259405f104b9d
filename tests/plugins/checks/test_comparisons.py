"""How figures are compared: what a claim's own figures deny, and what its passage says the other way round."""

from __future__ import annotations

import pytest

from leadline_plugins.checks.causes import cause
from leadline_plugins.checks.comparisons import other_since, turned, untrue


@pytest.mark.parametrize(
    "claim",
    [
        "Single-core scores increased from 1128 to 1061.",
        "The rate fell from 3.1% to 4.2% in May.",
        "Its share was 49.7 %, below the average of 43.7 %.",
        "The rate of 3.1% is still higher than the 4.2% of Spain.",
        "2023年占比49.7%，低于43.7%的平均值",
        "2023年佔比49.7%，仍低於43.7%的平均值",
        "占比由43%升至34%",
        "Der Anteil stieg von 15 auf 9 Prozent.",
        "收入从8,000元降至9,500元",
        "The fund holds less in homes than in shares: 48.3% against 33.1%.",
        "Towns have more cranes than ports (12% versus 19%).",
        "Der Fonds hält weniger Häuser als Aktien: 48,3 % gegenüber 33,1 %.",
    ],
)
def test_what_a_claims_own_figures_deny_is_seen(claim: str) -> None:
    assert untrue(claim)


@pytest.mark.parametrize(
    "claim",
    [
        "Single-core scores increased from 1061 to 1128.",
        "It fell from 8 to 5 million.",
        "It climbed from place 8 to 3.",
        "It rose from 10th to 3rd.",
        "The balance rose from -2% to 1.5%, and fell from 2% to -3%.",
        "It grew from 2019 to 2005.",
        "It rose 5%, more than 8 million people in all.",
        "The return was 0.7% (target: 1.9% above wage growth) [8].",
        "The return was 0.7%, with 1.9% above wages and 8% below.",
        "The fund holds more in homes than in shares: 48.3% against 33.1%.",
        "Towns have no more cranes than ports (12% versus 19%).",
        "It costs more than before: 12% against 19 euros.",
        "占比49.7%，高于43.7%的平均值",
        "占比由34%升至43%",
        "Der Anteil stieg von 9 auf 15 Prozent.",
        "Der Anteil sank von 15 auf 9 Prozent.",
        "5个省份高于3个城市",
    ],
)
def test_what_figures_do_not_deny_is_left_alone(claim: str) -> None:
    assert not untrue(claim)


def test_from_where_to_where_the_other_way_round_is_seen() -> None:
    claim, held = "Scores went from 1128 to 1061.", "Scores went from 1061 to 1128."
    assert turned(claim, held) == ("1128 → 1061", "1061 → 1128")
    assert turned(claim, claim) is None
    assert turned(claim, f"{held} {claim}") is None
    assert turned("Scores are 1128 and 1061.", held) is None


@pytest.mark.parametrize(
    ("claim", "held", "words"),
    [
        ("收入环比下降16%", "收入同比下降16%", ("环比", "同比")),
        ("Sales fell 16% month on month.", "Sales fell 16% year-on-year.", ("month on month", "year-on-year")),
    ],
)
def test_another_period_is_seen(claim: str, held: str, words: tuple[str, str]) -> None:
    assert other_since(claim, held) == words
    assert other_since(claim, claim) is None
    assert other_since(claim, f"{held}；{claim}") is None


def test_a_judge_is_asked_about_a_comparison_that_is_wrong() -> None:
    held = "2012-2023年，土地出让金占比平均值43.7%，2023年土地出让金占比为49.7%。"
    found = cause("2023年土地出让金占比49.7%，低于43.7%的平均值", held)
    assert found is not None
    assert "deny" in found.reason
    assert cause("2023年土地出让金占比49.7%，高于43.7%的平均值", held) is None


def test_from_where_to_where_is_read_in_japanese() -> None:
    assert turned("比率は15%から9%になった。", "比率は9%から15%になった。") == ("15% → 9%", "9% → 15%")
    assert untrue("比率は15%から9%に上昇した。")
    assert not untrue("比率は9%から15%に上昇した。")
    assert not untrue("比率は15%から9%に低下した。")


def test_what_is_roughly_so_is_not_exactly_so() -> None:
    claim, held = "Homes are exactly a quarter of the fund.", "Homes are ~25% of the fund."
    found = cause(claim, held)
    assert found is not None
    assert found.reason == "the claim says exactly a quarter, the passage ≈ 25%"
    assert not found.answered(held, [held])
    assert cause("Homes are a quarter of the fund.", held) is None
    assert cause(claim, "Homes are 25% of the fund.") is None
