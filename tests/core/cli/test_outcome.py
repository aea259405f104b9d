"""What the command line says of how a run ended."""

from __future__ import annotations

from argparse import Namespace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadline.commands.outcome import advise, checks, raised, resume_command, show, summary
from leadline.display import group_by_reason
from leadline.records import Failure, Figure, Notice, Report, Section
from leadline.runs import KEPT_NOTICE, Metadata, Result, StepError, StepState


def metadata(**more: Any) -> Metadata:
    began = datetime(2026, 1, 1, tzinfo=UTC)
    return Metadata(run_id="r", trace_id="t", question="How?", pipeline="research", began=began, **more)


def test_the_command_that_goes_on_has_the_larger_budget() -> None:
    def spent(key: str, amount: str) -> Notice:
        return Notice("spent; raise it with --set {setting}={value}", "budget_spent", setting=key, value=amount)

    lost = StepState(name="compose", status="failed", reason=spent("budget.tokens", "800000"))
    known = metadata(reason=Notice.several([spent("budget.seconds", "7.5"), "compose: lost"]), steps=(lost,))
    command = resume_command(Path("runs", "r1"), Namespace(folder=None, set=[], settings=None), raised(known))
    assert command == "leadline resume r1 --set budget.seconds=7.5 --set budget.tokens=800000"
    assert raised(known.model_copy(update={"reason": spent("budget.money", "N"), "steps": ()})) == []
    amounts = ("9000", "12000.5", "11000")
    several = known.model_copy(update={"notices": tuple(spent("budget.tokens", amount) for amount in amounts)})
    assert raised(several.model_copy(update={"steps": ()})) == ["budget.seconds=7.5", "budget.tokens=12000.5"]


def test_why_a_step_was_not_done_is_said_once() -> None:
    steps = (
        StepState(name="data", status="failed", reason="2 of 2 taken; raise it"),
        StepState(name="a", status="failed", reason="2 of 2 taken"),
    )
    lost = [Notice("{stage}: {reason}", "stage", stage=step.name, reason=step.reason) for step in steps]
    known = metadata(status="partial", reason=Notice.several(["stopped", *lost]), steps=steps)

    def said(known: Metadata) -> list[str]:
        return [line for line in summary(known, Path("r")).splitlines() if line.startswith(("Status", "Not done"))]

    lines = ["Not done  data: 2 of 2 taken; raise it", "Not done  a: 2 of 2 taken"]
    assert said(known) == ["Status    partial in 0.0 s: stopped", *lines]
    alone = known.model_copy(update={"reason": Notice.several(lost)})
    assert said(alone) == ["Status    partial in 0.0 s", *lines]
    assert said(known.model_copy(update={"status": "failed"}))[0] == f"Status    failed in 0.0 s: {known.reason}"


def test_the_cost_is_shown_as_far_as_it_is_known() -> None:
    def said(**more: Any) -> str:
        lines = " ".join(summary(metadata(**more), Path("r")).split())
        return lines.partition("Cost ")[2]

    assert said() == "nothing: no model was called"
    assert said(budget={"model_calls": 0}) == "nothing: no model was called"
    unkept = {"model_calls": 1, "tokens": 5000}
    assert said(budget=unkept) == "unknown: the journal has no usage of 1 model call"
    calls, tokens = {"chat/x": 2}, {"tokens": 3672, "cost": None}
    unpriced = "3,672 tokens, price unknown; budget.money has no effect until you set ai.prices"
    assert said(calls=calls, usage=tokens, models=("x:m",), budget=unkept) == unpriced
    assert said(calls=calls, usage={**tokens, "cost": 0.0}, models=("x:m",)) == "3,672 tokens, $0.0000"
    partly = {**tokens, "cost": 0.0011, "unpriced": 1200}
    assert said(calls=calls, usage=partly) == "3,672 tokens, $0.0011 and 1,200 tokens at an unknown price"
    untold = {"tokens": 0, "cost": None, "replies": 2}
    assert said(calls=calls, usage=untold) == "unknown: no usage reported for 2 model calls"
    some = said(calls={"chat/x": 10}, usage={**tokens, "cost": 0.5, "untold": 5}, models=("x:m",))
    assert some == "3,672 tokens, $0.5000; 5 of 10 model calls did not report their usage"
    cached = said(calls=calls, usage={"tokens": 0, "cost": None, "replies": 0, "untold": 0}, models=("x:m",))
    assert cached == "nothing: no answer to 2 model calls", "but for one that another run had paid for"


