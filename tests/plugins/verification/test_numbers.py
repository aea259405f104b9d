"""The numbers of a text, and whether a text has a number in any notation."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import pytest

from leadline_plugins.verification.lexicon import languages
from leadline_plugins.verification.number_parsing import Number, find_numbers
from leadline_plugins.verification.numbers import missing_numbers, values_of


def _rows(*tables: str) -> Iterator[tuple[str, list[str]]]:
    for tables_of in languages().values():
        yield from ((table, row) for table in tables for row in tables_of.get(table, ()))


@pytest.mark.parametrize(
    ("table", "row"), list(_rows("words", "doubtful", "fractions", "scales", "months", "percent", "units", "counters"))
)
def test_the_example_of_each_row_reads_as_the_row_says(table: str, row: list[str]) -> None:
    example = row[3] if table == "units" else row[2]
    found = find_numbers(example)
    assert any(_is(table, row, one) for one in found), found


def _is(table: str, row: list[str], one: Number) -> bool:
    match table:
        case "units":
            return one.base == (row[1], 5 * Decimal(row[2]))
        case "percent" | "months":
            return one.kind == table.removesuffix("s")
        case "counters":
            return one.value == 3
        case "scales" | "fractions":
            return Decimal(row[3]) in one.readings
        case _:
            return Decimal(row[1]) in one.readings


@pytest.mark.parametrize("row", [row for _, row in _rows("ranges")])
def test_the_lower_end_of_a_range_has_the_scale_of_the_upper_one(row: list[str]) -> None:
    low, _ = find_numbers(row[2])
    assert any(value >= 30_000 for value in low.readings)


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("20 million people", "2000万人"),
        ("20,000,000 people", "twenty million people"),
        ("90 minutes", "1.5 hours"),
        ("about 12,000 ships", "11,982 ships"),
        ("25 %", "a rate of 0.25"),
        ("25 percent", "百分之二十五"),
        ("14 March 2025", "2025-03-14"),
        ("2025年3月14日", "14.03.2025"),
        ("二〇二四年三月", "March 2024"),
        ("2:30 pm", "14:30"),
        ("in 1995", "the years 1990, 1995 and 2000"),
        ("5.2 km", "5,200 m"),
        ("六座水库", "6 reservoirs"),
        ("1.234,5 Tonnen", "1,234.5 tonnes"),
        ("version 3.11.2", "Python 3.11.2"),
        ("10^6 litres", "1,000,000 litres"),
        ("one million litres", "10⁶ litres"),
        ("5,000 m", "5×10³ m"),
        ("0.032 mm", "3.2e-2 mm"),
        ("3.2×10^-2 mm", "0.032 mm"),
        ("1.234.567 Euro", "1,234,567 euros"),
        ("3.5 miles", "3½ miles"),
        ("0.5 crown", "1/2 crown"),
        ("built in 1950", "built in 1950^3 by forty men"),
        ("100–499, 989", "100..499 and 500....989"),
    ],
)
def test_a_number_is_found_in_another_notation(claim: str, source: str) -> None:
    assert missing_numbers(claim, [source]) == []


@pytest.mark.parametrize(
    ("claim", "source", "lacks"),
    [
        ("999 billion euros", "20 million euros", "999 billion"),
        ("in 2020", "in 2024", "2020"),
        ("in April 2025", "in March 2025", "April"),
        ("120 ships", "119 ships", "120"),
        ("version 3.11.2", "version 3.11.4", "3.11.2"),
        ("106 litres", "10^6 litres", "106 litres"),
        ("6 litres", "10^6 litres", "6 litres"),
        ("3.2 mm", "3.2e-2 mm", "3.2 mm"),
        ("12 crowns", "1/2 crown", "12"),
        ("约3.5亿元", "约3.4亿元", "3.5亿"),
    ],
)
def test_another_value_is_missing(claim: str, source: str, lacks: str) -> None:
    assert [one.text for one in missing_numbers(claim, [source])] == [lacks]


@pytest.mark.parametrize("claim", ["the second one", "COVID-19 and x86_64", "may march on", "万一十分"])
def test_what_may_be_no_number_is_never_missing(claim: str) -> None:
    assert missing_numbers(claim, [""]) == []


@pytest.mark.parametrize(
    ("claim", "quote"),
    [
        ("20 people more", "80 people last year, 100 people now"),
        ("25 % more", "80 people last year, 100 people now"),
        ("180 people in all", "80 people last year, 100 people now"),
        ("the other 70 %", "30 % of them"),
        ("2.5 times as much", "40 tonnes, then 100 tonnes"),
    ],
)
def test_difference_sum_share_and_ratio_are_computed_from_a_quote(claim: str, quote: str) -> None:
    [number] = find_numbers(claim)
    assert values_of(quote).computes(number)


def test_an_unrelated_value_is_not_computed() -> None:
    [number] = find_numbers("999 billion")
    assert not values_of("20 million euros in 2024").computes(number)


def test_each_number_has_its_span_in_the_text() -> None:
    text = "Ｉn ２０２４ it rose to 2.5 million (三百人)."
    assert [text[one.start : one.end] for one in find_numbers(text)] == ["２０２４", "2.5 million", "三百"]
