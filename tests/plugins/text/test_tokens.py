from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadline_plugins.text import Said, content_set, content_words, length, tokens


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("bridges", "bridge"),
        ("cities", "city"),
        ("movies", "movie"),
        ("stopped", "stop"),
        ("moving", "move"),
        ("houses", "house"),
        ("based", "base"),
        ("São", "sao"),
        ("Ｐｙｔｈｏｎ", "python"),
        ("Hoover's", "hoover"),
    ],
)
def test_forms_of_a_word_meet(one: str, other: str) -> None:
    assert tokens(one) == tokens(other)


@pytest.mark.parametrize(("one", "other"), [("care", "car"), ("bus", "bu"), ("need", "ne"), ("glass", "glas")])
def test_different_words_stay_apart(one: str, other: str) -> None:
    assert tokens(one) != tokens(other)


def test_cjk_is_indexed_by_characters_and_pairs() -> None:
    assert tokens("東京塔") == ["東", "京", "塔", "東京", "京塔"]


def test_content_words_leave_out_what_asks_and_joins() -> None:
    assert content_words("When was the bridge of Elm built?") == ["bridg", "elm", "built"]
    assert content_words("大桥的长度是多少？") == ["大桥", "长度"]
    assert content_words("この橋の名前はなんですか") == ["橋", "名前"]


@pytest.mark.parametrize(
    ("text", "code", "expected"),
    [("Two words.", "en", 2), ("well-known 3.5 %", "en", 3), ("桥长 5 米。", "zh", 5), ("The 桥 stands", "en", 3)],
)
def test_length_is_words_or_characters(text: str, code: str, expected: int) -> None:
    assert length(text, code) == expected


def test_near_repetitions_are_seen() -> None:
    one, same, other = (
        frozenset(content_words(text))
        for text in ("The old bridge was built by Ada.", "Ada built the old bridge.", "The tower is high.")
    )
    said = Said()
    said.add(other)
    assert not said.repeats(one)
    said.add(same)
    assert said.repeats(one)


@given(st.text(max_size=100))
def test_content_words_are_index_tokens(text: str) -> None:
    assert set(content_words(text)) <= set(tokens(text))


LATIN = st.text("abst' ’-_.,é½ \n1E", max_size=60)


@given(LATIN)
def test_a_text_is_cut_alike_whether_or_not_there_is_cjk_in_it(text: str) -> None:
    assert tokens(text) == tokens(f"{text}\n塔")[:-1]
    assert content_words(text) == content_words(f"{text}\n塔")[:-1]
    assert length(text) == length(f"{text}\n塔") - 1


@given(LATIN)
def test_a_long_text_is_cut_as_a_short_one(text: str) -> None:
    assert content_set(text) == set(content_words(text)) == content_set(text + 1000 * " ")
