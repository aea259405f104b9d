"""The fake run answers questions as a person would, or as a run without one."""

from __future__ import annotations

import pytest

from leadline.errors import NeedsClarification
from leadline.records import Answer
from leadline.testing.context import FakeRun


async def test_questions_are_answered_in_order_and_recorded() -> None:
    run = FakeRun(answers=[{"which": "north"}, Answer(action="decline")])
    assert await run.ask("Which harbour?", {"type": "object"}) == Answer(action="accept", content={"which": "north"})
    assert (await run.ask("Really?", {}, {"yes": True})).action == "decline"
    assert run.questions == [("Which harbour?", {"type": "object"}), ("Really?", {})]


async def test_without_an_answer_the_default_is_accepted_as_in_a_run() -> None:
    run = FakeRun()
    assert await run.ask("Which harbour?", {}, {"which": "any"}) == Answer(action="accept", content={"which": "any"})
    with pytest.raises(NeedsClarification, match="Which harbour"):
        await run.ask("Which harbour?", {})
