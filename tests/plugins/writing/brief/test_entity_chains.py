"""Names, chains over them, and the parts of passages that are shown or left out."""

from __future__ import annotations

import pytest

from leadline_plugins.writing.brief.entity_chains import Link, chains, figures_and_names, names, ratings
from leadline_plugins.writing.brief.segments import segments


def link(*held: str, names: tuple[str, ...] = (), about: str = "") -> Link:
    return Link(frozenset(held), frozenset(), frozenset((name,) for name in names), (about,) if about else ())


def test_two_sentences_that_share_a_name_cover_more_than_either() -> None:
    weights = {"quay": 0.5, "mayor": 0.5}
    links = [link("quay", names=("fria",)), link("mayor", about="fria"), link("mayor")]
    found = chains(weights, links)
    score, path = found[0]
    assert score == pytest.approx(0.9)
    assert path == (0, 1)
    assert ratings(3, found) == [pytest.approx(0.9), pytest.approx(0.9), 0.5]


def test_without_steps_each_sentence_counts_alone() -> None:
    links = [link("quay", names=("fria",)), link("mayor", about="fria")]
    assert chains({"quay": 0.5, "mayor": 0.5}, links, 0) == [(0.5, (0,)), (0.5, (1,))]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("However, Ana Sousa of Vila Fria left in May 1871.", ("Ana Sousa of Vila Fria",)),
        ("他读过《阿尔沃港史》。", ("阿尔沃港史",)),
        ("the harbour was deep", ()),
    ],
)
def test_names_are_recognised_by_typography(text: str, found: tuple[str, ...]) -> None:
    assert names(text) == found


def test_figures_and_names_tell_texts_apart() -> None:
    assert {"1871", "fria"} <= figures_and_names("Vila Fria was burnt in 1871.")


def test_units_are_sentences_items_rows_and_whole_code() -> None:
    table = "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |"
    quote = f"One is here. Two is there:\n\n- first\n- second\n\n{table}\n\n```\nx\ny\n```"
    found = list(segments(quote, 0))
    assert [unit.text for unit in found] == [
        "One is here.",
        "Two is there:",
        "- first",
        "- second",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "| 3 | 4 |",
        "```\nx\ny\n```",
    ]
    assert all(quote[unit.start : unit.end] == unit.text for unit in found)
    assert [unit.needs for unit in found] == [0, 0, 1, 2, 0, 1, 0]
    assert found[1].introduces


def test_a_caption_is_no_sentence() -> None:
    assert [unit.whole for unit in segments("Figure 1.3.\n\nNOTE Limits\n\nShips enter the harbour at noon.", 0)] == [
        False,
        False,
        True,
    ]
