"""What of a report's text is a claim: its words, its place, what is cited for it; rows of tables, items of lists."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadline.citations import cited, uncited
from leadline.records import Report
from leadline.testing.reports import quoting
from leadline_plugins.stages.claims import Claim, Library, claims_of
from leadline_plugins.stages.paragraphs import blocks
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
        (f"Who paid?\n{HEAD}| Oslo | 12 [@e3] |", [("Who paid?", ("e3",)), ("Oslo; 12", ("e3",))]),
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
        (f"{HEAD}| {QUOTES[0]} | {QUOTES[1]} [@e1][@e2] |", [("supported", "exact")] * 2),
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
        assert claim.cells or place.endswith(claim.text.removeprefix("**"))
        assert all(cell in uncited(place) for cell in claim.cells)
        assert last <= claim.span[0] < claim.span[1]
        assert claim.cells or claim.span[1] <= claim.run[0]
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
