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
from leadline.research_findings import REPORT, VERIFICATION, Audit, Verification
from leadline_plugins.stages.audit import markdown, reasons
from leadline_plugins.stages.verify import VerifyStage
from leadline_plugins.verification.judges.exact import ExactJudge
from leadline_plugins.verification.repair import tidy_markdown
from leadline_plugins.verification.tasks import Reworded, RewordedReply

NewRun = Callable[..., Run]
NewReport = Callable[..., Report]


class Strict:
    """Contradicts every claim that `exact` leaves."""

    async def judge(self, request: JudgeRequest, call: object, /) -> Judgements:
        made = (Judgement(claim_id=claim.id, verdict="contradicted", reason="no") for claim in request.claims)
        return Judgements(judgements=tuple(made))


JUDGES = {"exact": ExactJudge(PluginSettings(), cast("Any", None)), "strict": Strict()}


async def verified(run: Run, report: Report) -> tuple[Report, Verification]:
    findings: dict[Any, Any] = {REPORT: report}
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
    assert (checks.passed, checks.grounds) == (False, ("uncited",))
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
    assert list(reasons(checks)) == ([] if passed else ["1 of 2 claims are not supported by what they cite"])


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


async def test_recited_claims_cite_a_passage_that_supports_them(new_run: NewRun, new_report: NewReport) -> None:
    report = new_report("Ships come. The **bay** is flat [@a].", "Ships come. It is deep.", "The bay is flat.")
    found, checks = await verified(new_run(JUDGES, unsupported="recite"), report)
    assert text(found) == "Ships come. [@a] The **bay** is flat. [@b]"
    assert [one.verdict for one in found.verdicts] == ["supported", "supported"]
    assert [one.done for one in checks.repairs] == ["recited"]


async def test_a_claim_that_nothing_else_supports_is_not_recited(new_run: NewRun, new_report: NewReport) -> None:
    report = new_report("The bay is flat [@a].", "It is deep.", "The bay is not flat.")
    found, checks = await verified(new_run(JUDGES, unsupported="recite"), report)
    assert text(found) == text(report)
    assert not checks.repairs


async def test_weakened_claims_have_the_models_wording_if_it_is_supported(
    new_run: NewRun, new_report: NewReport
) -> None:
    def reply(inputs: Any) -> RewordedReply:
        assert [one.note for one in inputs.claims] == ["contradicted: no", "contradicted: no"]
        return RewordedReply(
            claims=(Reworded(claim=1, text="It is\ndeep. [1]"), Reworded(claim=2, text="It is shallow."))
        )

    report = new_report("- It is flat [@a].\n- It is wide [@a].", "It is deep.")
    found, checks = await verified(new_run(JUDGES, {"repair_claim": reply}, unsupported="weaken"), report)
    assert text(found) == "- It is deep. [@a]\n- It is wide [@a]."
    assert [(one.claim, one.now) for one in checks.repairs] == [("It is flat.", "It is deep.")]
    assert checks.claims == {"supported": 1, "contradicted": 1}


def test_tidying_leaves_what_is_whole() -> None:
    whole = "Intro:\n\n- one\n- two\n\n### A\n\n![](figure:x)\n\n### B\n\n```\ncode:\n```\n\n| a |\n|---|\n| 1 |"
    assert tidy_markdown(whole) == whole


async def test_the_audit_lists_what_is_not_supported_with_its_passage(new_run: NewRun, new_report: NewReport) -> None:
    report, checks = await verified(new_run(JUDGES), new_report("It is flat [@a]. So.", "It is\n deep."))
    said = markdown(report, Audit(accepted=False, reasons=tuple(reasons(checks))), checks)
    assert "**Rejected**\n\n- 1 paragraph ends without a citation" in said
    assert "- **contradicted** [1] It is flat.\n  strict: no\n  > It is deep." in said
    assert "## Paragraphs that end without a citation\n\n- s1.p1: So." in said
