from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadline_plugins.text import sentences


def cut(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dr. Ada Byron met J. K. Lane. They talked.", ["Dr. Ada Byron met J. K. Lane.", "They talked."]),
        ("It opened at 3 p.m. The crowd cheered.", ["It opened at 3 p.m.", "The crowd cheered."]),
        ("It grew 3.5 percent, e.g. in Rome.", ["It grew 3.5 percent, e.g. in Rome."]),
        ('"Come in!" he said. She left.', ['"Come in!" he said.', "She left."]),
        ("(All of it was sold.) Another was built.", ["(All of it was sold.)", "Another was built."]),
        ("See Fig. 2 for the bridge. It is old.", ["See Fig. 2 for the bridge.", "It is old."]),
        ("It is 3. max_workers is 5. `x` is 6, cf. `y`.", ["It is 3.", "max_workers is 5.", "`x` is 6, cf. `y`."]),
    ],
)
def test_prose_is_cut_at_full_stops_that_end_a_sentence(text: str, expected: list[str]) -> None:
    assert cut(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("他说：“好。我来。”然后走了！真的？", ["他说：“好。我来。”然后走了！", "真的？"]),
        ("塔高（约三百米。）而且很旧。桥新。", ["塔高（约三百米。）而且很旧。", "桥新。"]),
        ("「はい。」と言う。橋は古い。", ["「はい。」と言う。", "橋は古い。"]),
        ("桥很长；塔很高。", ["桥很长；", "塔很高。"]),
    ],
)
def test_cjk_terminators_end_sentences_outside_of_brackets(text: str, expected: list[str]) -> None:
    assert cut(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Es gilt am 8. September. Gut.", ["Es gilt am 8. September.", "Gut."]),
        ("Seit dem 1. Januar gilt es.", ["Seit dem 1. Januar gilt es."]),
        ("Im 19. Jahrhundert kam die Bahn.", ["Im 19. Jahrhundert kam die Bahn."]),
        ("Der 20. Bundestag tagte.", ["Der 20. Bundestag tagte."]),
        ("Die 2. Liga war nach dem 2. Weltkrieg klein.", ["Die 2. Liga war nach dem 2. Weltkrieg klein."]),
        ("Das war am 8. Die Brücke stand.", ["Das war am 8.", "Die Brücke stand."]),
        ("Vgl. Nr. 5 und Abs. 2 dazu.", ["Vgl. Nr. 5 und Abs. 2 dazu."]),
        ("L'art. 5 s'applique.", ["L'art. 5 s'applique."]),
        ("Au XIX. Siècle, une gare.", ["Au XIX. Siècle, une gare."]),
        ("2. Dünya Savaşı bitti.", ["2. Dünya Savaşı bitti."]),
        ("It happened in World War II. Towns fell.", ["It happened in World War II.", "Towns fell."]),
        ("She scored 8. Others left.", ["She scored 8.", "Others left."]),
        ("Основан в 1963 г. В городе тихо.", ["Основан в 1963 г.", "В городе тихо."]),
        ("И. В. Петров жил тут.", ["И. В. Петров жил тут."]),
    ],
)
def test_a_full_stop_after_an_ordinal_ends_no_sentence(text: str, expected: list[str]) -> None:
    assert cut(text) == expected


@pytest.mark.parametrize(
    "pieces",
    [
        ["यह पुल पुराना है।", "वह नया है।"],
        ["هل الجسر قديم؟", "نعم."],
        ["یہ پل پرانا ہے۔", "وہ نیا ہے۔"],
        ["Կամուրջը հին է։", "Այն քար է։"],
        ["ድልድዩ አሮጌ ነው።", "ከድንጋይ ነው።"],
        ["តំបន់នេះធំ។", "ស្ពានចាស់។"],
    ],
)
def test_the_full_stops_of_other_scripts_end_sentences(pieces: list[str]) -> None:
    assert cut(" ".join(pieces)) == pieces


