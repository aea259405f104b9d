"""What the command line says of how a run ended."""

from __future__ import annotations

from argparse import Namespace
from datetime import UTC, datetime
from pathlib import Path

from leadline.cli.outcome import raised, resume_command
from leadline.state import Metadata, StepState


def test_the_command_that_goes_on_has_the_larger_budget() -> None:
    lost = StepState(name="compose", status="failed", reason="1 of 1 taken; raise it with --set budget.tokens=800000")
    known = Metadata(
        run_id="r",
        trace_id="t",
        question="How?",
        pipeline="research",
        began=datetime(2026, 1, 1, tzinfo=UTC),
        reason="the run's time is spent; more with --set budget.seconds=7.5; compose: lost",
        steps=(lost,),
    )
    command = resume_command(Path("runs", "r1"), Namespace(folder=None, set=[], settings=None), raised(known))
    assert command == "leadline resume r1 --set budget.seconds=7.5 --set budget.tokens=800000"
    assert raised(known.model_copy(update={"reason": "raise it with --set budget.money=N", "steps": ()})) == []
