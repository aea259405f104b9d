from __future__ import annotations

import re

import pytest

from leadline._runtime.runs.findings_board import FindingsBoard, StageFindings
from leadline.errors import PluginError, PluginFault
from leadline.records import Document, Hit, Source
from leadline.research_findings import EVIDENCE, PLAN, QUESTION, SOURCES, Question
from leadline.research_findings import REPORT as REPORT_KEY
from leadline.testing.contracts.reports import REPORT


def source(name: str) -> Source:
    return Source(id=name, hit=Hit(url=f"https://example.org/{name}"), document=Document(text=name))


def test_a_growing_key_takes_each_id_once_and_keeps_the_first() -> None:
    board = FindingsBoard()
    board.put(SOURCES, (source("a"), source("b")))
    changed = source("a").model_copy(update={"tier": 1})
    board.put(SOURCES, (changed, source("c"), source("c")))
    assert [item.id for item in board.get(SOURCES)] == ["a", "b", "c"]
    assert board.get(SOURCES)[0].tier == 3


def test_a_snapshot_does_not_see_later_merges() -> None:
    board = FindingsBoard()
    board.put(SOURCES, (source("a"),))
    before = board.snapshot()
    board.put(SOURCES, (source("b"),))
    assert len(before.get(SOURCES)) == 1
    assert len(board.get(SOURCES)) == 2


def test_a_stage_reads_only_the_findings_that_it_declared() -> None:
    board = FindingsBoard()
    board.put(QUESTION, Question(text="why"))
    view = StageFindings("mine", board, [QUESTION, SOURCES, PLAN], [PLAN])
    assert view[QUESTION].text == "why"
    assert view[SOURCES] == ()
    assert view.get(PLAN) is None
    with pytest.raises(PluginError, match="stage 'mine' reads 'plan', which has no value"):
        view[PLAN]
    with pytest.raises(PluginError, match="reads 'evidence', but its offer needs and wants only: plan, question, sou"):
        view[EVIDENCE]


def test_a_stage_writes_only_declared_keys_of_the_right_type() -> None:
    view = StageFindings("mine", FindingsBoard(), [], [QUESTION, SOURCES])
    view[SOURCES] = [source("a")]
    assert view.patch[SOURCES] == (source("a"),)
    with pytest.raises(PluginError, match="stage 'mine' writes 'plan', but its offer gives only: question, sources"):
        view[PLAN] = Question(text="?")
    with pytest.raises(PluginError, match="writes a str to 'question', which holds Question"):
        view[QUESTION] = "why"


def test_a_record_with_a_field_of_another_type_is_refused_where_it_is_written() -> None:
    view = StageFindings("mine", FindingsBoard(), [], [REPORT_KEY])
    view[REPORT_KEY] = REPORT.model_copy(update={"sections": [*REPORT.sections]})  # a list is as good as a tuple
    expected = (
        f"stage 'mine' writes to 'report' a Report whose `sections.{len(REPORT.sections)}` is wrong: input should be a "
        "valid dictionary or instance of Section, and is 'Risks'"
    )
    with pytest.raises(PluginFault, match=re.escape(expected)):
        view[REPORT_KEY] = REPORT.model_copy(update={"sections": (*REPORT.sections, "Risks")})
