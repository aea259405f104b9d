"""Passages are ranked for key questions and selected within a budget of tokens."""

from __future__ import annotations

from leadline.records import Evidence
from leadline_plugins.passages.cutting import tokens_of, words_of
from leadline_plugins.passages.ranking import KeyQuestion, by_words, fused
from leadline_plugins.passages.selection import select


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


def test_every_question_of_a_section_has_its_share() -> None:
    rankings = by_words(HARBOUR, {}, [KeyQuestion("How deep is the harbour?"), KeyQuestion("Who founded the town?")])
    chosen = select(HARBOUR, rankings, 45)
    assert {item.id for item in chosen} == {"depth", "history"}


def test_what_questions_with_the_same_answers_leave_of_their_shares_goes_to_other_passages() -> None:
    passages = [passage(f"p{n}", f"Quay {n} is deep. " + "It is so. " * 10) for n in range(12)]
    rankings = by_words(passages, {}, [KeyQuestion(text) for text in ("Is the quay deep?", "Which quay?", "How deep?")])
    size = tokens_of(passages[0].quote)
    assert sum(tokens_of(item.quote) for item in select(passages, rankings, 10 * size)) == 7 * size


def test_a_passage_that_does_not_fit_is_skipped() -> None:
    long = passage("long", "harbour deep " * 200)
    rankings = by_words([long, *HARBOUR], {}, [KeyQuestion("How deep is the harbour?")])
    assert "long" not in {item.id for item in select([long, *HARBOUR], rankings, 40)}


def test_the_same_text_is_selected_once() -> None:
    twice = [*HARBOUR, passage("copy", HARBOUR[0].quote, source="s3")]
    chosen = select(twice, by_words(twice, {}, [KeyQuestion("How deep is the harbour?")]), 500)
    assert len({item.quote for item in chosen}) == len(chosen)


def test_reciprocal_ranks_prefer_what_both_rankings_have() -> None:
    scores = fused([{0: 9.0, 1: 8.0}, {1: 0.9, 2: 0.8}])
    assert max(scores, key=lambda place: scores[place]) == 1


def test_sizes_count_chinese_characters() -> None:
    assert words_of("十个汉字等于四个单词") == 4.0
    assert tokens_of("三个字") == 2.0
    assert tokens_of("four") == 1.0
