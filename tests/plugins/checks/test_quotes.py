"""Quotes in their sources: what counts as word for word."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadline_plugins.checks.quotes import find, plain, squeezed

TEXT = "“The bay,” he said,\nis 40\u00a0fathoms deep – no ﬁner an-\nchorage exists… 海湾（很）深。"


@pytest.mark.parametrize(
    "quote",
    [
        '"The bay," he said, is 40 fathoms deep',
        "is 40 fathoms deep - no finer anchorage",
        "finer anchorage exists...",
        "海湾(很)深。",
        "is **40** fathoms deep",
        "he said, is\n\n40",
    ],
)
def test_typography_and_space_do_not_count(quote: str) -> None:
    found = find(quote, TEXT)
    assert found is not None
    assert TEXT[slice(*found)].strip() == TEXT[slice(*found)]


REFERRED = "Ports pay through dues [9]. The reels are new [12, 13]; so\\[4\\] they last.【5】 It grew by 9 %."


@pytest.mark.parametrize(
    "quote",
    [
        "Ports pay through dues.",
        "Ports pay through dues [9].",
        r"Ports pay through dues \[9\].",
        "The reels are new; so they last. It grew",
        REFERRED,
    ],
)
def test_marks_of_the_sources_own_references_do_not_count(quote: str) -> None:
    assert find(quote, REFERRED) is not None


@pytest.mark.parametrize(
    "quote",
    [
        "Ports pay through dues [8].",
        r"Ports pay through dues \[8\].",
        "Ports pay through dues [9, 10].",
        "Ports pay [9] through dues.",
        "The reels are new [13, 12]; so they last.",
        "The reels are new; so they last [5, 6].",
        "dues [12, 13]. The reels are new [9]; so",
    ],
)
def test_marks_that_the_quote_has_are_those_of_the_source(quote: str) -> None:
    assert find(quote, REFERRED) is None
    assert not squeezed(quote).stands_in(squeezed(REFERRED))


@pytest.mark.parametrize(
    ("quote", "same"),
    [
        ("Ports pay [9] for tide [12, 13].", True),
        (r"Ports pay \[9\] for tide \[12, 13\].", True),
        ("Ports pay for tide.", True),
        ("Ports pay [9] for tide.", True),
        ("Ports pay [9] for tide [12,\n13].", True),
        ("Ports pay [8] for tide [12, 13].", False),
        ("Ports pay [9] for [1] tide.", False),
        ("Ports pay [9] for", False),
    ],
)
def test_a_quote_is_the_whole_where_its_marks_are_the_sources_own(quote: str, same: bool) -> None:
    text = squeezed("Ports pay [9] for tide [12, 13].")
    assert squeezed(quote).is_whole(text) is same


def test_of_several_places_the_one_with_the_marks_of_the_quote_is_found() -> None:
    text = "Ports pay [1] for all [2]. Ports pay [3] for all [4]."
    found = find("Ports pay [3] for all.", text)
    assert found is not None
    assert text[slice(*found)].startswith("Ports pay [3]")


def test_a_mark_alone_is_found_as_it_stands() -> None:
    found = find(r"\[12,13\]", REFERRED)
    assert found is not None
    assert REFERRED[slice(*found)] == "[12, 13]"
    assert find(r"\[14\]", REFERRED) is None


def test_a_place_behind_an_ellipsis_is_counted_right() -> None:
    text = "And so on... “the bay” [1] is deep…. It is."
    found = find('"the bay" is deep....', text)
    assert found is not None
    assert text[slice(*found)] == "“the bay” [1] is deep…."


def test_one_word_over_and_over_takes_no_time() -> None:
    text, quote = "a [1] " * 20_000, "a [1] " * 5_000 + "a [2]"
    began = time.process_time()
    assert find(quote, text) is None
    assert time.process_time() - began < 3


def test_a_quote_that_lacks_figures_without_brackets_is_not_found() -> None:
    assert find("It grew by %.", REFERRED) is None
    assert find("dues 9. The", REFERRED) is None


@pytest.mark.parametrize("quote", ["is 41 fathoms deep", "The Bay", "", "  ", "海湾很浅"])
def test_words_count(quote: str) -> None:
    assert find(quote, TEXT) is None


@given(st.text(min_size=1, max_size=60), st.text(max_size=20), st.text(max_size=20))
def test_what_stands_there_is_found_where_it_stands(quote: str, before: str, after: str) -> None:
    text = before + quote + after
    found = find(quote, text)
    assert found is not None
    assert text[slice(*found)] == quote


@given(st.text(max_size=80), st.text(max_size=20))
def test_spans_lie_in_the_text(text: str, quote: str) -> None:
    found = find(quote, text)
    assert found is None or 0 <= found[0] < found[1] <= len(text)


def test_markup_is_not_wording() -> None:
    assert plain("- The *bay* is 40\\. **deep**") == "The *bay* is 40. deep"


@given(st.text("ab-*_\\>1. \n`\t", max_size=30))
def test_plain_ascii_has_the_form_it_has_beside_other_signs(text: str) -> None:
    assert plain(f"é\n{text}") == f"é {plain(text)}".strip()