def test_thai_is_cut_at_spaces_where_a_stretch_is_long_and_not_beside_figures() -> None:
    clause = "สะพานข้ามแม่น้ำสายนี้มีความยาว 300 เมตรและสร้างเสร็จแล้วเมื่อหลายปีก่อน"
    assert cut(" ".join([clause] * 4)) == [clause] * 4
    assert cut(f"{clause} {clause}") == [f"{clause} {clause}"]


def test_wrapped_lines_are_one_sentence_and_short_lines_are_their_own() -> None:
    text = (
        "The Bridge\n\nThe bridge was built by the town over a long time, and the work on\n"
        "it ended late.\nNote\nIt stands."
    )
    assert cut(text) == [
        "The Bridge",
        "The bridge was built by the town over a long time, and the work on\nit ended late.",
        "Note",
        "It stands.",
    ]


def test_list_items_rows_headings_and_code_are_sentences() -> None:
    items = "# Head\n- first thing\n- second thing\n1. The third. And more.\n"
    text = f"{items}| a | b |\n|---|---|\n| 1 | 2 |\n\n```\nx = 1. Y\n```\n"
    assert cut(text) == [
        "# Head",
        "- first thing",
        "- second thing",
        "1. The third.",
        "And more.",
        "| a | b |",
        "| 1 | 2 |",
        "```\nx = 1. Y\n```",
    ]


def test_a_fence_that_never_closes_hides_nothing() -> None:
    assert cut("```\nFirst words.\nSecond words.") == ["First words.", "Second words."]


@pytest.mark.parametrize(
    "pieces",
    [
        ["население 5 млн.", "Это много."],
        ["Живёт 5 тыс. 300 человек.", "Москва растёт."],
        ["Es kostet 5 Mio. Euro.", "Das ist viel."],
        ["The plant is lit.", "20 lamps burn."],
        ["He scored 20.", "August was better."],
        ["Am Dienstag, 20. August begann es.", "Gut."],
        ["Es gilt seit 1. April.", "Gut."],
        ["Das Fest war 20. August 1990.", "Gut."],
        ["Er kam zum 3. März.", "Gut."],
        ["Vgl. Tab. 3 und (abs. 2) dort.", "Gut."],
        ["Véase el cap. 3 del libro.", "Es largo."],
    ],
)
def test_a_word_that_may_be_an_abbreviation_is_one_where_its_neighbours_say_so(pieces: list[str]) -> None:
    assert cut(" ".join(pieces)) == pieces


@pytest.mark.parametrize("run", ["." * 40_000, "!?" * 20_000, "." + '"' * 40_000, "a" + "." * 40_000 + "b"])
def test_a_run_of_full_stops_is_gone_through_once(run: str) -> None:
    begun = time.process_time()
    assert cut(run) == ([run] if "a" in run else [])
    assert time.process_time() - begun < 1


PIECES = st.lists(
    st.sampled_from(
        [
            "Mr. ",
            "A b. ",
            "。",
            "「",
            "」",
            "(",
            ")",
            "\n",
            "\n\n",
            "- x ",
            "| y |",
            "```",
            "x",
            " ",
            "…",
            "！",
            "am 8. ",
            "Mai ",
            "।",
            "น้ำ " * 40,
        ]
    )
)


@given(st.text(max_size=200) | PIECES.map("".join))
def test_spans_are_in_order_apart_and_trimmed(text: str) -> None:
    end = 0
    for start, stop in sentences(text):
        assert end <= start < stop <= len(text)
        assert text[start:stop] == text[start:stop].strip()
        end = stop


@given(st.text(max_size=200) | PIECES.map("".join))
def test_no_letter_is_lost(text: str) -> None:
    kept = "".join(text[start:stop] for start, stop in sentences(text))
    assert [char for char in kept if char.isalnum()] == [char for char in text if char.isalnum()]
