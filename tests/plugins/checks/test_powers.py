"""Powers of ten: read as one number however they are written, and told to people as people write them."""

from __future__ import annotations

from decimal import Decimal

import pytest

from leadline_plugins.checks.figures import figures
from leadline_plugins.checks.judge import judge
from leadline_plugins.checks.quotes import plain

ANNEALS = "For thin films, anneals at 520°C can improve microresonator Q from 1.5×10⁶ to 5×10⁶."


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("about 10⁶ cells", "1000000"),
        ("about 10^6 cells", "1000000"),
        ("1.5×10⁶ cells", "1500000"),
        ("1.5 x 10^6 cells", "1500000"),
        ("a loss of 10⁻³ of it", "0.001"),
        ("a loss of 1e-3 of it", "0.001"),
        ("3.1×10⁻⁴ of it", "0.00031"),
    ],
)
def test_each_way_of_writing_one_is_one_number(text: str, value: str) -> None:
    assert [one.value for one in figures(text)] == [Decimal(value)]
    assert [one.value for one in figures(plain(text))] == [Decimal(value)]


def test_a_number_with_a_raised_digit_that_is_no_power_of_ten_stays_itself() -> None:
    assert figures("In 2010² it was so")[0].value == 20102


def test_a_claim_is_not_contradicted_by_the_power_that_it_repeats() -> None:
    assert judge("Anneals improve microresonator Q from 1.5 × 10⁶ to 5 × 10⁶", ANNEALS).verdict == "supported"


def test_another_power_is_told_as_it_is_written() -> None:
    found = judge("Anneals improve microresonator Q from 1.5 × 10⁶ to 7 × 10⁶", ANNEALS)
    assert (found.verdict, found.reason) == ("contradicted", "the claim says 7 × 10^6, the passage 5×10^6")
