"""Pipelines of the settings: another one's stages, and what differs."""

from __future__ import annotations

from typing import Any

import pytest

from leadline._settings.pipelines import resolve, stage_names
from leadline.settings import Loop, PipelineSettings, Settings

BASE = PipelineSettings(stages=("plan", Loop(loop=("query", "search"), at_most=2), "write"))


def resolved(**edits: Any) -> Any:
    return resolve({"base": BASE, "mine": PipelineSettings(extends="base", **edits)}, "mine")


def test_a_pipeline_extends_another() -> None:
    assert resolved() == BASE.stages
    assert stage_names(resolved()) == ("plan", "query", "search", "write")


@pytest.mark.parametrize(
    ("edits", "stages"),
    [
        ({"without": ["plan"]}, "query search write"),
        ({"without": ["search"]}, "plan query write"),
        ({"without": ["query", "search"]}, "plan write"),
        ({"replace": {"write": ["draft", "polish"]}}, "plan query search draft polish"),
        ({"before": {"write": ["check"]}}, "plan query search check write"),
        ({"after": {"query": ["sort"]}}, "plan query sort search write"),
        ({"replace": {"write": ["draft"]}, "after": {"draft": ["polish"]}}, "plan query search draft polish"),
    ],
)
def test_stages_are_dropped_replaced_and_inserted(edits: dict[str, Any], stages: str) -> None:
    assert " ".join(stage_names(resolved(**edits))) == stages


def test_a_loop_keeps_its_rounds_and_goes_when_it_is_empty() -> None:
    assert resolved(after={"search": ["fetch"]})[1] == Loop(loop=("query", "search", "fetch"), at_most=2)
    assert resolved(without=["query", "search"]) == ("plan", "write")


def test_a_pipeline_masks_tools_as_what_it_extends_unless_it_says_otherwise() -> None:
    mine = PipelineSettings(extends="research", tools=("respond", "web_search"))
    research = PipelineSettings(stages=("plan",), tools=("respond", "web_search", "web_fetch", "code_execute"))
    pipelines = {"research": research, "mine": mine, "ours": PipelineSettings(extends="mine"), "own": BASE}
    assert Settings(pipeline="research", pipelines=pipelines).tools == (
        "respond",
        "web_search",
        "web_fetch",
        "code_execute",
    )
    assert Settings(pipeline="ours", pipelines=pipelines).tools == ("respond", "web_search")
    assert Settings(pipeline="own", pipelines=pipelines).tools == ()