def test_the_checks_give_the_decision_with_its_reasons_then_counts_and_repairs() -> None:
    assert checks({"passed": True, "claims": {"supported": 4}}) == "passed; claims: 4 supported"
    claims = {"supported": 10, "unsupported": 7, "partial": 2}
    counts = "claims: 2 supported in part, 10 supported, 7 unsupported; 1 paragraph without a citation"
    found = {"passed": True, "remarks": 10, "claims": claims, "paragraph_without_citation_count": 1}
    assert checks(found, {}) == f"passed with 10 remarks; {counts}"
    partial: dict[str, Any] = {"accepted": False, "reasons": ["2 of 19 claims are supported only in part"]}
    assert checks(found, partial) == f"rejected: {partial['reasons'][0]}; {counts}"
    repairs = [{"done": "reworded"}, {"done": "reworded"}, {"done": "dropped"}, {"done": "recited"}]
    unknown = {"passed": False, "reasons": ["citations of unknown passages: a"], "repairs": repairs}
    assert checks(unknown) == ("rejected: citations of unknown passages: a; repaired: 1 dropped, 1 recited, 2 reworded")
    assert checks({"passed": False}) == "rejected"
    failed = {"passed": None, "failed_judges": ["acme_gate"], "claims": {"supported": 4}}
    told = "not judged by acme_gate; citations and paragraphs were checked; claims: 4 supported"
    assert checks(failed, {"accepted": None}) == told


def test_a_report_in_a_terminal_has_captions_in_place_of_figures() -> None:
    text = "Deep [@e1].\n\n![](figure:f1)\n\nWide ![depth](figure:gone)."
    figure = Figure(id="f1", caption="The depths", alt="bars", media={})
    sections = (Section(id="1", title="Depth", text=text),)
    report = Report(title="A", language="en", sections=sections, sources=(), evidence=(), figures=(figure,))
    result = Result("complete", "", 0, Path("r"), metadata(), report)
    assert result.text == "# A\n\n## Depth\n\nDeep.\n\n*The depths*\n\nWide ."


def test_a_report_in_a_terminal_has_the_marks_of_its_checks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "report.md").write_text(
        "# A\n\n## Depth\n\nDeep [1]≠.\n\n![bars](f1.png)\n\n*Figure 1. Depths*\n\n## Method\n\nLate.\n"
    )
    sections = (Section(id="1", title="Depth", text="Deep [@e1]."),)
    report = Report(title="A", language="en", sections=sections, sources=(), evidence=())

    def shown(**more: Any) -> str:
        show(Result("complete", "", 0, tmp_path, metadata(files=("report.md",), **more), report), as_json=False)
        return capsys.readouterr().out

    assert shown(calls={"format/markdown": 1}) == (
        "# A\n\n## Depth\n\nDeep [1]≠.\n\n*Figure 1. Depths*\n\n## Method\n\nLate.\n"
    )
    assert shown() == "# A\n\n## Depth\n\nDeep.\n"
    assert shown(calls={"format/markdown": 1}, notices=(KEPT_NOTICE,)) == "# A\n\n## Depth\n\nDeep.\n"


def test_a_run_that_stays_complete_is_not_gone_on_with(capsys: pytest.CaptureFixture[str]) -> None:
    def advised(*notices: str) -> str:
        asked = Namespace(folder=None, set=[], settings=None)
        advise(Result("partial", "no connection", 4, Path("runs", "r1"), metadata(notices=notices)), asked)
        return capsys.readouterr().err

    assert advised("it was late") == "Continue: leadline resume r1\n"
    assert advised(KEPT_NOTICE) == ""


def test_failures_with_one_reason_are_one_note_and_no_error() -> None:
    message = Notice("the model's reply could not be used: it declines the task")
    why = Failure(kind="task", provider="openai", category="LLM", type="BadReply", message=message).text
    detail = Notice.of(f"{why} [the reply is no Plan: there is no JSON object in it]", why.code, why.parameters)
    notices = (Notice("no usable plan").because(why), "it was late", Notice("no charts were planned").because(why))
    told = summary(metadata(notices=notices, errors=(StepError(message=detail, step="plan"),)), Path("r"))
    told = " ".join(told.split())
    assert f"Note no usable plan; no charts were planned ({why}) Note it was late" in told
    assert "Error" not in told


@given(st.lists(st.text(max_size=30), max_size=6))
def test_nothing_that_is_told_is_lost_among_what_has_one_reason(told: list[str]) -> None:
    found = "".join(group_by_reason((text, "late") for text in told))
    assert all(text in found for text in told)
    assert group_by_reason([("a", "b"), ("c", "d"), ("e (b)", "")]) == ["a (b)", "c (d)", "e (b)"]
    assert group_by_reason([("甲", "乙"), ("丙", "乙")], "{message}（{reason}）", "；") == ["甲；丙（乙）"]


@pytest.mark.parametrize(
    ("claims", "said"),
    [
        ({"supported": 2}, "passed; claims: 2 supported"),
        ({"not_judged": 4}, "no claim was judged; citations and paragraphs were checked; claims: 4 not judged"),
        (
            {"supported": 1, "not_judged": 3},
            "1 of 4 claims judged; citations and paragraphs were checked; claims: 3 not judged, 1 supported",
        ),
    ],
)
def test_the_checks_passed_only_if_every_claim_was_judged(claims: dict[str, int], said: str) -> None:
    assert checks({"passed": True, "judged_by": {"model": 2}, "claims": claims}) == said
