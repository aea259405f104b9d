"""What verification sees in a report: paragraphs, ids, quotes."""

from __future__ import annotations

import pytest

from leadline.findings import Audit, Repair
from leadline.records import Document, Evidence, Hit, Report, Section, Source
from leadline_plugins.stages.audit import markdown, reasons
from leadline_plugins.stages.claims import claims_of
from leadline_plugins.stages.library import Library
from leadline_plugins.stages.paragraphs import paragraphs
from leadline_plugins.stages.verdicts import by_rule
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
    verdicts = by_rule(claims_of(given), Library(given))
    return verification(given, paragraphs(given), verdicts, require_support).model_dump(exclude={"verdicts"})


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
        ("| a | b |\n|---|---|\n| bay | wide [@e1] | 1831 |", 0),
        ("| a | b |\n|---|---|\n| bay [@e1] | wide |\n| sea | wide |", 1),
        ("### A heading", 0),
        ("![depth](figure:f1)", 0),
        ("Figure 1: the depth", 0),
        ("The depths were these:", 0),
        ("深度如下：", 0),
        ("**Figure 1**: the depth", 0),
        ("**Figure 1.** The depth", 0),
        ("Figure 1.2. The depth", 0),
        ("Figure 1 – the depth", 0),
        ("图1：深度", 0),
        ("**Figure 1**", 0),
        ("Figure 1 shows that it is wide.", 1),
        ("**Table 1** shows that the lake lost 40 % of its water.", 1),
        ("Table 1.2 shows that it is wide.", 1),
        ("Table 1-3 show that it is wide.", 1),
        ("### A heading\nThe lake lost 40 % of its water in 2020.", 1),
        ("The lake lost 40 % of its water. [@e1]\n## A heading\nIt is wide.", 1),
        ("### A heading\nIt is wide. [@e1]", 0),
        ("```\ndepth = 40\n\n# a comment\nx\n```", 0),
        ("```\ndepth = 40\n```\nIt is wide.", 1),
        ("```\ndepth = 40\n```\n[@e1]", 0),
        ("~~~\ndepth = 40", 0),
        ("$$\nx = 1\n$$ (1)", 0),
        ("$$x$$ is what it is.", 1),
        ("Compare the lake, whose water fell by 40 % in 2020, with the chapter above.", 1),
        ("参见水位在2020年下降40%的湖泊一章。", 1),
        ("See sections 3 and figure 12.", 0),
        ("详见第 3 章。", 0),
        ("See section 3 for the depths of the lake.", 0),
        ("See section 3. It is wide.", 1),
        ("See how wide it is.", 1),
        ("详见第三章。", 0),
        ("```\ndepth = 40\n```", 0),
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


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ("The depth of the bay is 40 fathoms.", "supported"),
        ("The bay is 41 fathoms deep.", "contradicted"),
        ("The bay is not 40 fathoms deep.", "contradicted"),
        ("Whales sing in the evening.", "unsupported"),
        ("The bay is deep, cold, and known for its whales.", "partial"),
    ],
)
def test_another_wording_is_judged_by_rule_and_by_words(claim: str, verdict: str) -> None:
    assert checked(report(f"{claim} [@e1]"))["claims"] == {verdict: 1}


def test_every_sentence_before_a_citation_is_a_claim() -> None:
    given = report("The bay is 40 fathoms deep. The bay is 12 fathoms deep. [@e1]")
    assert [verdict.verdict for verdict in by_rule(claims_of(given), Library(given))] == ["supported", "contradicted"]


def test_two_passages_bear_together_what_neither_bears_alone() -> None:
    given = report("The bay is 40 fathoms deep and was sounded in 1831. [@e1][@e2]")
    quote = "It was sounded in 1831."
    other = Evidence(id="e2", source_id="s1", quote=quote, span=(28, 28 + len(quote)), claim=quote)
    given = given.model_copy(update={"evidence": (*given.evidence, other)})
    assert "supported" in {verdict.verdict for verdict in by_rule(claims_of(given), Library(given))}


def test_the_paragraphs_that_cite_nothing_and_who_judged_are_named() -> None:
    checks = checked(report("The bay is 40 fathoms deep. Deep is the bay, 40 fathoms. [@e1]\n\nIt is wide."))
    assert checks["paragraphs_without_citation"] == ("1.2",)
    assert checks["judged_by"] == {"exact": 1, "words": 1}


def test_people_are_told_where_what_is_wrong_stands_and_who_says_so() -> None:
    given = report("The bay is 41 fathoms deep. [@e1]\n\nIt is wide.")
    verdicts = by_rule(claims_of(given), Library(given))
    checks = verification(given, paragraphs(given), verdicts, require_support=True)
    told = markdown(given, Audit(accepted=checks.passed, reasons=tuple(reasons(checks, True))), checks)
    assert "**Rejected**" in told
    assert "| by rule | 1 |" in told
    assert "- **contradicted**, judged by rule, [1] e1: The bay is 41 fathoms deep." in told
    assert "  > The bay is 40 fathoms deep." in told
    assert "- 1.2: It is wide." in told


def test_what_was_repaired_is_told_with_what_now_stands_there() -> None:
    given = report("The bay is 40 fathoms deep. [@e1]")
    done = (
        Repair(section_id="1", claim="It is wide.", verdict="unsupported", done="weakened", now="It is deep."),
        Repair(section_id="1", claim="It is blue.", verdict="unsupported", done="dropped"),
    )
    checks = verification(given, paragraphs(given), by_rule(claims_of(given), Library(given)), True, done)
    told = markdown(given, Audit(accepted=True), checks)
    assert "\n\n\n" not in told
    assert "- **weakened** (unsupported): It is wide.\n  - now: It is deep.\n" in told
    assert told.endswith("- **dropped** (unsupported): It is blue.\n")


def test_what_is_not_borne_is_told_first_though_it_alone_would_not_decide() -> None:
    given = report("The bay is 41 fathoms deep. [@e1]\n\nIt is wide.")
    checks = verification(given, paragraphs(given), by_rule(claims_of(given), Library(given)), require_support=False)
    unborne = "1 claim is not borne by the passages cited"
    assert list(reasons(checks, False)) == list(reasons(checks, True))
    assert list(reasons(checks, False)) == [unborne, "1 paragraph ends without a citation"]
    whole = report("The bay is 41 fathoms deep. [@e1]")
    checks = verification(whole, paragraphs(whole), by_rule(claims_of(whole), Library(whole)), require_support=False)
    told = markdown(whole, Audit(accepted=True, reasons=tuple(reasons(checks, False))), checks)
    assert f"**Accepted**\n\nAccepted all the same, as `verify.require_support` is off: {unborne}." in told


def test_a_report_without_any_citation_fails() -> None:
    checks = checked(report("### Nothing"))
    assert checks["report_passed"] is False
    assert checks["passed"] is False


def test_markdown_escapes_and_white_space_do_not_make_another_wording() -> None:
    assert checked(report("The bay\nis 40 fathoms deep\\. [@e1]"))["claims"] == {"supported": 1}


def test_claims_are_counted_and_not_their_citations() -> None:
    given = report("The bay is 40 fathoms deep [@e1][@e2].")
    (item,) = given.evidence
    checks = checked(given.model_copy(update={"evidence": (item, item.model_copy(update={"id": "e2"}))}))
    assert (checks["claims"], checks["judged_by"]) == ({"supported": 1}, {"exact": 1})
