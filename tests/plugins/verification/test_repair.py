"""Repair of claims that their passages do not support, through the stage `verify`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, cast

import pytest

from leadline.contracts import StageRun
from leadline.errors import NoEvidence
from leadline.findings import Findings
from leadline.hookspecs import PluginSettings
from leadline.records import Judgement, Judgements, JudgeRequest, Report
from leadline.research_findings import PARTS, REPORT, VERIFICATION, Audit, Verification
from leadline_plugins.stages.audit import markdown
from leadline_plugins.stages.verify import VerifyStage
from leadline_plugins.verification.claims import report_statements
from leadline_plugins.verification.judges.exact import ExactJudge
from leadline_plugins.verification.judges.model import ModelJudge
from leadline_plugins.verification.repair import tidy_markdown
from leadline_plugins.verification.tasks import ClaimReply, SupportedReply, VerdictsReply

NewRun = Callable[..., StageRun]
NewReport = Callable[..., Report]


class Strict:
    """Contradicts every claim that `exact` leaves."""

    async def judge(self, request: JudgeRequest, call: object, /) -> Judgements:
        made = (Judgement(claim_id=claim.id, verdict="contradicted", reason="no") for claim in request.claims)
        return Judgements(judgements=tuple(made))


JUDGES = {"exact": ExactJudge(PluginSettings(), cast("Any", None)), "strict": Strict()}


async def verified(run: StageRun, report: Report) -> tuple[Report, Verification]:
    findings: dict[Any, Any] = {REPORT: report, PARTS: ()}
    await VerifyStage().run(cast("Findings", findings), run)
    return findings[REPORT], findings[VERIFICATION]


def text(report: Report) -> str:
    return "\n\n".join(section.text or "" for section in report.sections)


async def test_flagged_claims_stay_and_have_their_verdicts(new_run: NewRun, new_report: NewReport) -> None:
    report = new_report("It is deep.[@a] It is flat [@a]. And so on.", "It is deep.")
    run: Any = new_run(JUDGES)
    found, checks = await verified(run, report)
    assert text(found) == text(report)
    assert [one.verdict for one in found.verdicts] == ["supported", "contradicted"]
    assert [one.text for one in found.uncited] == ["And so on."]
    assert checks.claims == {"supported": 1, "contradicted": 1}
    assert checks.judged_by == {"exact": 1, "strict": 1}
    assert (checks.passed, checks.remarks, checks.grounds) == (True, 2, ())
    [entry] = checks.evidence_index
    assert entry.model_dump() == {
        "claim": "It is deep.",
        "source_ids": ("s0",),
        "quote": "It is deep",
        "confidence": "high",
    }
    [line] = run.files["paragraphs.jsonl"].decode().splitlines()
    assert json.loads(line) == {
        "id": "s1.p1",
        "section_id": "s1",
        "text": "It is deep. It is flat. And so on.",
        "markdown": "It is deep.[@a] It is flat [@a]. And so on.",
        "cite_ids": ["a"],
        "states": True,
        "ends_with_citation": False,
    }


@pytest.mark.parametrize(("require", "passed"), [(False, True), (True, False)])
@pytest.mark.parametrize("judges", [JUDGES, {"exact": JUDGES["exact"]}])
async def test_with_required_support_contradicted_and_not_judged_fail(
    new_run: NewRun, new_report: NewReport, judges: Any, require: bool, passed: bool
) -> None:
    run = new_run(judges, require_support=require)
    _, checks = await verified(run, new_report("It is deep.[@a] It is flat [@a].", "It is deep."))
    assert checks.passed is passed
    assert checks.reasons == (() if passed else ("1 of 2 claims are not supported by what they cite",))


@pytest.mark.parametrize(("require", "grounds"), [(False, ()), (True, ("uncited",))])
async def test_with_required_support_a_paragraph_without_a_citation_fails(
    new_run: NewRun, new_report: NewReport, require: bool, grounds: tuple[str, ...]
) -> None:
    run = new_run({"exact": JUDGES["exact"]}, require_support=require)
    _, checks = await verified(run, new_report("It is deep.[@a]\n\nIt was dug in 1907.", "It is deep."))
    assert (checks.passed, checks.grounds, checks.report_passed) == (not require, grounds, False)


async def test_citations_of_unknown_passages_fail(new_run: NewRun, new_report: NewReport) -> None:
    _, checks = await verified(new_run(JUDGES), new_report("It is deep.[@a][@x]", "It is deep."))
    assert checks.unknown_ids == ("x",)
    assert not checks.paragraphs_jsonl_cite_ids_passed
    assert checks.grounds == ("unknown_ids",)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("It is deep.[@a] It is flat [@a].", "It is deep.[@a]"),
        ("It is deep. It is flat [@a].", "It is deep [@a]."),
        ("It is flat.[@a] It is deep.[@a]", "It is deep.[@a]"),
        ("These are facts:\n\n- It is flat.[@a]\n\nIt is deep.[@a]", "It is deep.[@a]"),
        ("- It is flat.[@a]\n- It is deep.[@a]", "- It is deep.[@a]"),
        ("### One\n\nIt is flat.[@a]\n\n### Two\n\nIt is deep.[@a]", "### Two\n\nIt is deep.[@a]"),
        ("It is deep.[@a]\n\n| a |\n|---|\n| It is flat [@a] |", "It is deep.[@a]"),
        ("It is deep.[@a]\n\n> It is flat.\n> So.[@a]", "It is deep.[@a]"),
    ],
)
async def test_dropped_claims_leave_nothing_empty_and_no_claim_without_its_citation(
    new_run: NewRun, new_report: NewReport, before: str, after: str
) -> None:
    found, checks = await verified(new_run(JUDGES, unsupported="drop"), new_report(before, "It is deep."))
    assert text(found) == after
    assert checks.claims == {"supported": 1}
    assert [(one.done, one.verdict) for one in checks.repairs] == [("dropped", "contradicted")]
    assert not checks.uncited


async def test_a_report_of_which_nothing_is_left_is_no_evidence(new_run: NewRun, new_report: NewReport) -> None:
    with pytest.raises(NoEvidence, match="support none of the report's 1 claims"):
        await verified(new_run(JUDGES, unsupported="drop"), new_report("It is flat [@a].", "It is deep."))


class ByModel:
    """Supports what the first cited passage with the same words says; its quotes are whole passages."""

    async def judge(self, request: JudgeRequest, call: object, /) -> Judgements:
        made = []
        for claim in request.claims:
            words = claim.text.strip(".").split()
            own = [
                one for one in request.passages if one.id in claim.evidence_ids and all(w in one.quote for w in words)
            ]
            verdict: Any = "supported" if own else "unsupported"
            quote = own[0].quote if own else ""
            made.append(Judgement(claim_id=claim.id, verdict=verdict, quote=quote, reason="" if own else "no"))
        return Judgements(judgements=tuple(made))


@pytest.mark.parametrize(
    ("correction", "row"),
    [("Place: Bay; Depth: 8 | 9", "| Bay | 8 \\| 9 | [@a] |"), ("Depth: 8 | 9", "| Bay | 7 | [@a] |")],
)
async def test_a_row_of_a_table_gets_other_cells_if_they_have_its_headers(
    new_run: NewRun, new_report: NewReport, correction: str, row: str
) -> None:
    def reply(inputs: Any) -> VerdictsReply:
        assert inputs.claims[0].text == "Place: Bay; Depth: 7"
        said = ClaimReply(claim=1, verdict="contradicted", quote="Depth: 8 | 9", correction=correction)
        return VerdictsReply(others=(said,))

    head = "| Place | Depth | Sources |\n|---|---|---|\n"
    report = new_report(f"{head}| Bay | 7 | [@a] |", "Place: Bay; Depth: 8 | 9")
    run: Any = new_run({"model": ModelJudge()}, {"verify_claim": reply}, unsupported="recite")
    found, _ = await verified(run, report)
    assert text(found) == head + row
    assert [one.verdict for one in found.verdicts] == ["supported" if "8" in row else "contradicted"]


@pytest.mark.parametrize("verdict", ["partial", "contradicted"])
async def test_the_other_judges_decide_on_the_correction_of_a_model(
    new_run: NewRun, new_report: NewReport, verdict: Any
) -> None:
    class Own:
        async def judge(self, request: JudgeRequest, call: object, /) -> Judgements:
            kinds: dict[str, Any] = {
                claim.id: verdict if "8" in claim.text else "contradicted" for claim in request.claims
            }
            quote = request.passages[0].quote
            return Judgements(
                judgements=tuple(Judgement(claim_id=name, verdict=kind, quote=quote) for name, kind in kinds.items())
            )

    said = ClaimReply(claim=1, verdict="contradicted", quote="8 fathoms", correction="It is 8 fathoms deep.")
    replies = {"verify_claim": lambda inputs: VerdictsReply(others=(said,))}
    run: Any = new_run({"own": Own()}, replies, unsupported="recite")
    found, _ = await verified(run, new_report("It is 7 fathoms deep [@a].", "8 fathoms"))
    assert text(found) == f"It is {8 if verdict == 'partial' else 7} fathoms deep [@a]."
    assert [one.verdict for one in found.verdicts] == [verdict]


async def test_a_judge_corrects_in_its_reply_and_looks_once_more_at_the_nearest_passages_for_the_rest(
    new_run: NewRun, new_report: NewReport
) -> None:
    def reply(inputs: Any) -> VerdictsReply:
        if not inputs.claims[0].note:
            assert [one.text for source in inputs.sources for one in source.passages] == ["Ships come. It is old."]
            failed = {
                2: ClaimReply(claim=2, verdict="unsupported", reason="no"),
                3: ClaimReply(claim=3, verdict="contradicted", quote="It is old.", correction="It is\nold. [1]"),
                4: ClaimReply(
                    claim=4, verdict="unsupported", quote="Ships come.", reason="no", correction="It is 9 m."
                ),
                5: ClaimReply(claim=5, verdict="unsupported", reason="no"),
            }
            return VerdictsReply(supported=(SupportedReply(claim=1, quote="Ships come."),), others=(*failed.values(),))
        assert [one.note for one in inputs.claims] == ["unsupported: no"] * 3
        others = tuple(ClaimReply(claim=number, verdict="unsupported", reason="no") for number in (2, 3))
        return VerdictsReply(supported=(SupportedReply(claim=1, quote="The bay is flat."),), others=others)

    text_before = "Ships come. The **bay** is flat [@a]. It is wet [@a]. It is wide [@a].\n\n| a |\n|---|\n| red [@a] |"
    report = new_report(text_before, "Ships come. It is old.", "The bay is flat.", "The bay is deep.")
    run: Any = new_run({"model": ModelJudge()}, {"verify_claim": reply}, unsupported="recite")
    found, checks = await verified(run, report)
    table = "| a |\n|---|\n| red [@a] |"
    assert text(found) == f"Ships come [@a]. The **bay** is flat [@b]. It is old [@a]. It is wide [@a].\n\n{table}"
    assert [one.verdict for one in found.verdicts] == ["supported"] * 3 + ["unsupported"] * 2
    assert [(one.done, one.now) for one in checks.repairs] == [("recited", ""), ("reworded", "It is old.")]
    assert [name for name, _ in run.asked] == ["model", "verify_claim", "verify_claim"]


async def test_what_was_code_is_code_in_the_correction(new_run: NewRun, new_report: NewReport) -> None:
    said = ClaimReply(claim=1, verdict="contradicted", quote="max_size is 8", correction="max_size is 8.")
    row = ClaimReply(claim=2, verdict="contradicted", quote="max_size is 8", correction="Name: max_size; Value: 8")
    replies = {"verify_claim": lambda inputs: VerdictsReply(others=(said, row))}
    run: Any = new_run({"model": ModelJudge()}, replies, unsupported="recite")
    table = "| Name | Value |\n|---|---|\n| `max_size` | 7 [@a] |"
    made, _ = await verified(run, new_report(f"`max_size` is 7 [@a].\n\n{table}", "Of these, max_size is 8."))
    assert text(made) == f"`max_size` is 8 [@a].\n\n{table.replace('7', '8')}"


async def test_a_correction_with_a_number_that_its_passages_lack_is_not_used(
    new_run: NewRun, new_report: NewReport
) -> None:
    said = ClaimReply(claim=1, verdict="contradicted", quote="It is 8 deep", correction="It is 9 fathoms deep.")
    replies = {"verify_claim": lambda inputs: VerdictsReply(others=(said,))}
    run: Any = new_run({"model": ModelJudge()}, replies, unsupported="recite")
    found, _ = await verified(run, new_report("It is 7 fathoms deep [@a].", "It is 8 deep."))
    assert text(found) == "It is 7 fathoms deep [@a]."


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("It is deep [@a][@b].", "It is deep [@b]."),
        ("It is deep [@a; @b]. It is old [@a] ([@b]).", "It is deep [@b]. It is old [@a]."),
        ("It is old. It is deep [@a][@b].", "It is old. It is deep [@a][@b]."),
        ("It is wet. It is deep [@a][@b].", "It is wet. It is deep [@a][@b]."),
        ("It is so [@a][@b].", "It is so [@a][@b]."),
    ],
)
async def test_a_citation_that_no_judge_quoted_goes_where_another_supports_all_claims(
    new_run: NewRun, new_report: NewReport, before: str, after: str
) -> None:
    run: Any = new_run({"own": ByModel()})
    found, _ = await verified(run, new_report(before, "It is old.", "It is deep."))
    assert text(found) == after
    assert len(run.asked) == 1
    assert [one.claim.evidence_ids for one in found.verdicts] == [
        one.evidence_ids for one in report_statements(found).claims
    ]


async def test_what_a_judge_says_asserts_nothing_is_neither_judged_nor_a_remark(
    new_run: NewRun, new_report: NewReport
) -> None:
    class Silences:
        async def judge(self, request: JudgeRequest, call: object, /) -> Judgements:
            made = (
                Judgement(
                    claim_id=one.id, verdict="unsupported", asserts=one.text not in ("Two things matter.", "See.")
                )
                for one in request.claims
            )
            return Judgements(judgements=tuple(made))

    run: Any = new_run({"own": Silences()})
    found, checks = await verified(run, new_report("Two things matter. It is flat [@a].\n\nSee.\n\nSo it is.", "Deep."))
    assert [one.claim.text for one in found.verdicts] == ["It is flat."]
    assert [one.text for one in found.uncited] == ["So it is."]
    assert (checks.passed, checks.remarks) == (True, 2)
    lines = [json.loads(line) for line in run.files["paragraphs.jsonl"].decode().splitlines()]
    assert [(one["states"], one["ends_with_citation"]) for one in lines] == [(True, True), (False, True), (True, False)]


def test_tidying_leaves_what_is_whole() -> None:
    whole = "Intro:\n\n- one\n- two\n\n### A\n\n![](figure:x)\n\n### B\n\n```\ncode:\n```\n\n| a |\n|---|\n| 1 |"
    assert tidy_markdown(whole) == whole


async def test_the_audit_lists_what_is_not_supported_with_its_passage(new_run: NewRun, new_report: NewReport) -> None:
    report, checks = await verified(new_run(JUDGES), new_report("It is flat [@a]. So.", "It is\n deep."))
    assert "**Rejected**\n\n- because" in markdown(report, Audit(accepted=False, reasons=("because",)), checks)
    said = markdown(report, Audit(accepted=True), checks)
    assert "**Passed with 2 remarks**\n" in said
    assert "- **contradicted** [1] It is flat.\n  strict: no\n  > It is deep." in said
    assert "## Paragraphs that end without a citation\n\n- s1.p1: So." in said
