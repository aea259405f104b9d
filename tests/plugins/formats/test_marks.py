"""Marks at claims: each verdict at its own place, in every format, and the list of checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadline.citations import number
from leadline.records import Claim, Report, Section, Uncited, Verdict, VerdictKind
from leadline.rendering import VERDICTS
from leadline.research_findings import FAILED, GROUNDED
from leadline_plugins.formats.arrangement import arranged
from leadline_plugins.formats.document import Medium, document
from leadline_plugins.formats.html import MEDIUM, render_page
from leadline_plugins.formats.markdown import body, checks
from leadline_plugins.formats.marks import Mark, with_signs, without_signs
from leadline_plugins.formats.report_markdown import with_tokens
from leadline_plugins.formats.tree import text
from leadline_plugins.verification.reports.reader import read_report

Make = Callable[..., Report]
Judge = Callable[..., Verdict]
TWICE = "The bay is deep [@e1]. The bay is dry [@e1]. It is wide [@e2][@e3]. So it is ([@e1])."


def markdown(report: Report) -> str:
    report = arranged(report)
    return "\n\n".join(filter(None, [*body(report, number(report), {}, inline=False), *checks(report)]))


def shown(given: str, said: str, kind: str = "unsupported") -> str:
    """Return a text with the sign of one claim."""
    start = given.index(said)
    mark = Mark(1, kind, "1", (start, start + len(said)), said)
    return with_signs(with_tokens(given, [(mark.number, mark.span)]), [mark])


def uncited(given: str, said: str) -> tuple[Uncited, ...]:
    at = given.index(said)
    return (Uncited(id="1.9", section_id="1", text=said, span=(at, at + len(said))),)


def signs(tree: Any) -> Iterator[tuple[str, str]]:
    """Yield the sign and the description of each mark in a tree."""
    match tree:
        case {"t": "Span", "c": [[_, ["verdict", *_], values], inside]}:
            yield text(inside), dict(values)["title"]
        case {"c": content}:
            yield from signs(content)
        case list():
            for item in tree:
                yield from signs(item)


@pytest.mark.parametrize(
    ("given", "said", "expected"),
    [
        ("It is dry [@e1]. It is.", "It is dry [@e1].", "It is dry [@e1]?. It is."),
        ("It is dry. [@e1] It is.", "It is dry. [@e1]", "It is dry. [@e1]? It is."),
        ("**It is dry [@e1].** So.", "It is dry [@e1].", "**It is dry [@e1]?.** So."),
        ("It is dry ([@e1]). So.", "It is dry ([@e1]).", "It is dry ([@e1])[?]. So."),
        ("By [@e1] it is dry. So.", "By [@e1] it is dry.", "By [@e1] it is dry.[?] So."),
        ("很干[@e1]，很深[@e2]。", "很干[@e1]", "很干[@e1]?，很深[@e2]。"),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n", "| 1 | 2 |\n", "| a | b |\n|---|---|\n| 1 | 2[?] |\n"),
        ("| a | b |\n|---|---|\n", "| a | b |\n|---|---|\n", "| a | b[?] |\n|---|---|\n"),
        ("- one [@e1]\n- two\n", "one [@e1]", "- one [@e1]?\n- two\n"),
        ("> Said.\n\nNext.", "Said.", "> Said[?].\n\nNext."),
        ("So:\n\n```\nx = 1\n```\n\nNext.", "So:\n\n```\nx = 1\n```", "So:\n\n```\nx = 1\n```\n[?]\n\nNext."),
    ],
)
def test_a_mark_follows_the_citations_of_its_claim_or_its_end(given: str, said: str, expected: str) -> None:
    assert shown(given, said) == expected


def test_each_claim_has_the_sign_of_its_own_verdict_in_markdown_and_in_the_tree(
    make_report: Make, judge: Judge
) -> None:
    kinds = {"The bay is deep [@e1].": "partial", "The bay is dry [@e1].": "contradicted"}
    kinds |= {"It is wide [@e2][@e3].": "supported", "So it is ([@e1]).": "not_judged"}
    report = make_report(TWICE, verdicts=tuple(judge(TWICE, said, kind) for said, kind in kinds.items()))
    assert "The bay is deep [1]≈. The bay is dry [1]≠. It is wide [2][3]. So it is [1]○." in markdown(report)
    for medium in (MEDIUM, Medium()):
        assert [sign for sign, _ in signs(document(report, medium).blocks)] == ["≈", "≠", "○"]


def test_a_paragraph_without_a_citation_is_marked_at_its_end(make_report: Make) -> None:
    given = f"{TWICE}\n\nNobody *knows* why."
    report = make_report(given, verdicts=(), uncited=uncited(given, "Nobody *knows* why."))
    assert "Nobody *knows* why[†]." in markdown(report)
    assert "- **† without a citation:** Depth: Nobody knows why." in markdown(report)
    assert "1 paragraph ends without a citation." in document(report, MEDIUM).checks


def test_the_page_shows_reason_and_judge_and_links_to_the_entry_and_back(make_report: Make, judge: Judge) -> None:
    report = make_report(TWICE, verdicts=(judge(TWICE, "The bay is dry [@e1].", "contradicted", "it is wet"),))
    made = render_page(document(report, MEDIUM))
    told = "contradicted: it is wet; judge: model"
    assert f'<span id="claim-1" class="verdict contradicted" title="{told}"><a href="#check-1"' in made
    assert f'aria-label="{told}"' in made
    assert '<span id="check-1">' in made
    assert '<a href="#claim-1">The bay is dry.</a>' in made
    assert made.count('data-claims="claim-1"') == 1


def test_the_legend_has_the_signs_in_use_alone(make_report: Make, judge: Judge) -> None:
    report = make_report(TWICE, verdicts=(judge(TWICE, "The bay is dry [@e1].", "contradicted"),))
    assert "Marks in the text: ≠ contradicted." in markdown(report)
    supported = make_report(TWICE, verdicts=(judge(TWICE, "The bay is dry [@e1].", "supported"),))
    assert "Marks" not in markdown(supported)
    assert "## Checks" not in markdown(make_report(TWICE, verdicts=()))


def test_a_report_that_no_judge_could_judge_has_one_note_and_no_list(make_report: Make, judge: Judge) -> None:
    verdicts = tuple(judge(TWICE, said, "not_judged") for said in ("It is wide [@e2][@e3].", "So it is ([@e1])."))
    told = markdown(make_report(TWICE, verdicts=verdicts))
    assert "None of 2 claims could be judged" in told
    assert told.count("○") == 3
    assert "- **" not in told


def test_a_finding_of_a_judge_that_could_not_decide_is_listed(make_report: Make) -> None:
    span = (TWICE.index("It is wide"), TWICE.index(" So it"))
    claim = Claim(id="1.1", section_id="1", text="It is wide.", span=span, findings=("99 is not in the source",))
    told = markdown(make_report(TWICE, verdicts=(Verdict(claim=claim, verdict="not_judged"),)))
    assert "- **○ not judged:** Depth: It is wide. (99 is not in the source)" in told


def test_equal_claims_are_listed_once_the_worst_first(make_report: Make, judge: Judge) -> None:
    given = "It is deep [@e1]. It is *dry* [@e1].\n\nIt is *dry* [@e2]."
    kinds = {"It is deep [@e1].": "partial", "It is *dry* [@e1].": "unsupported", "It is *dry* [@e2].": "unsupported"}
    report = make_report(given, verdicts=tuple(judge(given, said, kind, "so") for said, kind in kinds.items()))
    told = next(line for line in checks(report) if line.startswith("- ")).split("\n")
    assert [line.partition(" (")[0] for line in told] == [
        "- **? unsupported:** Depth: It is dry. × 2",
        "- **≈ supported in part:** Depth: It is deep.",
    ]
    made = render_page(document(report, MEDIUM))
    assert made.count('href="#check-2"') == 2


def test_a_claim_contradicted_in_the_summary_comes_first(make_report: Make, judge: Judge) -> None:
    sections = (Section(id="summary", title="Summary", text=TWICE),)
    verdict = judge(TWICE, "The bay is dry [@e1].", "contradicted", section="summary")
    told = document(make_report(sections=sections, verdicts=(verdict,)), MEDIUM).checks
    assert told.startswith("The cited source contradicts the summary: The bay is dry. 1 claim checked:")


def test_a_reason_is_in_brackets_as_its_language_has_them(make_report: Make, judge: Judge) -> None:
    verdict = judge(TWICE, "The bay is dry [@e1].", "contradicted", "so")
    assert "The bay is dry.（so；判定者：model）" in markdown(make_report(TWICE, verdicts=(verdict,), language="zh"))


@pytest.mark.parametrize("language", ["en", "zh", "fr"])
def test_a_report_with_marks_is_read_as_one_without(make_report: Make, judge: Judge, language: str) -> None:
    given = f"{TWICE}\n\nNobody knows."
    verdicts = (
        judge(given, "The bay is dry [@e1].", "contradicted"),
        judge(given, "It is wide [@e2][@e3].", "partial"),
    )
    report = make_report(given, language=language, uncited=uncited(given, "Nobody knows."), verdicts=verdicts)
    plain = markdown(report.model_copy(update={"verdicts": (), "uncited": ()})).partition("\n## ")[0]
    assert without_signs(markdown(report)).startswith(plain)
    assert "≠" not in read_report(markdown(report)).text.partition("## ")[0]


def test_the_report_of_another_tool_is_left_as_it_is() -> None:
    assert without_signs("Is it dry [1]? Is it [?]") == "Is it dry [1]? Is it [?]"


@given(st.text(alphabet="ab. \n|-`*[]()>@!\ufdd01", max_size=60), st.integers(0, 60), st.integers(0, 60))
def test_no_token_reaches_a_reader_wherever_a_claim_ends(filling: str, start: int, end: int) -> None:
    claim = Claim(id="1.1", section_id="1", text="a", span=(min(start, end), max(start, end)))
    report = Report(
        title="A",
        language="en",
        sections=(Section(id="1", title="B", text=filling),),
        sources=(),
        evidence=(),
        verdicts=(Verdict(claim=claim, verdict="unsupported"),),
    )
    assert "\ufdd0" not in markdown(report)
    assert "\ufdd0" not in render_page(document(report, MEDIUM))


def test_a_text_that_imitates_tokens_marks_nothing(make_report: Make, judge: Judge) -> None:
    given = f"A [\ufdd01] b. {TWICE}"
    report = make_report(given, verdicts=(judge(given, "The bay is dry [@e1].", "contradicted"),))
    assert len(list(signs(document(report, MEDIUM).blocks))) == 1
    assert markdown(report).count("[1]≠") == 1


def test_the_question_appears_once_and_open_questions_are_one_list_at_the_end(make_report: Make) -> None:
    section = Section(
        id="1", title="How *deep*?", text="Deep [@e1].", inferences=("Ships may enter.",), unanswered=("Who knew?",)
    )
    other = Section(id="2", title="Width", text="Wide [@e2].", unanswered=("Who *paid*?", "Who knew?"))
    report = make_report(sections=(section, other), figures=(), verdicts=())
    told = markdown(report)
    assert "## How" not in told
    assert "> *The report's own reading, not from a source:* Ships may enter." in told
    assert told.endswith("## Not found in the passages read\n\n- Who knew?\n- Who *paid*?")
    assert text(document(report, Medium()).blocks).startswith("Deep")
    told_in_text = section.model_copy(update={"text": "Not found: “a\\_b”. Deep [@e1].", "unanswered": ("“a_b”",)})
    assert "Not found in the passages" not in markdown(make_report(sections=(told_in_text,), figures=(), verdicts=()))
    zh = markdown(report.model_copy(update={"language": "zh"}))
    assert "> *本报告自己的解读，并非出自来源：* Ships may enter." in zh


def test_each_verdict_has_a_sign_and_a_name_and_either_fails_its_claim_or_does_not() -> None:
    kinds = set(get_args(VerdictKind))
    assert set(VERDICTS) == kinds | {"uncited"}
    assert kinds == {*FAILED, *GROUNDED, "not_judged"}
