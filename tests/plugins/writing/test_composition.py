"""Composing adds to the sections what cites them, and changes none of them for the worse."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest

from leadline.contracts import Run
from leadline.records import Section
from leadline.research_findings import Question
from leadline.tasks import Task
from leadline_plugins.prompting.writing_tasks import Composition, SectionText, WriteRequest
from leadline_plugins.writing.composition import (
    REWRITE_TASK,
    WRITE_TASK,
    accept_after_retry,
    compose,
    merge_reply,
    reply_faults,
)

SECTIONS = (
    Section(
        id="1", title="Dues", text="The dues brought 12 pounds [@a]. Coal paid a toll [@b].", unanswered=("Who paid?",)
    ),
    Section(id="2", title="Works", text="The channel was dredged [@c]. Coal paid a toll [@b]."),
)
IDS = ["a", "b", "c"]
QUESTION = Question(text="How did the port pay?", language="en")


def composed(reply: Composition, *, whole: bool = False) -> Any:
    return merge_reply(reply, SECTIONS, IDS, "The port", whole=whole)


def texts(made: Any) -> list[str]:
    return [section.text for section in made.sections]


def test_summary_and_conclusion_cite_the_passages_of_the_sections() -> None:
    made = composed(Composition(title="# How the port paid", summary="It had dues [1].", conclusion="It dredged [3]."))
    assert (made.title, made.summary, made.conclusion) == ("How the port paid", "It had dues [@a].", "It dredged [@c].")
    assert texts(made) == [section.text for section in SECTIONS]


def test_a_summary_that_cites_nothing_is_left_out_and_told() -> None:
    made = composed(Composition(summary="It had dues."))
    assert made.summary == ""
    assert made.title == "The port"
    assert made.notices == ("the summary was left out because it cited nothing",)


def test_a_section_may_lose_what_another_says_too() -> None:
    change = SectionText(id="2", text="The channel was dredged [3]; see Dues.")
    assert texts(composed(Composition(sections=(change,))))[1] == "The channel was dredged [@c]; see Dues."


@pytest.mark.parametrize("text", ["The channel was dredged.", "Coal paid a toll [2].", "Nothing [9]."])
def test_a_change_that_loses_a_citation_of_the_report_is_not_taken(text: str) -> None:
    made = composed(Composition(sections=(SectionText(id="2", text=text),)))
    assert texts(made)[1] == SECTIONS[1].text
    assert made.notices == ("section 'Works' was not changed: the new text lost its citations",)


def test_a_report_that_is_rewritten_may_say_less_but_no_section_is_lost() -> None:
    made = composed(Composition(sections=(SectionText(id="1", text="Dues paid [1]."),)), whole=True)
    assert texts(made) == ["Dues paid [@a].", SECTIONS[1].text]
    assert made.notices == ("kept as first written, because the rewritten report lacks them: 'Works'",)


def test_what_cites_nothing_is_asked_for_again() -> None:
    request = WriteRequest(question=QUESTION, sections=(SectionText(id="1", text="Dues [1]."),), passages=1)
    assert reply_faults(request, Composition(summary="It had dues.")).startswith("the summary cites no passage")
    assert "the conclusion" in reply_faults(request, Composition(summary="Dues [1].", conclusion="So [7]."))
    assert not reply_faults(request, Composition(summary="Dues [1]."))
    assert accept_after_retry(request, Composition(summary="It had dues."))


class Composer:
    """A run whose model replies with this composition."""

    def __init__(self, reply: Composition, write: str = "compose", *, chat: bool = True) -> None:
        self.settings = SimpleNamespace(report=SimpleNamespace(write=write, length=0, form="standard"))
        self.reply, self.chat = reply, chat
        self.asked: list[Task[Any]] = []
        self.notices: list[str] = []

    async def by_chat(self, task: str, role: str = "task") -> bool:
        return self.chat

    async def perform(self, task: Task[Any]) -> Any:
        self.asked.append(task)
        return self.reply

    async def emit(self, kind: str, data: Any) -> None:
        self.notices.append(data["message"])

    def now(self) -> datetime:
        return datetime(2026, 3, 1, tzinfo=UTC)


async def test_the_prompt_shows_the_sections_with_numbered_citations_their_gaps_and_the_charts() -> None:
    run = Composer(Composition(summary="It had dues [1]."))
    made = await compose(QUESTION, "The port", SECTIONS, ["Dues by year"], cast("Run", run))
    assert made.summary == "It had dues [@a]."
    (task,) = run.asked
    text = cast("WriteRequest", task.inputs).as_text()
    assert '<section id="2" title="Works">\nThe channel was dredged [3]. Coal paid a toll [2].\n</section>' in text
    assert "Not found in the passages read:\n- Dues: Who paid?" in text
    assert "Figure 1: Dues by year" in text


@pytest.mark.parametrize(("write", "name"), [("compose", "write"), ("single", "write_whole")])
async def test_the_settings_decide_whether_the_sections_are_rewritten(write: str, name: str) -> None:
    run = Composer(Composition(), write)
    await compose(QUESTION, "The port", SECTIONS, (), cast("Run", run))
    assert [task.name for task in run.asked] == [name]


async def test_a_rewrite_that_needs_a_model_is_announced() -> None:
    run = Composer(Composition(), "single", chat=False)
    made = await compose(QUESTION, "The port", SECTIONS, (), cast("Run", run))
    assert made.sections == SECTIONS
    assert not run.asked
    assert run.notices[0] == "the sections were not rewritten (report.write = single needs a language model)"


@pytest.mark.parametrize("kind", [WRITE_TASK, REWRITE_TASK])
def test_the_example_of_a_reply_fits(kind: Any) -> None:
    assert Composition.model_validate_json(kind.example).summary.endswith("[1].")
    assert len(kind.prompt.strip().splitlines()) <= 25
