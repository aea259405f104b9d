"""Which topic a text speaks of: words that tell topics apart count, and those that stand everywhere do not."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from leadline_plugins.text.topics import fits, headed, joined, weighed

WORDS = st.dictionaries(st.sampled_from("abcdefgh"), st.sampled_from([0.5, 1.0, 2.0]))


@given(st.lists(WORDS, min_size=1, max_size=5), st.lists(WORDS, max_size=8))
def test_a_fit_is_between_none_and_whole_and_none_without_a_word_of_the_topic(
    topics: list[dict[str, float]], texts: list[dict[str, float]]
) -> None:
    rows = fits(topics, texts)
    assert [len(row) for row in rows] == [len(topics)] * len(texts)
    for text, row in zip(texts, rows, strict=True):
        for topic, fit in zip(topics, row, strict=True):
            assert 0 <= fit <= 1 + 1e-9
            assert fit == 0 or topic.keys() & text.keys()


def test_a_word_of_all_topics_says_nothing_and_one_of_few_texts_most() -> None:
    topics = [weighed(("harbour costs", 1.0)), weighed(("harbour history", 1.0))]
    texts = [weighed((text, 1.0)) for text in ("harbour", "costs", "history", "costs", "costs", "costs and history")]
    rows = fits(topics, texts)
    assert rows[0] == [0, 0]
    assert rows[1][0] > rows[1][1] == 0
    assert rows[5][1] > rows[5][0] > 0


def test_a_word_counts_as_the_part_that_counts_most() -> None:
    assert weighed(("deep harbour", 2.0), ("deep water", 0.5)) == {"deep": 2.0, "harbour": 2.0, "water": 0.5}


@given(
    st.lists(WORDS, min_size=1, max_size=5),
    st.lists(WORDS, max_size=8),
    st.lists(st.dictionaries(st.sampled_from("xyz"), st.just(1.0)), max_size=8),
)
def test_texts_that_speak_of_no_topic_change_nothing(
    topics: list[dict[str, float]], texts: list[dict[str, float]], strange: list[dict[str, float]]
) -> None:
    assert fits(topics, [*texts, *strange])[: len(texts)] == fits(topics, texts)


@given(st.lists(st.tuples(st.sampled_from("pq"), st.sampled_from(["", "Dues", "Dues of boats", "Dredging"]))))
def test_a_word_of_a_heading_counts_less_the_more_of_its_page_it_stands_over(texts: list[tuple[str, str]]) -> None:
    rows = headed(texts)
    assert [row.keys() for row in rows] == [weighed((over, 1.0)).keys() for _, over in texts]
    for (page, _), row in zip(texts, rows, strict=True):
        below = {
            word: sum(name == page and word in own for (name, _), own in zip(texts, rows, strict=True)) for word in row
        }
        for word, count in below.items():
            assert 0.25 <= row[word] <= 1
            assert (row[word] == 1) == (count == 1)
            assert all(row[word] < row[other] for other in row if below[other] < count)


def test_a_page_with_one_text_under_a_heading_has_it_whole_and_one_with_all_hardly() -> None:
    pages = [("p", "Dues"), *[("p", "Dredging")] * 3, *[("q", "Dues")] * 20]
    rows = headed(pages)
    assert rows[0] == {"due": 1.0}
    assert rows[-1] == {"due": 0.25}


def test_joined_words_count_where_they_count_most() -> None:
    assert joined({"deep": 1.0, "harbour": 1.0}, {"deep": 0.75, "quay": 0.25}, 2.0) == {
        "deep": 1.5,
        "harbour": 1.0,
        "quay": 0.5,
    }
