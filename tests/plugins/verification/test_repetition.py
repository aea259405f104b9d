"""Statements that a report makes twice, in the same words."""

from __future__ import annotations

import pytest

from leadline.records import Section
from leadline_plugins.verification.repetition import repetitions, without_repetitions

DEEP = "The harbour of Port Ellery is nine fathoms deep at the end of the long mole [@a]."


def sections(*texts: str) -> tuple[Section, ...]:
    return tuple(Section(id=str(n), title=f"Part {n}", text=text) for n, text in enumerate(texts, start=1))


@pytest.mark.parametrize(
    "again",
    [
        DEEP,
        "In addition, the harbour of Port Ellery is nine fathoms deep at the end of the long mole [@b].",
        "The harbour of **Port Ellery** is nine fathoms deep at the end of the long mole. [@a]",
        "- The harbour of Port Ellery is nine fathoms deep at the end of the long mole [@a].",
    ],
)
def test_a_statement_that_says_nothing_new_is_removed_from_the_later_section(again: str) -> None:
    kept, dropped = without_repetitions(sections(DEEP, f"The mole is of stone [@b]. \n\n{again}"))
    assert [one.whole for one in dropped] == [True]
    assert (kept[0].text, kept[1].text) == (DEEP, "The mole is of stone [@b].")
    assert not repetitions(kept)


@pytest.mark.parametrize(
    "other",
    [
        "The harbour of Port Ellery is not nine fathoms deep at the end of the long mole [@a].",
        "The harbour of Port Ellery is nine fathoms deep at the end of the long mole since 1907 [@a].",
        "It was built for coal, and the harbour of Port Ellery is nine fathoms deep where the ferries land [@a].",
        "The mole was built of stone from the island, and nobody has measured it since the war [@b].",
    ],
)
def test_a_statement_that_denies_or_adds_something_stays(other: str) -> None:
    whole = sections(DEEP, other)
    kept, dropped = without_repetitions(whole)
    assert (kept, dropped) == (whole, [])


def test_a_part_that_two_statements_share_is_found_and_stays() -> None:
    other = "It was built for coal, and the harbour of Port Ellery is nine fathoms deep where the ferries land [@a]."
    (found,) = repetitions(sections(DEEP, other))
    assert (found.whole, found.words) == (False, "the harbour of port ellery is nine fathoms deep")


def test_a_statement_keeps_the_citation_that_stood_after_a_removed_one() -> None:
    text = f"The mole is of stone. {DEEP}"
    kept, _ = without_repetitions(sections(DEEP, text))
    assert kept[1].text == "The mole is of stone [@a]."


def test_a_paragraph_does_not_begin_with_the_space_after_removed_statements() -> None:
    text = f"{DEEP} {DEEP} The mole is of stone [@b].\n\n{DEEP} It was built in 1907 [@b]."
    kept, _ = without_repetitions(sections(DEEP, text))
    assert kept[1].text == "The mole is of stone [@b].\n\nIt was built in 1907 [@b]."


def test_a_sentence_ends_where_its_repeated_clause_is_removed() -> None:
    said = "埃勒里港长堤末端的水深为九英寻可供大型船只停泊[@a]。"
    kept, _ = without_repetitions(sections(said, f"防波堤由石头砌成；{said}它建于一九零七年[@b]。"))
    assert kept[1].text == "防波堤由石头砌成 [@a]。它建于一九零七年[@b]。"


def test_chinese_statements_are_compared_by_characters() -> None:
    said = "埃勒里港长堤末端的水深为九英寻，可供大型船只停泊[@a]。"
    _, dropped = without_repetitions(sections(said, f"此外，{said}"))
    assert len(dropped) == 1
    _, none = without_repetitions(sections(said, "埃勒里港的灯塔由石块砌成，建于十九世纪末[@b]。"))
    assert not none
