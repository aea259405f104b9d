"""Figures and names that stand in the passage, but of something else than the claim says."""

from __future__ import annotations

import pytest

from leadline_plugins.checks.conflicts import conflicts
from leadline_plugins.checks.figures import figures
from leadline_plugins.checks.judge import judge
from leadline_plugins.checks.naming import stands
from leadline_plugins.checks.passages import passage
from leadline_plugins.checks.places import other_figure, other_name

TEXT = (
    "In 1992 the Belgian writer published her first novel, an instant success. After studies in Brussels she moved to "
    "Tokyo in 1990 to work for a big company. The crew of Endeavour sounded the bay at 40 fathoms, and the crew of "
    "Beagle surveyed the coast over 12 weeks."
)


def found(claim: str) -> list[tuple[str, str]]:
    return [(one.kind, one.found) for one in conflicts(claim, passage(claim, TEXT), TEXT)]


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ("The Belgian writer published her first novel in 1992.", []),
        ("In 1990 the Belgian writer published her first novel.", [("figure", "1992")]),
        ("She moved to Tokyo in 1992 to work for a big company.", [("figure", "1990")]),
        ("The crew of Endeavour sounded the bay at 12 fathoms.", [("figure", "40")]),
        ("At 40 fathoms the crew of Endeavour sounded the bay.", []),
        ("The crew of Endeavour surveyed the coast over 12 weeks.", [("name", "Beagle")]),
        ("After studies in Tokyo she moved to Brussels.", []),
    ],
)
def test_another_figure_or_name_among_the_same_words_is_the_one_that_is_meant(
    claim: str, expected: list[tuple[str, str]]
) -> None:
    assert found(claim) == expected


def test_a_figure_that_stands_where_the_claim_has_it_is_kept_though_others_are_near() -> None:
    claim = "The crew sounded the bay at 40 fathoms."
    assert other_figure(figures(claim)[0], claim, (TEXT,)) is None
    assert other_name("Endeavour", "The crew of Endeavour sounded the bay.", (TEXT,)) == ""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("NASM", "the National Air and Space Museum in Washington"),
        ("Libyan", "the war in Libya"),
        ("British", "a version for the U.K. and others"),
        ("Dutch", "Franeker in the Netherlands"),
        ("Kaitlin Young", "then Young won"),
        ("mature and tasteful", "it is tasteful, mature even"),
        ("スケートボード", "スケートボードを持つ男性"),
    ],
)
def test_a_text_holds_a_name_in_another_form(name: str, text: str) -> None:
    assert stands(name, text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("President Ronald Reagan", "the president of the council spoke"),
        ("United Kingdom", "they were united in one kingdom"),
        ("Austrian", "the Australian team"),
        ("SARS-CoV-2", "Chelsea, at number 2"),
    ],
)
def test_a_word_of_a_name_is_not_the_name(name: str, text: str) -> None:
    assert not stands(name, text)


def test_what_is_only_missing_makes_a_claim_partial_what_is_swapped_makes_it_contradicted() -> None:
    text = "The harbour of Porto was dredged and widened by the port authority."
    assert judge("The harbour of Porto was dredged and widened by Fitz.", text).verdict == "partial"
    assert judge("The harbour of Porto was not dredged and widened.", text).verdict == "contradicted"


def test_a_text_about_something_else_contradicts_nothing() -> None:
    judged = judge("In 1831 Fitz sounded the bay at 40 fathoms.", "Whales sang in the bay for 12 weeks.")
    assert judged.verdict == "unsupported"


SOURCE = (
    "The harbour of Porto was dredged in 1908 at a cost of 350 million crowns. A pier of 120 metres was built in 1912. "
    "Of the dredgers three were sold."
)


@pytest.mark.parametrize(
    "claim",
    [
        "The harbour of Porto was dredged in 1907 at a cost of 350 million crowns.",
        "The harbour of Porto was dredged in 1908 at a cost of 390 million crowns.",
    ],
)
def test_another_figure_in_the_very_place_is_a_contradiction_beyond_doubt(claim: str) -> None:
    judged = judge(claim, SOURCE)
    assert (judged.verdict, judged.exact) == ("contradicted", True)


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("The harbour of Porto was dredged in 1912 at a cost of 350 million crowns.", SOURCE),
        ("Das Projekt läuft neun Jahre und kostet viel.", "Das Projekt läuft fünf Jahre und kostet viel."),
        ("Um den Hafen zu bauen, wurde der Kran gekauft.", "Um den Hafen zu bauen, wurde der Bagger gekauft."),
    ],
    ids=["it stands elsewhere", "a word of number", "a noun"],
)
def test_what_may_be_read_otherwise_is_never_a_contradiction_beyond_doubt(claim: str, text: str) -> None:
    assert not judge(claim, text).exact


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("Im Jahr 2023 wurden 356000 Pumpen abgesetzt.", "Im Jahr 2023 wurden 356.000 Pumpen abgesetzt."),
        ("総事業費は3.5億円である。", "総事業費は3億5000万円である。"),
        ("인구는 120,000명이다.", "인구는 12만 명이다."),
        ("京沪高速铁路于2011年6月30日通车。", "京津铁路于2008年8月1日通车。京沪高速铁路于二〇一一年六月三十日通车。"),
        ("Die Miete stieg um 12,5 Prozent im Monat.", "Die Miete stieg um 12,5 % im Monat."),
    ],
)
def test_another_spelling_contradicts_nothing(claim: str, text: str) -> None:
    assert judge(claim, text).verdict in ("supported", "partial")


def test_a_number_of_years_is_no_year() -> None:
    text = "The bridge was widened within 4 years by the city."
    assert [
        one.found for one in conflicts("The bridge was widened in 2015 by the city.", passage(text, text), text)
    ] == [""]
