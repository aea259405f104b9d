"""What verification sees in a report: paragraphs, ids, quotes."""

from __future__ import annotations

import pytest

from leadline.records import Document, Evidence, Hit, Report, Section, Source
from leadline_plugins.stages.paragraphs import paragraphs
from leadline_plugins.stages.verify import verification

TEXT = "The bay is 40 fathoms deep. It was sounded in 1831."


def report(text: str, quote: str = "The bay is 40 fathoms deep.", start: int = 0) -> Report:
    evidence = Evidence(id="e1", source_id="s1", quote=quote, span=(start, start + len(quote)), claim=quote)
    return Report(
        title="Depth",
        language="en",
        sections=(Section(id="1", title="Depth", text=text),),
        sources=(Source(id="s1", hit=Hit(url="https://example.org/"), document=Document(text=TEXT)),),
        evidence=(evidence,),
    )


def checked(given: Report, *, require_support: bool = False) -> dict[str, object]:
    return verification(given, paragraphs(given), require_support).model_dump(exclude={"verdicts"})


def test_a_quote_with_its_citation_passes() -> None:
    checks = checked(report("The bay is 40 fathoms deep. [@e1]"), require_support=True)
    assert checks["passed"] is True
    assert checks["claims"] == {"supported": 1}


def test_a_citation_of_unknown_evidence_is_found() -> None:
    checks = checked(report("The bay is 40 fathoms deep. [@e1]\n\nIt is wide. [@e9]"))
    assert checks["paragraphs_jsonl_cite_ids_passed"] is False
    assert checks["unknown_ids"] == ("e9",)
    assert checks["passed"] is False


@pytest.mark.parametrize(
    ("block", "bare"),
    [
        ("It is wide.", 1),
        ("It is [@e1] wide.", 1),
        ("It is wide. [@e1].", 0),
        ("### A heading", 0),
        ("![depth](figure:f1)", 0),
        ("Figure 1: the depth", 0),
        ("The depths were these:", 0),
        ("深度如下：", 0),
        ("| bay | 40 |\n|---|---|\n| lake | 3 | [@e1]", 0),
    ],
)
def test_prose_must_end_with_a_citation(block: str, bare: int) -> None:
    checks = checked(report(f"The bay is 40 fathoms deep. [@e1]\n\n{block}"))
    assert checks["paragraph_without_citation_count"] == bare


def test_a_quote_that_does_not_stand_in_its_source_is_unsupported() -> None:
    made_up = report("The bay is 41 fathoms deep. [@e1]", quote="The bay is 41 fathoms deep.")
    assert checked(made_up)["claims"] == {"unsupported": 1}
    assert checked(made_up)["passed"] is True
    assert checked(made_up, require_support=True)["passed"] is False


def test_another_wording_is_partial_for_nobody_judged_it() -> None:
    assert checked(report("The bay is deep indeed. [@e1]"))["claims"] == {"partial": 1}


def test_a_report_without_any_citation_fails() -> None:
    checks = checked(report("### Nothing"))
    assert checks["report_passed"] is False
    assert checks["passed"] is False


def test_markdown_escapes_and_white_space_do_not_make_another_wording() -> None:
    assert checked(report("The bay\nis 40 fathoms deep\\. [@e1]"))["claims"] == {"supported": 1}
