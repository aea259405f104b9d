"""Claims and quotes that stand in a text as signs alone: they begin or end within one of its numbers."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadline_plugins.checks.judge import judge
from leadline_plugins.checks.quotes import find, find_said


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("5% of the patients recovered", "95% of the patients recovered."),
        ("5% of the patients recovered", "About 95 % of the patients recovered."),
        ("5 million people live here", "1.5 million people live here."),
        ("300 people were hurt", "1,300 people were hurt."),
        ("300 people were hurt", "1 300 people were hurt."),
        ("300 people were hurt", "1\u202f300 people were hurt."),
        ("30 people were hurt", "20-30 people were hurt."),
        ("30 people were hurt", "20 – 30 people were hurt."),
        ("5 °C was measured", "-5 °C was measured."),
        ("5 °C was measured", "At noon −5 °C was measured."),
        ("5亿元用于研发", "35亿元用于研发。"),
        ("五亿元用于研发", "十五亿元用于研发。"),
        ("8月利润下降", "1-8月利润下降。"),
        ("8月利润下降", "1月至8月利润下降。"),
        ("2022年销量下降", "2020-2022年销量下降。"),
        ("Sales rose by 5", "Sales rose by 5.7 percent."),
        ("It was founded in 19", "It was founded in 1987."),
    ],
)
def test_a_number_cut_in_two_does_not_stand(quote: str, text: str) -> None:
    assert find_said(quote, text) is None
    assert not judge(f"{quote}.", text).exact or judge(f"{quote}.", text).verdict != "supported"


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("5% of the patients recovered", "In all, 5% of the patients recovered."),
        ("5% of the patients recovered", "95% of the patients recovered, but 5% of the patients recovered late."),
        ("5 % of the patients recovered", "95% of the patients recovered; **5%** of the patients recovered late."),
        ("19 cases", "COVID-19 cases"),
        ("300 people were hurt", "In 2020 300 people were hurt."),
        ("300 people were hurt", "In 2020, 300 people were hurt."),
        ("5 million people", "It has $5 million people."),
        ("5 people were hurt", "It ended [3].5 people were hurt."),
        ("5亿元用于研发", "去年，5亿元用于研发。"),
        ("三国签署协议", "统一三国签署协议。"),
        ("It rose in 2020", "It rose in 2020. 5 fell."),
        ("It rose in 2020", "It rose in 2020, 5 fell."),
        ("5 people were hurt", "- 5 people were hurt"),
    ],
)
def test_a_whole_number_stands(quote: str, text: str) -> None:
    found = find_said(quote, text)
    assert found is not None
    assert found >= (find(quote, text) or found)


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("30 people were hurt.", "From 20 to 30 people were hurt."),
        ("30 people were hurt.", "In all, over 30 people were hurt."),
    ],
)
def test_the_end_of_a_range_in_words_is_not_the_claim(claim: str, text: str) -> None:
    assert not judge(claim, text).exact


@given(st.integers(0, 10**6), st.integers(1, 9), st.sampled_from(["", ".", ",", "-"]))
def test_no_rest_of_a_number_stands(rest: int, first: int, mark: str) -> None:
    assert find_said(f"{rest} people were hurt", f"In all {first}{mark}{rest} people were hurt.") is None


@given(
    st.integers(0, 10**6), st.text(st.characters(categories=["Lu", "Ll", "Lo"], exclude_characters="至到"), min_size=1)
)
def test_a_number_behind_a_word_stands(number: int, word: str) -> None:
    assert find_said(f"{number} people", f"{word} {number} people") is not None


def test_many_numbers_cut_in_two_are_quickly_passed() -> None:
    started = time.process_time()
    assert find_said("1", "1" * 200_000) is None
    assert find_said("12 people [1]", "112  people[1] " * 10_000) is None
    assert time.process_time() - started < 2
