"""The fake run answers questions as a person would, or as a run without one."""

from __future__ import annotations

import pytest

from leadline.errors import NeedsClarification, UsageError
from leadline.records import Answer, Json
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


async def test_answers_and_defaults_that_miss_the_schema_are_refused_as_in_a_run() -> None:
    schema: Json = {"type": "object", "properties": {"tide": {"type": "string", "enum": ["low", "high"]}}}
    with pytest.raises(UsageError, match="'Which tide\\?' does not fit the question: tide: choose from low, high"):
        await FakeRun(answers=[{"tide": "ebb"}]).ask("Which tide?", schema)
    with pytest.raises(UsageError, match="tide: it must be of the type string"):
        await FakeRun().ask("Which tide?", schema, {"tide": 3})
