"""A figure follows from those shown for it only by what a reader reckons himself, and never from a page of figures."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from leadline_plugins.checks.derived import follows
from leadline_plugins.checks.figure import Figure
from leadline_plugins.checks.figures import figures


@pytest.mark.parametrize(
    ("claim", "shown", "does"),
    [
        ("3.2 points", "from 10.1 to 13.3 %", True),
        ("61 ships", "40 ships and 21 ships", True),
        ("90 ships", "40 ships, 21 ships and 29 ships", True),
        ("46 %", "54 % of the patients", True),
        ("25 %", "5 of 20 patients", True),
        ("33 %", "from 60 to 80 tons", True),
        ("14,000 jobs", "4,000 jobs", False),
        ("46 ships", "54 ships and 3 boats", False),
        ("7 ships", "1, 2, 4, 11, 23, 51 and 103 ships", False),
        ("April 9", "April 4 and 5 days", False),
        ("9 ships", "", False),
    ],
)
def test_what_is_reckoned_from_the_figures_shown(claim: str, shown: str, does: bool) -> None:
    (wanted,) = figures(claim)
    assert follows(wanted, figures(shown)) is does


@given(one=st.integers(1, 10**6), other=st.integers(1, 10**6))
def test_a_sum_and_a_difference_follow_and_their_neighbours_do_not(one: int, other: int) -> None:
    shown = [Figure(Decimal(value), "", str(value)) for value in (one, other)]
    for value in one + other, abs(one - other):
        assume(value)
        assert follows(Figure(Decimal(value), "", str(value)), shown)
    assume(one > 1000 and other > 1000)
    beside = one + other + 1
    assume(beside % 10)  # else it may be the sum, rounded
    assert not follows(Figure(Decimal(beside), "", str(beside)), shown)


VALUES = st.decimals(allow_nan=False, allow_infinity=False, places=None)


@given(wanted=VALUES, shown=st.lists(VALUES, max_size=7), unit=st.sampled_from(["", "%"]))
def test_no_figure_however_long_is_a_fault(wanted: Decimal, shown: list[Decimal], unit: str) -> None:
    held = [Figure(value, unit, str(value)) for value in shown]
    found = follows(Figure(wanted, unit, str(wanted)), held)
    assert not found or held
