"""Bounds of one value that exclude each other, and small counts in words, of which none is certain."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadline_plugins.checks.causes import cause
from leadline_plugins.checks.figure import same
from leadline_plugins.checks.figures import figures
from leadline_plugins.checks.judge import judge

LEAST = ("at least", "more than", "no fewer than", "over")
MOST = ("at most", "fewer than", "less than", "no more than", "up to")


@given(st.sampled_from(LEAST), st.sampled_from(MOST), st.integers(13, 10**6), st.booleans())
def test_a_floor_and_a_ceiling_of_one_value_exclude_each_other(one: str, other: str, value: int, turned: bool) -> None:
    mine, theirs = (figures(f"{bound} {value} people")[0] for bound in ((other, one) if turned else (one, other)))
    assert not same(mine, theirs)
    assert same(mine, mine)


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("Fewer than 25 people were injured in the fire.", "At least 25 people were injured in the fire."),
        ("At most 25 people were injured in the fire.", "More than 25 people were injured in the fire."),
        ("超过四成的农村家庭使用天然气。", "使用天然气的农村家庭不到四成。"),
    ],
)
def test_such_a_claim_is_not_borne(claim: str, text: str) -> None:
    assert judge(claim, text).verdict == "contradicted"


def test_the_bound_is_shown_where_nothing_else_differs() -> None:
    found = judge("Fewer than 25 people were hurt in the fire.", "At least 25 people were hurt in the fire.")
    assert "the passage ≥ 25" in found.reason


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("Two people died in the fire.", "300 people died in the fire."),
        ("300 people died in the fire.", "Two people died in the fire."),
        ("两家工厂雇用800人。", "三家工厂雇用800人。"),
    ],
)
def test_a_small_count_in_words_is_not_certain(claim: str, text: str) -> None:
    assert not judge(claim, text).exact


def test_a_count_in_digits_is() -> None:
    assert judge("The fire killed 27 people.", "The fire killed 14 people.").exact


@pytest.mark.parametrize(
    ("said", "value", "unit"),
    [
        ("$100+ billion was paid", 100 * 10**9, "usd"),
        ("5+ million users came", 5 * 10**6, ""),
        ("10+ years later", 10, "years"),
        ("耗资100多亿元", 100 * 10**8, "yuan"),
        ("100+ people came", 100, ""),
    ],
)
def test_a_plus_before_its_scale_makes_a_number_a_bound(said: str, value: int, unit: str) -> None:
    (figure,) = figures(said)
    assert (int(figure.value), figure.unit, figure.bound) == (value, unit, "least")


def test_what_is_more_than_a_number_with_a_plus_is_borne() -> None:
    assert cause("The fund paid more than $100 billion.", "The fund paid $100+ billion.") is None


def test_a_bound_of_the_claim_is_shown_where_nothing_else_differs() -> None:
    found = cause("The fund paid less than $800 billion.", "The fund paid over $800 billion.")
    assert found is not None
    assert found.reason == "the claim says < $800 billion, the passage > $800 billion"


def test_a_cause_with_a_figure_is_named_whole() -> None:
    found = cause("The old fund grew in town because of 6.5 marble pipes.", "The old fund grew in town, 6.5.")
    assert found is not None
    assert "6.5 marble pipes" in found.reason
