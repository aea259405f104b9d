"""What of a report's text is a claim: its words, its place, what is cited for it; rows of tables, items of lists."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadline.citations import cited, uncited
from leadline.records import Document, Evidence, Hit, Report, Source
from leadline.testing.reports import quoting
from leadline_plugins.stages.claims import Claim, claims_of, unjudged
from leadline_plugins.stages.library import Library
from leadline_plugins.stages.paragraphs import blocks, paragraphs
from leadline_plugins.stages.said import tables
from leadline_plugins.stages.verdicts import by_rule

QUOTES = "The bay is 40 fathoms deep.", "It was sounded in 1831.", "Oslo paid 12 million euros."


def report(text: str) -> Report:
    return quoting(text, quotes=QUOTES)


def said(text: str) -> list[tuple[str, tuple[str, ...]]]:
    return [(claim.text, claim.cite_ids) for claim in claims_of(report(text))]


def verdicts(text: str) -> list[tuple[str, str]]:
    made = report(text)
    return [(verdict.verdict, verdict.by) for verdict in by_rule(claims_of(made), Library(made))]


HEAD = "| Port | Paid |\n|---|---|\n"


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        (f"{HEAD}| Oslo | 12 million euros [@e3] |", [("Oslo; 12 million euros", ("e3",))]),
        (f"{HEAD}| Oslo [@e1] | 12 million [@e3] |", [("Oslo", ("e1",)), ("12 million", ("e3",))]),
        (f"{HEAD}| Oslo | 12 |\n| Rome | 4 | [@e3]", [("Oslo; 12", ("e3",)), ("Rome; 4", ("e3",))]),
        (f"{HEAD}| 1 | Oslo [@e1] |\n| 2 | Rome [@e3] |", [("Oslo", ("e1",)), ("Rome", ("e3",))]),
        (f"{HEAD}| 7 | Oslo [@e1] |", [("7; Oslo", ("e1",))]),
        (f"{HEAD}| Oslo [@e1] | 1 [@e3] |", [("Oslo", ("e1",)), ("1", ("e3",))]),
        (
            f"{HEAD}| A | 5 [@e1] | 2019 |\n| B | 6 [@e2] | 2020 |",
            [("A; 5; 2019", ("e1",)), ("B; 6; 2020", ("e2",))],
        ),
        (f"{HEAD}| 1 [@e1] | Oslo |", [("Oslo", ("e1",))]),
        (f"{HEAD}| A [@e1] | 5 ([@e2]) | 2019 |", [("A", ("e1",)), ("5; 2019", ("e2",))]),
        (f"{HEAD}| A | 5 |\n| [@e1] B | 6 |", [("A; 5", ("e1",)), ("B; 6", ("e1",))]),
        (f"{HEAD}| A | 5 [@e1] | 2019 |\n| B | 6 | [@e2]", [("A; 5; 2019", ("e1",)), ("B; 6", ("e2",))]),
        (f"{HEAD}| a \\| b | – | [@e1] |", [("a | b", ("e1",))]),
        ("Port | Paid\n---|---\nOslo | 12\nRome | 4 [@e3]", [("Oslo; 12", ("e3",)), ("Rome; 4", ("e3",))]),
        (f"Who paid?\n{HEAD}| Oslo | 12 [@e3] |", [("Oslo; 12", ("e3",))]),
        ("| Oslo | 12 [@e3] |", [("| Oslo | 12", ("e3",))]),
        ("Costs rose [@e1]. costs fell [@e2].", [("Costs rose", ("e1",)), ("costs fell", ("e2",))]),
        ("Costs rose [@e1], and wages fell [@e2].", [("Costs rose", ("e1",)), ("and wages fell", ("e2",))]),
        ("**Costs rose [@e1].** Wages fell [@e2].", [("**Costs rose", ("e1",)), ("Wages fell", ("e2",))]),
        ("It fell ([@e1]). It rose ([@e2]).", [("It fell", ("e1",)), ("It rose", ("e2",))]),
        ("跌了（[@e1]）。漲了（[@e2]）。", [("跌了", ("e1",)), ("漲了", ("e2",))]),
        (f"{HEAD}| Oslo | 12 million ([@e1]) |", [("Oslo; 12 million", ("e1",))]),
        ("(1) It fell [@e1].", [("It fell", ("e1",))]),
        ("1、跌了[@e1]。", [("跌了", ("e1",))]),
        ("- **2.** It fell [@e1].", [("It fell", ("e1",))]),
        ("4. **长期转型**：跌了[@e1]", [("**长期转型**：跌了", ("e1",))]),
        ("1. __Cost__: it fell [@e1].", [("__Cost__: it fell", ("e1",))]),
        ("1. **It fell.** [@e1]", [("**It fell.**", ("e1",))]),
        ("**1、長期**：跌了[@e1]", [("**長期**：跌了", ("e1",))]),
        ("**Costs.** They rose [@e1].", [("They rose", ("e1",))]),
        ("**They rose.** [@e1]", [("**They rose.**", ("e1",))]),
        ("**They rose by 40.** Then [@e1].", [("**They rose by 40.**", ("e1",)), ("Then", ("e1",))]),
        ("**The costs of it rose.** So [@e1]", [("**The costs of it rose.**", ("e1",)), ("So", ("e1",))]),
        ("1. [@e1] It fell [@e2].", [("It fell", ("e2",))]),
        ("It was (2) that fell [@e1].", [("It was (2) that fell", ("e1",))]),
        ("1.5 million fell [@e1].", [("1.5 million fell", ("e1",))]),
        ("### Costs [@e1]\nCosts rose [@e1].", [("Costs rose", ("e1",))]),
    ],
)
def test_sentences_and_rows_are_claims_and_heads_and_numbers_are_not(
    text: str, claims: list[tuple[str, tuple[str, ...]]]
) -> None:
    assert said(text) == claims


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{HEAD}| 1 | The bay is 40 fathoms deep. [@e1] |", [("supported", "exact")]),
        (f"{HEAD}| {QUOTES[0]} | {QUOTES[0]} [@e1] |", [("supported", "exact")]),
        (f"{HEAD}| {QUOTES[0]} | {QUOTES[1]} [@e1][@e2] |", [("supported", "exact")]),
        (f"{HEAD}| Oslo | 12 million euros [@e3] |", [("supported", "words")]),
        (f"{HEAD}| Oslo | 13 million euros [@e3] |", [("contradicted", "words")]),
        (f"{HEAD}| {QUOTES[0]} | It was sounded in 1832. [@e1] |", [("partial", "words")]),
        ("The bay is 40 fathoms deep ([@e1]).", [("supported", "exact")]),
        ("(3) The bay is 40 fathoms deep. [@e1]", [("supported", "exact")]),
        ("3、The bay is 40 fathoms deep. [@e1]", [("supported", "exact")]),
    ],
)
def test_a_row_is_judged_by_what_its_cells_say(text: str, expected: list[tuple[str, str]]) -> None:
    assert verdicts(text) == expected


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"{HEAD}| Oslo [@e1] | 12 million [@e3] |", ["Oslo", "Oslo; Paid: 12 million"]),
        (f"{HEAD}| Oslo | 12 million [@e3] |", ["Oslo; Paid: 12 million"]),
        (f"{HEAD}| 1 | Oslo [@e1] |\n| 2 | Rome [@e3] |", ["Oslo", "Rome"]),
        (f"{HEAD}| **Oslo** [@e1] | 5 ([@e2]) | 2019 |", ["Oslo", "Oslo; Paid: 5; 2019"]),
        ("| A | B | C |\n|---|---|---|\n| Oslo | x [@e1] | y [@e2] |", ["Oslo; B: x", "Oslo; C: y"]),
        ("| A | B | C |\n|---|---|---|\n| Oslo | | y [@e2] |", ["Oslo; C: y"]),
        ("A | B\n---|---\nOslo [@e1] | x [@e2]", ["Oslo", "Oslo; B: x"]),
        ("- **“高位新常态”，3,000美元**：跌了[@e1]。", ["“高位新常态”，3,000美元：跌了"]),
    ],
)
def test_a_claim_is_shown_as_it_stands_and_a_cell_with_its_row_and_column(text: str, shown: list[str]) -> None:
    assert [claim.shown for claim in claims_of(report(text))] == shown


def test_a_cell_is_not_borne_by_a_passage_on_another_row() -> None:
    assert verdicts(f"{HEAD}| Oslo | 12 [@e3] | |\n| Rome [@e1] | paid 12 million euros [@e3] |")[-1][0] != "supported"


def test_the_verdict_on_several_citations_is_one_on_the_whole() -> None:
    assert verdicts("The bay is 40 fathoms deep. [@e1][@e3]") == [("supported", "exact")]
    made = report("The bay is 40 fathoms deep, and it was sounded in 1831 [@e1][@e2].")
    (found,) = by_rule(claims_of(made), Library(made))
    assert (found.verdict, found.cites) == ("supported", ("e1", "e2"))


def test_one_passage_that_bears_it_does_not_hide_another_that_speaks_against_it() -> None:
    made, said = report("The bay is 40 fathoms deep [@e1][@e4]."), "The bay is 41 fathoms deep."
    other = Evidence(id="e4", source_id="s2", quote=said, span=(0, len(said)), claim=said)
    source = Source(id="s2", hit=Hit(url="https://example.org/2"), document=Document(text=said))
    made = made.model_copy(update={"evidence": (*made.evidence, other), "sources": (*made.sources, source)})
    (found,) = by_rule(claims_of(made), Library(made))
    assert (found.verdict, found.by) == ("partial", "words")
    assert "otherwise" in found.reason


def test_a_quote_that_stands_nowhere_is_not_hidden_by_one_that_does() -> None:
    made = report("The bay is 40 fathoms deep. [@e1][@e4]")
    lost = Evidence(id="e4", source_id="s1", quote="It is blue.", span=(0, 1), claim="c")
    made = made.model_copy(update={"evidence": (*made.evidence, lost)})
    (found,) = by_rule(claims_of(made), Library(made))
    assert found.verdict == "partial"
    assert "the quote does not stand in the source" in found.reason


def test_a_sentence_without_a_citation_of_its_own_is_held_against_its_paragraph() -> None:
    text = "Oslo paid 12 million euros. The bay is 40 fathoms deep [@e1]. It was paid for by Oslo [@e3]."
    first, second, third = claims_of(report(text))
    assert [(one.own, one.cite_ids, one.beside) for one in (first, second, third)] == [
        (False, ("e1",), ("e3",)),
        (True, ("e1",), ()),
        (True, ("e3",), ()),
    ]
    assert verdicts(text)[0][0] == "supported"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("The bay is deep [@e1]. It was dug on the Moon in 1950.", [("uncited", "It was dug on the Moon in 1950.")]),
        ("It was dug on the Moon.", [("uncited", "It was dug on the Moon.")]),
        ("How deep? The bay is deep [@e1].", [("question", "How deep?")]),
        ("The bay is deep [@e1]. The sources do not say more.", [("sources", "The sources do not say more.")]),
        ("No source says so, but it may be deep [@e1].", [("inference", "No source says so, but it may be deep")]),
        ("The bay is deep [@e1]. See section 2.", []),
        (f"The figures are these.\n\n{HEAD}| Oslo | 12 [@e3] |", []),
        (f"{HEAD}| Oslo | 12 [@e3] |\n| Rome | 4 |", [("uncited", "Rome; Paid: 4")]),
        ("**Phase 2 (2013): the decline.** It fell [@e1].", []),
    ],
)
def test_what_is_held_against_nothing_is_told_apart(text: str, left: list[tuple[str, str]]) -> None:
    found = (one for part in paragraphs(report(text)) for one in unjudged(part))
    assert [(one.kind, one.text) for one in found] == left


def test_a_claim_knows_where_it_stands() -> None:
    text = "## Oslo\n\nIt has a port. The bay is deep [@e1], and it was sounded [@e2]. It paid [@e3]."
    first, second, third, last = (claim.context for claim in claims_of(report(text)))
    assert {one.under for one in (first, second, third, last)} == {"Part 1 › Oslo"}
    assert (second.before, second.behind) == ("It has a port.", "It paid.")
    assert second.whole == third.whole == "The bay is deep, and it was sounded."
    assert (first.whole, last.whole) == ("", "")


SIGNS = [". ", "。", ", ", " [@e1]", "[@e2]", "\n", "\n\n", "- ", "1. ", "> ", "### ", "```", "**", " $$ ", "  "]
PARTS = st.lists(
    st.sampled_from(["Costs rose", "月亮", "See table 2", "| a | b |", "|---|---|", "| c ", "|", *SIGNS]), max_size=25
)


@given(PARTS)
def test_a_claim_stands_at_its_place_and_its_citations_at_theirs(parts: list[str]) -> None:
    text = "".join(parts)
    last = 0
    for claim in claims_of(report(text)):
        place = text[slice(*claim.span)]
        assert claim.row.cells or place.endswith(claim.text.removeprefix("**"))
        assert all(cell in uncited(place) for cell in claim.row.cells)
        assert last <= claim.span[0] < claim.span[1]
        assert claim.row.cells or claim.span[1] <= claim.run[0]
        assert tuple(dict.fromkeys(cited(text[slice(*claim.run)]))) == claim.cite_ids
        last = claim.span[1]


@given(PARTS)
def test_blocks_hold_all_that_a_text_says(parts: list[str]) -> None:
    text = "".join(parts)
    spans = list(blocks(text))
    assert "".join("".join(text[slice(*span)] for span in spans).split()) == "".join(text.split())
    assert all(one[1] <= other[0] for one, other in pairwise(spans))


def test_a_long_table_is_gone_through_once() -> None:
    rows = "\n".join(f"| Port {place} | paid {place} [@e3] |" for place in range(2000))
    made = claims_of(report(HEAD + rows))
    assert len(made) == 2000
    assert isinstance(made[-1], Claim)
    assert [len(table.rows) for table in tables(HEAD + rows)] == [2000]
