from __future__ import annotations

import pytest

from leadline_plugins.ai.embedded.asked import asked
from leadline_plugins.ai.embedded.kinds import kind_of, shows
from leadline_plugins.ai.embedded.names import names
from leadline_plugins.ai.embedded.quotable import quotable
from leadline_plugins.ai.embedded.regions import regions


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("However, Ada Lorn of Tarn met her in May 1871.", ("Ada Lorn of Tarn",)),
        ("In March she painted The Old Harbour.", ("Old Harbour",)),
        ("他写了《旧港》一书。", ("旧港",)),
        ("映画はスターゲートである", ("スターゲート",)),
        ("it has no names, in 1871 or later", ()),
    ],
)
def test_names_are_told_by_their_typography(text: str, expected: tuple[str, ...]) -> None:
    assert names(text) == expected


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("How many arches has it?", "number"),
        ("When was it built?", "time"),
        ("Who built it?", "person"),
        ("In which city does it stand?", "place"),
        ("Why was it built?", "reason"),
        ("How was it built?", "manner"),
        ("它有多少拱？", "number"),
        ("いつ完成した", "time"),
        ("Its name", "thing"),
    ],
)
def test_the_kind_of_answer_is_in_the_question_word(question: str, kind: str) -> None:
    assert kind_of(question) == kind


@pytest.mark.parametrize(
    "question",
    [
        "Analyse the ferry trade of Quillon.",
        "Please help me research the tides of the Elm, with sources before 1990 only.",
        "Write the section on related work of a paper on iron bridges.",
        "Should river towns own their ferries?",
        "does a toll affect trade",
        "advantages and disadvantages of iron bridges",
        "how should a town plan for years when its river floods",
        "请帮我分析榆河的渡口",
        "河港贸易的趋势是什么？",
        "楡川の渡し船の動向を調査してください",
        "A town has a ferry. " + " ".join(f"Its landing at mile {mile} is old." for mile in range(30)) + " Is it deep?",
    ],
)
def test_what_takes_more_than_a_sentence_to_tell_is_an_account(question: str) -> None:
    assert asked(question).account


@pytest.mark.parametrize(
    "question",
    [
        "Who wrote the study of the Elm?",
        "In which year was Elmford Research founded?",
        "Do the Elm and the Alm both flow north?",
        "What is the name of the ferry at Quillon?",
        "研究所在哪里？",
        "楡川橋はいつ完成しましたか",
    ],
)
def test_a_fact_is_no_account(question: str) -> None:
    assert not asked(question).account


def test_a_sentence_shows_its_kind() -> None:
    assert shows("time", "It was opened in 1871.")
    assert not shows("time", "It was opened by the town.")
    assert shows("person", "It was opened by the town.")


def test_a_stop_word_behind_an_article_is_a_topic() -> None:
    question = asked("How does the with statement work?")
    assert question.terms == ("statement", "with statement")
    assert "with statement" in question.tokens('The "with" statement wraps a block.')
    assert "with statement" not in question.tokens("A statement goes with a block.")


def test_what_is_to_be_done_is_no_topic() -> None:
    assert asked("Explain how imports work").terms == ("import",)


def test_two_questions_are_two_parts() -> None:
    assert asked("When was the tower built, and who paid the workers?").parts == (
        "When was the tower built",
        "who paid the workers",
    )
    assert asked("Who paid for the tower and the bridge?").parts == ()


@pytest.mark.parametrize(
    "text", ["It stands.", "- an item", "| a | b |", "大桥很长。", "```\nx = 1\n```", "“It stands,” he said."]
)
def test_statements_are_quotable(text: str) -> None:
    assert quotable(text)


@pytest.mark.parametrize(
    "text",
    [
        "# Heading",
        "Short heading",
        "It works as follows:",
        "See section 3 for more.",
        "a ::= b | c.",
        "As [@lorn] says.",
        "x" * 2000 + ".",
    ],
)
def test_headings_lead_ins_and_pointers_are_not_quotable(text: str) -> None:
    assert not quotable(text)


def test_a_small_text_is_read_whole() -> None:
    assert regions("A bridge.", {"bridge": 1.0}) == [(0, 9)]


def test_of_a_large_text_the_stretches_with_the_words_are_read() -> None:
    filler = "Nothing of note stands here.\n\n" * 4000
    text = f"{filler}The companies own the bridge.\n\n{filler}"
    found = regions(text, {"compani": 1.0, "bridge": 1.0})
    place = text.index("companies")
    assert any(start <= place < end for start, end in found)
    assert sum(end - start for start, end in found) < len(text) / 2
    assert found == sorted(found)


def test_the_snippet_of_the_engine_is_always_read() -> None:
    filler = "The bridge is old.\n\n" * 6000
    text = f"{filler}Quite another thing.\n\n{filler}"
    place = text.index("Quite")
    assert any(start <= place < end for start, end in regions(text, {"bridge": 1.0}, "Quite another thing."))
