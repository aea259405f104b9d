from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadline_plugins.search.local.ranking import Names, name
from leadline_plugins.search.local.update import split_passages


@given(st.text(alphabet="ab .\n。\t", max_size=400), st.integers(5, 60))
def test_passages_hold_all_that_can_be_seen_in_order_and_size(text: str, size: int) -> None:
    spans = split_passages(text, size)
    assert all(0 < end - start <= size for start, end in spans)
    assert all(first[1] <= second[0] for first, second in pairwise(spans))
    assert "".join("".join(text[start:end] for start, end in spans).split()) == "".join(text.split())


def test_small_paragraphs_are_packed_and_large_ones_cut_after_a_sentence() -> None:
    sentence = "A sentence of some length."
    text = f"One.\n\nTwo.\n\n{sentence} {sentence} {sentence} {sentence} {sentence}"
    assert [text[start:end] for start, end in split_passages(text, 60)] == [
        "One.\n\nTwo.",
        f"{sentence} {sentence}",
        f"{sentence} {sentence}",
        sentence,
    ]


@pytest.mark.parametrize(
    "sentence", ["यह पुल बहुत पुराना है।", "یہ پل بہت پرانا ہے۔", "កន្លែងនេះធំណាស់។", "彼は「橋は古い。」"]
)
def test_the_full_stops_of_other_scripts_are_places_to_cut(sentence: str) -> None:
    text = f"{sentence} " * 5
    assert {text[start:end] for start, end in split_passages(text, int(2.5 * len(sentence)))} <= {
        sentence,
        f"{sentence} {sentence}",
    }


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("Kansas (band)", "They admired Kansas, and said so."),
        ("The Black Sands", "He sang for the black sand's choir."),
        ("吕凯 (蜀汉)", "后来吕凯被叛夷所杀。"),
    ],
)
def test_a_title_is_found_where_it_is_mentioned(title: str, text: str) -> None:
    assert set(Names([name(title), ""]).mentioned(text)) == {name(title)}


def test_a_part_of_a_title_is_no_mention() -> None:
    assert list(Names([name("Black Sand Beach")]).mentioned("The black sand of the beach")) == []
    assert name("a title " * 10) == ""
