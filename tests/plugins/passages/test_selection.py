"""Passages are ranked for key questions and selected within a budget of tokens."""

from __future__ import annotations

from typing import cast

from leadline.contracts import StageRun
from leadline.records import Evidence
from leadline.testing.context import FakeRun
from leadline_plugins.passages.cutting import tokens_of, words_of
from leadline_plugins.passages.ranking import KeyQuestion, by_words, fused
from leadline_plugins.passages.selection import PassageBudget, select_passages


def passage(name: str, quote: str, source: str = "s1", path: tuple[str, ...] = ()) -> Evidence:
    return Evidence(id=name, source_id=source, quote=quote, span=(0, len(quote)), path=path)


HARBOUR = [
    passage("depth", "The harbour is eleven fathoms deep at low tide."),
    passage("history", "The town was founded by monks in the year 1204."),
    passage("fees", "Ships pay a fee of forty crowns a day.", source="s2", path=("Harbour", "Fees")),
]


def best(question: str, passages: list[Evidence] = HARBOUR) -> str:
    scores = by_words(passages, {}, [KeyQuestion(question)])[0]
    return passages[max(scores, key=lambda place: scores[place])].id


def test_the_passage_with_the_words_of_the_question_is_first() -> None:
    assert best("How deep is the harbour at low tide?") == "depth"


def test_words_of_the_heading_path_count() -> None:
    assert best("harbour fees") == "fees"


def test_words_of_the_title_count() -> None:
    scores = by_words(HARBOUR, {"s2": "Moorings"}, [KeyQuestion("moorings")])[0]
    assert list(scores) == [2]


def test_chinese_is_found_by_pairs_of_characters() -> None:
    passages = [passage("a", "测试版需要十天没有新的严重错误。"), passage("b", "安装程序支持多种语言。")]
    assert best("需要多少天", passages) == "a"


def test_a_question_without_a_common_word_is_ranked_by_the_whole_question() -> None:
    scores = by_words(HARBOUR, {}, [KeyQuestion("zzz", topic="When was the town founded?")])[0]
    assert max(scores, key=lambda place: scores[place]) == 1


def test_reciprocal_ranks_prefer_what_both_rankings_have() -> None:
    scores = fused([{0: 9.0, 1: 8.0}, {1: 0.9, 2: 0.8}])
    assert max(scores, key=lambda place: scores[place]) == 1


def test_sizes_count_chinese_characters() -> None:
    assert words_of("十个汉字等于四个单词") == 4.0
    assert tokens_of("三个字") == 2.0
    assert tokens_of("four") == 1.0


SETTINGS = [
    passage(
        "use", "Before archive_mode is on, read what archive_mode and archive_mode's commands do to archive_mode. " * 3
    ),
    passage("definition", "archive_mode (enum)\n:   Completed segments are sent to the archive. The default is off."),
    passage("cake", "The baker sells 12 cakes.", source="s2"),
]


async def selected(
    passages: list[Evidence], *questions: str, tokens: float = 1000, total: float = 1000, characters: float = 0
) -> list[list[str]]:
    """Return the ids of the passages of one section for each question."""
    asked = [[KeyQuestion(question)] for question in questions]
    sections = await select_passages(
        passages, (), asked, PassageBudget(tokens, total, characters), cast("StageRun", FakeRun())
    )
    return [[item.id for item in section] for section in sections]


async def test_the_definition_of_a_named_term_is_first() -> None:
    assert (await selected(SETTINGS, "What does archive_mode do?"))[0][:2] == ["definition", "use"]
    assert (await selected(SETTINGS, "What does archive_mode do?", tokens=0)) == [["definition"]]


async def test_a_passage_that_a_review_kept_is_first_whatever_its_words() -> None:
    asked, run = [[KeyQuestion("What does archive_mode do?")]], cast("StageRun", FakeRun())
    (chosen,) = await select_passages(SETTINGS, (), asked, PassageBudget(1000, 1000), run, [["cake", "removed"]])
    assert [item.id for item in chosen] == ["cake", "definition", "use"]


async def test_reviewed_passages_leave_a_quarter_to_others() -> None:
    asked, run = [[KeyQuestion("What does archive_mode do?")]], cast("StageRun", FakeRun())
    (chosen,) = await select_passages(SETTINGS, (), asked, PassageBudget(1000, 90), run, [["use", "cake"]])
    assert [item.id for item in chosen] == ["cake", "definition"]


async def test_a_key_in_code_defines_no_term() -> None:
    example = passage("example", '```\n"archive_mode": "on"\n"archive_mode": "off"\n```', source="s3")
    assert (await selected([example, *SETTINGS], "What does archive_mode do?", tokens=0)) == [["definition"]]


async def test_a_term_is_defined_where_it_has_the_fewest_words_beside_it() -> None:
    passages = [
        passage("both", "max_files and max_size: see there."),
        passage("own", "Both are sizes.", path=("max_size",)),
    ]
    assert (await selected(passages, "What is max_size?"))[0][0] == "own"


async def test_a_statement_with_a_number_brings_the_nearest_one_of_another_source() -> None:
    passages = [
        passage("manual", "An idle connection to the archive is closed after 60 seconds."),
        passage("blog", "After 30 seconds an idle connection is closed.", source="s2"),
        passage("same source", "An idle connection is closed after 60 seconds, as before."),
        passage("no number", "An idle connection is closed after a while.", source="s3"),
        *(passage(f"other {n}", "The town was founded by monks in the year 1204.", source=f"s{n}") for n in range(9)),
    ]
    (chosen,) = await selected(passages, "What holds for the archive?")
    assert chosen == ["manual", "blog"]


async def test_passages_with_less_than_half_of_the_best_score_follow_only_to_reach_the_characters() -> None:
    passages = [
        passage("best", "The harbour is deep at low tide."),
        passage("word", "Low prices. " + "A shop sells it. " * 20),
    ]
    assert await selected(passages, "How deep is the harbour at low tide?") == [["best"]]
    assert await selected(passages, "How deep is the harbour at low tide?", characters=100) == [["best", "word"]]


async def test_sections_share_the_tokens_of_all_passages_by_turns() -> None:
    passages = [passage(f"{name}{n}", f"{name} rule {n}. " * 9) for n in range(9) for name in ("Quay", "Mole")]
    size = tokens_of(passages[0].quote) + 9
    quay, mole = await selected(passages, "Which quay?", "Which mole?", total=4 * size)
    assert (len(quay), len(mole)) == (2, 2)
    assert len((await selected(passages, "Which quay?", tokens=3 * size))[0]) == 3


async def test_a_passage_of_two_sections_counts_once() -> None:
    size = tokens_of(HARBOUR[0].quote) + 9
    assert (
        await selected(HARBOUR, "How deep is the harbour?", "Is low tide at the harbour?", total=size)
        == [["depth"]] * 2
    )


async def test_long_passages_are_skipped_and_copies_selected_once() -> None:
    long = passage("long", "harbour deep low tide " * 99)
    copy = passage("copy", HARBOUR[0].quote.replace(" ", "\n"), source="s3")
    assert await selected([long, *HARBOUR, copy], "How deep is the harbour at low tide?", total=100) == [["depth"]]
