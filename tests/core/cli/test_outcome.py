"""What the command line says of how a run ended."""

from __future__ import annotations

from argparse import Namespace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from leadline.cli.outcome import raised, resume_command
from leadline.cli.summary import summary
from leadline.state import Metadata, StepState


def metadata(**more: Any) -> Metadata:
    began = datetime(2026, 1, 1, tzinfo=UTC)
    return Metadata(run_id="r", trace_id="t", question="How?", pipeline="research", began=began, **more)


def test_the_command_that_goes_on_has_the_larger_budget() -> None:
    lost = StepState(name="compose", status="failed", reason="1 of 1 taken; raise it with --set budget.tokens=800000")
    known = metadata(reason="the run's time is spent; more with --set budget.seconds=7.5; compose: lost", steps=(lost,))
    command = resume_command(Path("runs", "r1"), Namespace(folder=None, set=[], settings=None), raised(known))
    assert command == "leadline resume r1 --set budget.seconds=7.5 --set budget.tokens=800000"
    assert raised(known.model_copy(update={"reason": "raise it with --set budget.money=N", "steps": ()})) == []


def test_why_a_step_was_not_done_is_said_once() -> None:
    steps = (
        StepState(name="data", status="failed", reason="2 of 2 taken; raise it"),
        StepState(name="a", status="failed", reason="2 of 2 taken"),
    )
    known = metadata(status="partial", reason="stopped; data: 2 of 2 taken; raise it; a: 2 of 2 taken", steps=steps)

    def said(known: Metadata) -> list[str]:
        return [line for line in summary(known, Path("r")).splitlines() if line.startswith(("Status", "Not done"))]

    lines = ["Not done  data: 2 of 2 taken; raise it", "Not done  a: 2 of 2 taken"]
    assert said(known) == ["Status    partial in 0.0 s: stopped", *lines]
    alone = known.model_copy(update={"reason": known.reason.removeprefix("stopped; ")})
    assert said(alone) == ["Status    partial in 0.0 s", *lines]
    assert said(known.model_copy(update={"status": "failed"}))[0] == f"Status    failed in 0.0 s: {known.reason}"
