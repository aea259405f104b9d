"""The numbers of a text, and whether a text has a number in any notation."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from leadline.records import Evidence, Notice
from leadline_plugins.verification.judges.exact import missing_facts
from leadline_plugins.verification.lexicon import languages
from leadline_plugins.verification.number_parsing import Number, find_numbers
from leadline_plugins.verification.numbers import missing_numbers, values_of

# Labelled before the rules that they measure were written.
_DATA = Path(__file__).parents[2] / "benchmarks" / "quality" / "data"


def _labelled(name: str) -> list[Mapping[str, Any]]:
    return [json.loads(line) for line in (_DATA / f"{name}.jsonl").read_text("utf-8").splitlines()]


def _lacks(claim: str, *texts: str, quote: str = "", question: str = "") -> list[Notice]:
    """Return the facts of a claim that the passages with these texts lack."""
    passages = [
        Evidence(id=f"e{index}", source_id=f"s{index}", quote=text, span=(0, len(text)))
        for index, text in enumerate(texts)
    ]
    return missing_facts(claim, passages, {}, quote, question=question)


def test_labelled_notations_are_equal_if_their_values_are() -> None:
    wrong = [row for row in _labelled("notations") if bool(_lacks(row["claim"], row["passage"])) == row["same"]]
    assert not wrong


def test_a_number_of_the_question_is_missing_if_the_quote_has_another_in_its_place() -> None:
    wrong = [
        row
        for row in _labelled("false_premises")
        if bool(_lacks(row["answer"], row["passage"], quote=row["passage"], question=row["question"])) != row["caught"]
    ]
    assert not wrong


def test_the_sum_of_two_figures_of_cited_passages_is_not_missing() -> None:
    north, south = "The plant in the north has 1,340 workers.", "The plant in the south has 2,110 workers."
    assert not _lacks("The two plants have 3,450 workers.", north, south, quote=north)
    assert _lacks("The two plants have 3,500 workers.", north, south, quote=north)


def _rows(*tables: str) -> Iterator[tuple[str, list[str]]]:
    for tables_of in languages().values():
        yield from ((table, row) for table in tables for row in tables_of.get(table, ()))


@pytest.mark.parametrize(
    ("table", "row"),
    list(_rows("words", "doubtful", "fractions", "scales", "months", "percent", "units", "counters", "eras")),
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
        case "scales" | "fractions" | "eras":
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
        ("3.2×10^-2 mm", "0.032 mm"),
        ("0.5 crown", "1/2 crown"),
        ("built in 1950", "built in 1950^3 by forty men"),
        ("2.5 inches", "2 1/2 inches"),
        ("50 %", "½ of them"),
        ("30 minutes", "half an hour"),
        ("2.5 million", "two and a half million"),
        ("500.000 Euro", "eine halbe Million Euro"),
        ("the 19th century", "le XIXe siècle"),
        ("World War 2", "World War II"),
        ("昭和50年", "1975"),
        ("in 2023", "พ.ศ. 2566"),
        ("民國112年", "2023"),
        ("at 17:30", "午後5時半"),
        ("at 2.30 p.m.", "um 14.30 Uhr"),
        ("5 euros", "€5"),
        ("the 7th part", "七、开麦拉"),
        ("100–499, 989", "100..499 and 500....989"),
    ],
)
def test_a_number_is_found_in_another_notation(claim: str, source: str) -> None:
    assert missing_numbers(claim, [source]) == []


@pytest.mark.parametrize(
    ("claim", "source", "lacks"),
    [
        ("999 billion euros", "20 million euros", "999 billion euros"),
        ("in 2020", "in 2024", "2020"),
        ("in April 2025", "in March 2025", "April"),
        ("120 ships", "119 ships", "120"),
        ("version 3.11.2", "version 3.11.4", "3.11.2"),
        ("6 litres", "10^6 litres", "6 litres"),
        ("3.2 mm", "3.2e-2 mm", "3.2 mm"),
        ("12 crowns", "1/2 crown", "12"),
        ("at 17:30", "at 5.30 am", "17:30"),
        ("3.4 tonnes", "Some 3,400 of the tonnes were lost", "3.4 tonnes"),
        ("800 000 visitors", "620 000 visitors", "800 000"),
        ("two thirds of them", "half of them", "two thirds"),
        ("约3.5亿元", "约3.4亿元", "3.5亿元"),
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
