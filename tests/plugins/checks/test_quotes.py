"""Quotes in their sources: what counts as word for word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadline_plugins.checks.quotes import find, plain

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


def test_figures_without_brackets_do() -> None:
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
