"""Claims of a report's Markdown, and paragraphs without a citation."""

from __future__ import annotations

import pytest

from leadline.records import Section
from leadline_plugins.verification.blocks import visible_text
from leadline_plugins.verification.claims import Statements, section_statements


def read(text: str) -> Statements:
    return section_statements([Section(id="s1", title="Costs", text=text)])


def claims(text: str) -> list[tuple[str, str]]:
    return [(claim.text, "".join(claim.evidence_ids)) for claim in read(text).claims]


def uncited(text: str) -> list[str]:
    return [one.text for one in read(text).uncited]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It rose [@a]. It fell.[@b]", [("It rose.", "a"), ("It fell.", "b")]),
        ("It rose. [@a] [@b] It fell [@c].", [("It rose.", "ab"), ("It fell.", "c")]),
        ("It rose. It fell [@a].", [("It rose.", "a"), ("It fell.", "a")]),
        ("`a … B` and `c. D` rose [@a]. It fell [@b].", [("a … B and c. D rose.", "a"), ("It fell.", "b")]),
        ("It rose by 3.5 %, e.g. in May [@a].", [("It rose by 3.5 %, e.g. in May.", "a")]),
        ("これは文です。[@a]次の文です[@b]。", [("これは文です。", "a"), ("次の文です。", "b")]),
        ("**It** rose in\nthe [year](https://x.example) [@a].", [("It rose in the year.", "a")]),
        ("**Costs.** It rose [@a]. It fell [@b].", [("Costs. It rose.", "a"), ("It fell.", "b")]),
        ("- **费用。** 上升了[@a]。", [("费用。 上升了。", "a")]),
        ("**It rose.** [@a] It **fell.** So [@b].", [("It rose.", "a"), ("It fell.", "ba"), ("So.", "b")]),
        ("It rose.\n\n[@a]", [("It rose.", "a")]),
        (
            "- one ship\n- two ships [@a]\n\n- three ships [@b]",
            [("one ship", "a"), ("two ships", "a"), ("three ships", "b")],
        ),
        ("The ships are: [@a]\n\n- one\n- two", [("one", "a"), ("two", "a")]),
        ("Give it 700 points [@a]:\n\n```\n700\n```", [("Give it 700 points:", "a")]),
        ("Two ships came [@a]:\n\n- one\n- two [@b]", [("Two ships came:", "a"), ("one", "b"), ("two", "b")]),
        (
            "| City | People |\n|---|---|\n| Bonn | 330,000 |\n| Ulm | 126,000 [@a] |",
            [("City: Bonn; People: 330,000", "a"), ("City: Ulm; People: 126,000", "a")],
        ),
        ("> It rose. It fell.\n>\n> - So it was [@a]", [("It rose. It fell. - So it was", "a")]),
    ],
)
def test_what_is_a_claim_and_what_it_cites(text: str, expected: list[tuple[str, str]]) -> None:
    assert claims(text) == expected
    assert not uncited(text)


@pytest.mark.parametrize(
    "text",
    [
        "# A heading",
        "Did it rise?",
        "又涨了吗？",
        "The ships are:\n\n- one [@a]",
        "![](figure:1)",
        "```\nIt rose.\n```",
        "$$\nx = 2\n$$",
        "---",
        "",
    ],
)
def test_what_states_nothing_is_neither_a_claim_nor_uncited(text: str) -> None:
    assert [one for one, _ in claims(text)] in ([], ["one"])
    assert not uncited(text)


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("It rose.", "It rose."),
        ("It rose [@a]. It fell. So it was.", "It fell. So it was."),
        ("- one ship [@a]\n- two ships", "two ships"),
    ],
)
def test_what_ends_without_a_citation_is_uncited_at_its_place(text: str, bare: str) -> None:
    [one] = read(text).uncited
    assert one.text == bare
    assert text[slice(*one.span)].lstrip("- ") == bare


def test_a_claim_knows_its_span_its_headings_and_the_sentence_before_it() -> None:
    text = "### Ships\n\nIt rose. It fell [@a]. So.[@b]"
    found = read(text).claims
    assert [text[slice(*claim.span)] for claim in found] == ["It rose.", "It fell [@a].", "So.[@b]"]
    assert {claim.under for claim in found} == {("Costs", "Ships")}
    assert [claim.before for claim in found] == ["", "It rose.", "It fell."]
    assert [claim.id for claim in found] == ["s1.1", "s1.2", "s1.3"]


def test_the_items_of_a_list_and_the_rows_of_a_table_come_after_their_lead_in() -> None:
    found = read("They must:\n\n- rise. Then fall [@a]\n- sink [@a]\n\nSo:\n\n| A |\n|---|\n| 1 [@a] |").claims
    assert [claim.before for claim in found] == ["They must:", "rise.", "They must:", "So:"]


def test_headings_of_the_same_level_replace_each_other() -> None:
    found = read("## A\n\nOne [@a].\n\n### B\n\nTwo [@a].\n\n## C\n\nThree [@a].").claims
    assert [claim.under[1:] for claim in found] == [("A",), ("A", "B"), ("C",)]


def test_a_sentence_that_only_a_judge_can_tell_from_a_claim_is_judged_with_or_without_a_citation() -> None:
    found = read("See the section on ships. Figure 2 shows them [@a].\n\n参见船只一节。")
    assert [(one.id, one.text, one.evidence_ids) for one in found.to_judge()] == [
        ("s1.1", "See the section on ships.", ("a",)),
        ("s1.2", "Figure 2 shows them.", ("a",)),
        ("s1.p2", "参见船只一节。", ()),
    ]


@pytest.mark.parametrize(
    "piece", ["[1] One - one.txt\n", "a [@b", "| ", "**", "> ", "1. x\n", "[@a] ", "- ", "x\n", "``` ", "(", "a. "]
)
def test_long_input_of_any_kind_is_read(piece: str) -> None:
    read(piece * 20_000)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("> Run cl.exe \\<arguments> where FILE is > 5. [@a]", "Run cl.exe <arguments> where FILE is > 5."),
        (
            "> It is here:\n>\n> > The grommet\n> > holds.\n>\n> See also. [@a]",
            "It is here: The grommet holds. See also.",
        ),
        (">> The grommet > 5 mm holds. [@a]", "The grommet > 5 mm holds."),
    ],
)
def test_a_quotation_loses_the_marks_at_the_start_of_its_lines_and_no_other_sign(text: str, said: str) -> None:
    assert claims(text) == [(said, "a")]


def test_code_in_a_quotation_is_an_omission_of_its_claim() -> None:
    text = "> Run it:\n>\n> ```\n> f(*a, **b)\n> ```\n>\n> It ends. [@a]"
    assert claims(text) == [("Run it: […] It ends.", "a")]
    assert claims("> ```\n> light --on\n> ```\n>\n> [@a]") == [("light --on", "a")]


def test_the_space_before_a_suffix_stays_and_that_of_a_citation_goes() -> None:
    assert visible_text("GCC writes the .d file [@e1]. It is read :5 times [@e2], once [@e3]!") == (
        "GCC writes the .d file. It is read :5 times, once!"
    )
