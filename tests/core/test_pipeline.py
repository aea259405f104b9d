from __future__ import annotations

from typing import Any

import pytest

from leadline import hookspecs
from leadline.errors import ConfigError
from leadline.findings import Key
from leadline.pipeline import StageKind, assemble
from leadline.plugin import map_stage
from leadline.research_findings import DIGEST, EVIDENCE, PLAN, QUESTION, REPORT, SOURCES, TASKS, Question
from leadline.settings import Loop

STRANGE: Key[Question] = Key("plan", Question)


def stage(**keys: Any) -> hookspecs.stage:
    return hookspecs.stage("", **keys)


def mapped(**keys: Any) -> map_stage:
    return map_stage("", **keys)


STAGES: dict[str, StageKind] = {
    "plan": stage(needs=(QUESTION,), gives=(PLAN,)),
    "query": stage(needs=(PLAN,), wants=(TASKS,), gives=(TASKS,)),
    "search": mapped(over=TASKS, gives=SOURCES),
    "maybe": stage(may_give=(DIGEST,)),
    "digest": stage(needs=(PLAN,), gives=(DIGEST,)),
    "review": stage(needs=(DIGEST,), ends_loop=True),
    "write": stage(needs=(SOURCES, DIGEST), gives=(REPORT,)),
    "again": stage(needs=(QUESTION,), gives=(PLAN,)),
    "refine": stage(needs=(PLAN,), gives=(PLAN,)),
    "stranger": stage(needs=(STRANGE,)),
}


def refused(*layout: str | Loop) -> str:
    with pytest.raises(ConfigError) as caught:
        assemble("mine", layout, STAGES)
    return str(caught.value)


def test_a_pipeline_that_can_work_is_taken() -> None:
    loop = Loop(loop=("query", "search", "digest", "review"), at_most=3)
    pipeline = assemble("mine", ("plan", loop, "refine", "write"), STAGES)
    names = [step.name for step in pipeline.steps()]
    assert names == ["plan", "query", "search", "digest", "review", "refine", "write"]


def test_a_stage_is_not_told_to_wait_for_itself() -> None:
    stages = {**STAGES, "style": stage(needs=(REPORT,), gives=(REPORT,))}
    with pytest.raises(ConfigError, match="'write' gives it, but runs later"):
        assemble("mine", ("style", "plan", "query", "search", "digest", "write"), stages)
    with pytest.raises(ConfigError, match="which no earlier stage gives; "):
        assemble("mine", ("plan", "style"), stages)


def test_the_first_round_of_a_loop_must_work_alone() -> None:
    loop = Loop(loop=("review", "digest"), at_most=2)
    assert "stage 'review' needs 'digest'" in refused("plan", loop)


def test_a_missing_key_is_reported_with_the_nearest_one() -> None:
    missing: Key[Any] = Key("evidences", Question)
    stages = {**STAGES, "odd": stage(needs=(missing,)), "given": stage(gives=(EVIDENCE,))}
    with pytest.raises(ConfigError, match="did you mean 'evidence'"):
        assemble("mine", ("given", "odd"), stages)


def test_all_faults_of_a_pipeline_are_reported_and_each_missing_finding_once() -> None:
    told = refused("query", "digest", "stranger", "write").splitlines()
    assert [line.partition("needs ")[2].partition(",")[0] for line in told if "no earlier stage gives" in line] == [
        "'plan'",
        "'sources'",
    ]
    assert any("'stranger'" in line for line in told)
