"""Repair of claims that their passages do not support, through the stage `verify`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, cast

import pytest

from leadline.contracts import Run
from leadline.errors import NoEvidence
from leadline.findings import Findings
from leadline.hookspecs import PluginSettings
from leadline.records import Judgement, Judgements, JudgeRequest, Report
from leadline.research_findings import PARTS, REPORT, VERIFICATION, Audit, Verification
from leadline_plugins.stages.audit import markdown
from leadline_plugins.stages.verify import VerifyStage
from leadline_plugins.verification.claims import report_statements
from leadline_plugins.verification.judges.exact import ExactJudge
from leadline_plugins.verification.repair import tidy_markdown
from leadline_plugins.verification.tasks import Corrected, CorrectedReply

NewRun = Callable[..., Run]
NewReport = Callable[..., Report]


class Strict:
    """Contradicts every claim that `exact` leaves."""

    async def judge(self, request: JudgeRequest, call: object, /) -> Judgements:
        made = (Judgement(claim_id=claim.id, verdict="contradicted", reason="no") for claim in request.claims)
        return Judgements(judgements=tuple(made))


JUDGES = {"exact": ExactJudge(PluginSettings(), cast("Any", None)), "strict": Strict()}


async def verified(run: Run, report: Report) -> tuple[Report, Verification]:
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


async def test_citations_of_unknown_passages_fail(new_run: NewRun, new_report: NewReport) -> None:
    _, checks = await verified(new_run(JUDGES), new_report("It is deep.[@a][@x]", "It is deep."))
    assert checks.unknown_ids == ("x",)
    assert not checks.paragraphs_jsonl_cite_ids_passed
    assert checks.grounds == ("unknown_ids",)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("It is deep.[@a] It is flat [@a].", "It is deep.[@a]"),
        ("It is deep. It is flat [@a].", "It is deep. [@a]"),
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
    ("cells", "row"), [(("Bay", "8 | 9"), "| Bay | 8 \\| 9 | [@a] |"), (("Bay",), "| Bay | 7 | [@a] |")]
)
async def test_a_row_of_a_table_gets_other_cells_if_they_are_as_many(
    new_run: NewRun, new_report: NewReport, cells: tuple[str, ...], row: str
) -> None:
    def reply(inputs: Any) -> CorrectedReply:
        assert inputs.claims[0].text == "Place: Bay; Depth: 7"
        number = inputs.sources[0].passages[0].number
        return CorrectedReply(claims=(Corrected(claim=1, text="no matter", cells=cells, passages=(number,)),))

    head = "| Place | Depth | Sources |\n|---|---|---|\n"
    report = new_report(f"{head}| Bay | 7 | [@a] |", "Place: Bay; Depth: 8 | 9")
    run: Any = new_run({"own": ByModel()}, {"repair_claim": reply}, unsupported="recite")
    found, _ = await verified(run, report)
    assert text(found) == head + row
    assert [one.verdict for one in found.verdicts] == ["supported" if len(cells) > 1 else "unsupported"]


async def test_a_correction_that_is_supported_in_part_takes_the_place_of_what_is_contradicted(
    new_run: NewRun, new_report: NewReport
) -> None:
    class Partly:
        async def judge(self, request: JudgeRequest, call: object, /) -> Judgements:
            kinds: dict[str, Any] = {
                claim.id: "partial" if "8" in claim.text else "contradicted" for claim in request.claims
            }
            quote = request.passages[0].quote
            return Judgements(
                judgements=tuple(Judgement(claim_id=name, verdict=kind, quote=quote) for name, kind in kinds.items())
            )

    reply = CorrectedReply(claims=(Corrected(claim=1, text="It is 8 fathoms deep."),))
    run: Any = new_run({"own": Partly()}, {"repair_claim": lambda inputs: reply}, unsupported="recite")
    found, _ = await verified(run, new_report("It is 7 fathoms deep [@a].", "8 fathoms"))
    assert text(found) == "It is 8 fathoms deep [@a]."
    assert [one.verdict for one in found.verdicts] == ["partial"]


async def test_failed_claims_get_other_citations_or_words_in_one_call_and_what_still_fails_is_marked(
    new_run: NewRun, new_report: NewReport
) -> None:
    def reply(inputs: Any) -> CorrectedReply:
        assert [one.note for one in inputs.claims] == ["unsupported: no"] * 4
        shown = {one.text: one.number for source in inputs.sources for one in source.passages}
        return CorrectedReply(
            claims=(
                Corrected(claim=1, text="The bay is flat.", passages=(shown["The bay is flat."],)),
                Corrected(claim=2, text="It is\nold. [1]", passages=(99,)),
                Corrected(claim=3, text="It is shallow.", passages=(shown["The bay is deep."],)),
                Corrected(claim=4, text="Deep it is.", passages=(shown["The bay is deep."],)),
            )
        )

    text_before = "Ships come. The **bay** is flat [@a]. It is wet [@a]. It is wide [@a].\n\n| a |\n|---|\n| red [@a] |"
    report = new_report(text_before, "Ships come. It is old.", "The bay is flat.", "The bay is deep.")
    run: Any = new_run({"own": ByModel()}, {"repair_claim": reply}, unsupported="recite")
    found, checks = await verified(run, report)
    table = "| a |\n|---|\n| red [@a] |"
    assert text(found) == f"Ships come. [@a] The **bay** is flat [@b]. It is old [@a]. It is wide [@a].\n\n{table}"
    assert [one.verdict for one in found.verdicts] == ["supported"] * 3 + ["unsupported"] * 2
    assert [(one.done, one.now) for one in checks.repairs] == [("recited", ""), ("reworded", "It is old.")]
    assert [name for name, _ in run.asked] == ["own", "repair_claim", "own"]


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
