"""How much of what a search asks for stands in a text."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from leadline_plugins.text import content_set
from leadline_plugins.text.sought import Sought, enough


def shares(query: str, texts: Sequence[str]) -> list[float]:
    held = Sought([query], [(text, content_set(text), frozenset()) for text in texts]).shares(query)
    return [held.get(place, 0.0) for place in range(len(texts))]


def served(query: str, *texts: str) -> list[int]:
    return sorted(enough(query, dict(enumerate(shares(query, texts)))))


PARTS, WORDS = "桥梁税 渡船费 铁路附加费 灯塔捐 港口税", "rust paint cables rivets weight piers"
FILLER = [f"The town keeps its ferry number {n} in repair with tolls." for n in range(20)]


def best(query: str, *texts: str) -> str:
    said = [*texts, *FILLER]
    rated = shares(query, said)
    return said[rated.index(max(rated))]


def share(query: str, text: str) -> float:
    return shares(query, (text, *FILLER))[0]


def test_a_name_says_more_than_a_word_and_a_rare_word_more_than_a_common_one() -> None:
    assert best("Larkin ferry success", "Success came to all.", "Larkin rowed.") == "Larkin rowed."
    assert best("ferry rust", "The ferry leaves at noon.", "Rust is red.") == "Rust is red."


def test_an_acronym_is_read_where_it_is_written_out() -> None:
    found = "It is looked at by the Office of Bridges and Canals."
    assert share("OBC inquiry", found) > 0.5
    assert share("OBC inquiry", "It is looked at by an office of bridges.") == 0.0
    assert share("OBC inquiry", "The OBC looks at it.") > 0.5


def test_of_a_search_in_parts_each_is_a_thing_asked_for() -> None:
    one = "渡船费44万元，比上年增加。"
    assert share("桥梁税 渡船费 铁路附加费 灯塔捐", one) >= 0.2
    assert share("桥梁税 渡船费 铁路附加费 灯塔捐", "河水很深。") == 0.0


def test_half_of_a_part_is_enough_where_it_is_not_what_many_say() -> None:
    many = [f"{place}的税收收入增加。" for place in "东西南北中上下左右前后"]
    rated = shares("非税收入", ("非税的收入少了。", *many))
    assert rated[0] > 0.5
    assert rated[1:] == [0.0] * len(many)


def test_one_of_many_parts_is_enough_to_serve_a_search_and_one_of_many_words_is_not() -> None:
    assert served(PARTS, "渡船费44万元。", *FILLER) == [0]
    assert served(WORDS, "Rust is red.", *FILLER) == []
    assert shares(WORDS, ["Rust is red.", *FILLER])[0] > 0.1


def test_what_is_far_behind_the_best_does_not_serve() -> None:
    texts = ["Rust, paint, rivets and cables.", "Rust is red.", "Rust eats paint."]
    assert served("rust paint rivets cables", *texts) == [0, 2]


def test_a_number_of_a_part_must_be_there() -> None:
    assert share("2019年", "他们说明年再来。") == 0.0
    assert share("2019年", "2019年他们来了。") > 0.5


def test_a_heading_counts_as_what_stands_under_it() -> None:
    assert Sought(["Larkin"], [("He rowed.", frozenset(), frozenset({"larkin"}))]).shares("Larkin") == {0: 1.0}


@given(st.text(max_size=80), st.lists(st.text(max_size=80), max_size=5))
def test_it_is_a_share_of_whatever_is_asked(query: str, texts: list[str]) -> None:
    rated = shares(query, texts)
    assert len(rated) == len(texts)
    assert all(0.0 <= one <= 1.0 + 1e-9 for one in rated)


@given(st.text(min_size=1, max_size=40))
def test_nothing_that_a_text_does_not_hold_is_found_in_an_empty_one(query: str) -> None:
    assert shares(query, [""]) == [0.0]
