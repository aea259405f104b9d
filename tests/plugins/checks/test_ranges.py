"""Ranges that say their scale and unit once, at the end: `12 to 15 million`."""

from __future__ import annotations

import pytest

from leadline_plugins.checks.figures import figures
from leadline_plugins.checks.judge import judge


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("from 12 to 15 million", 12 * 10**6, ""),
        ("2 to 3 million", 2 * 10**6, ""),
        ("$3-4 billion", 3 * 10**9, "usd"),
        ("$3–$4 billion", 3 * 10**9, "usd"),
        ("von 12 auf 15 Millionen", 12 * 10**6, ""),
        ("从12到15亿", 12 * 10**8, ""),
        ("12至15亿元", 12 * 10**8, "yuan"),
        ("between 12 and 15 million", 12 * 10**6, ""),
        ("from 12 to 15 percent", 12, "%"),
        ("3-5 years", 3, "years"),
    ],
)
def test_the_first_of_a_range_has_the_scale_and_unit_of_its_end(text: str, value: int, unit: str) -> None:
    first = figures(text)[0]
    assert first.value == value
    assert first.unit == unit


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("from 900 to 1.2 million", 900),
        ("12 and 15 million", 12),
        ("in 2010 to 15 million", 2010),
        ("5, 15 million", 5),
    ],
)
def test_what_is_no_range_keeps_its_value(text: str, value: int) -> None:
    assert figures(text)[0].value == value


TONNES = "Exports rose from 12 million tonnes to 15 million tonnes."


@pytest.mark.parametrize(
    ("claim", "text", "borne"),
    [
        ("Exports rose from 12 to 15 million tonnes.", TONNES, True),
        (
            "In 2020 exports rose from 12 million to 15 million tonnes.",
            "In 2020 exports rose from 12 to 15 million t.",
            True,
        ),
        ("Exports rose from 13 to 15 million tonnes.", TONNES, False),
        ("Exports fell from 12 to 15 million tonnes.", TONNES, False),
    ],
)
def test_a_range_is_borne_by_the_same_range_said_in_full(claim: str, text: str, borne: bool) -> None:
    assert (judge(claim, text).verdict == "supported") is borne
