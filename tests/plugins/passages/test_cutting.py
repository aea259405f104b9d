"""Passages are whole blocks, verbatim, with what a reader needs to understand them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from leadline.records import Document, Evidence, Hit, Source
from leadline_plugins.passages.cutting import MOST, passages_of, words_of

_WORDS = ["the", "migration", "needs", "ten", "days", "without", "a", "new", "serious", "bug", "in", "testing"]


def prose(words: int) -> str:
    """Return sentences of so many words in all."""
    row = [_WORDS[place % len(_WORDS)] for place in range(words)]
    return " ".join(f"{' '.join(row[start : start + 10]).capitalize()}." for start in range(0, words, 10))


def cut(text: str) -> list[Evidence]:
    source = Source(id="s1", hit=Hit(url="https://example.org/a"), document=Document(text=text))
    return passages_of(source)


def test_short_blocks_under_one_heading_are_one_passage() -> None:
    (passage,) = cut(f"# Guide\n\n## Testing\n\n{prose(30)}\n\n{prose(40)}")
    assert passage.path == ("Guide", "Testing")
    assert passage.quote == f"{prose(30)}\n\n{prose(40)}"


def test_a_passage_has_the_page_on_which_its_text_stands() -> None:
    first, second, long = "The mole is of oak.", "The harbour is nine fathoms deep.", prose(800)
    text = f"{first}\n\n{second}\n\n{long}"
    third = len(text) - 1500
    document = Document(text=text, pages=(0, len(first) + 2, third))
    passages = passages_of(Source(id="s1", hit=Hit(url="https://example.org/a.pdf"), document=document))
    assert [passage.quote for passage in passages if passage.page == 1] == [first]
    assert passages[1].quote.startswith(second)
    assert [passage.page for passage in passages if passage.span[0] >= third] == [3]


def test_a_heading_ends_a_passage() -> None:
    first, second = cut(f"# One\n\n{prose(20)}\n\n# Two\n\n{prose(20)}")
    assert (first.path, second.path) == (("One",), ("Two",))


def test_a_list_that_does_not_fit_takes_its_introduction_along() -> None:
    items = "\n".join(f"- {prose(20)}" for _ in range(8))
    first, second = cut(f"{prose(150)}\n\nThe conditions are:\n\n{items}")
    assert "conditions" not in first.quote
    assert second.quote.startswith("The conditions are:")


def test_the_title_of_a_note_moves_on_with_its_text() -> None:
    first, second = cut(f"{prose(180)}\n\n小心\n\n{prose(150)}")
    assert first.quote == prose(180)
    assert second.quote == f"小心\n\n{prose(150)}"


def test_the_name_and_value_of_an_option_move_on_with_its_description() -> None:
    passages = cut(f"{prose(150)}\n\nOption: depth\n\nDefault: 11\n\n{prose(60)}")
    assert passages[1].quote.startswith("Option: depth\n\nDefault: 11\n\n")


def test_an_introduction_is_no_passage_without_its_long_list() -> None:
    items = "\n".join(f"- {prose(20)}" for _ in range(20))
    first, *others = cut(f"Consider these questions:\n\n{items}")
    assert first.quote.startswith("Consider these questions:\n\n- The")
    assert {passage.lead for passage in others} == {"Consider these questions:"}


def test_a_short_last_block_joins_the_passage_before_it() -> None:
    (passage,) = cut(f"# Guide\n\n{prose(190)}\n\nUpload to experimental instead, if it must wait.")
    assert passage.quote.endswith("if it must wait.")


def test_later_parts_of_a_long_table_repeat_its_header() -> None:
    rows = "\n".join(f"| release {n} | {prose(20)} |" for n in range(40))
    first, *others = cut(f"| name | text |\n| --- | --- |\n{rows}")
    assert first.lead == ""
    assert others
    assert {passage.lead for passage in others} == {"| name | text |"}
    assert all(passage.quote.startswith("| release") for passage in others)


def test_a_long_list_is_divided_between_items() -> None:
    items = [f"- {prose(30)}" for _ in range(20)]
    parts = cut("\n".join(items))
    assert len(parts) > 1
    assert [line for passage in parts for line in passage.quote.split("\n")] == items


def test_a_long_paragraph_is_divided_between_sentences() -> None:
    parts = cut(prose(700))
    assert all(words_of(passage.quote) <= MOST for passage in parts)
    assert all(passage.quote.endswith(".") for passage in parts)


def test_ids_are_short_and_stable() -> None:
    text = f"# A\n\n{prose(50)}"
    assert [passage.id for passage in cut(text)] == [passage.id for passage in cut(text)]
    assert all(len(passage.id) == 8 for passage in cut(text))


@given(st.lists(st.sampled_from(["# A", "## B", "- one", "- two", "| a | b |", "```", "x", "", "Text. More.", "1. n"])))
def test_passages_are_verbatim_and_do_not_overlap(lines: list[str]) -> None:
    text = "\n".join(lines)
    end = 0
    for passage in cut(text):
        start, last = passage.span
        assert text[start:last] == passage.quote
        assert start >= end
        end = last


def test_text_without_sentences_makes_no_long_passage() -> None:
    texts = [
        " ".join(f"w{place}." for place in range(100_000)),  # full stops, and no sentence
        "x" * 1_000_000,  # one word
        "\n\n".join("y" * 9_000 for _ in range(50)),  # short blocks, in words
        "\n".join(f"- {'z' * 20_000}" for _ in range(20)),
        "| " + "h" * 100_000 + " |\n| --- |\n" + "| cell |\n" * 400,
        "# " + "t" * 200_000 + "\n\n" + prose(2_000),
    ]
    for text in texts:
        passages = cut(text)
        assert sum(len(passage.quote) for passage in passages) > 0.9 * len(text) - 250_000
        assert max(len(passage.quote) for passage in passages) <= 20_000
        assert max(len(passage.lead) for passage in passages) <= 10_000
        assert max(len(name) for passage in passages for name in (*passage.path, "")) <= 300
