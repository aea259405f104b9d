"""Plans and sortings that a model made oddly: ids that repeat, are missing, or name what is not there."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadline.errors import CallFailed, NoEvidence
from leadline.findings import NextSearch, Plan, PlannedSection, Question
from leadline.records import Evidence, Failure
from leadline.tasks import Task
from leadline_plugins.stages.plan import Outline, numbered, sound
from leadline_plugins.stages.sorting import known, unusable
from leadline_plugins.stages.synthesize import sorting
from leadline_plugins.tasks.sorting import Sorted, SortedSection, SortRequest

NAMES = st.lists(st.sampled_from(["", " ", "1", "2", "3", "4", "costs", " 1 "]), max_size=8)


def planned(*names: str) -> Plan:
    sections = (PlannedSection(id=name, title=f"Title {place}") for place, name in enumerate(names))
    return Plan(title="Ports", queries=(NextSearch(query="costs", section="1"),), sections=tuple(sections))


@pytest.mark.parametrize(
    ("said", "means"),
    [
        (("", "", ""), ["1", "2", "3"]),
        (("1", "1", "1"), ["1", "2", "3"]),
        (("2", "2", "1"), ["2", "3", "1"]),
        (("a", "b", "a"), ["a", "b", "3"]),
        (("3", "1", "3"), ["3", "1", "2"]),
        (("1", " 1 "), ["1", "2"]),
        (("2", "", "2"), ["2", "1", "3"]),
    ],
)
def test_sections_of_one_id_are_numbered_and_the_first_keeps_it(said: tuple[str, ...], means: list[str]) -> None:
    plan = numbered(planned(*said))
    assert [section.id for section in plan.sections] == means
    assert plan.queries[0].section == "1"


@given(NAMES)
def test_every_section_has_an_id_of_its_own_and_a_sound_plan_stays_as_it_is(names: list[str]) -> None:
    plan = planned(*names)
    ids = [section.id for section in numbered(plan).sections]
    assert all(ids)
    assert len(set(ids)) == len(ids)
    assert [section.title for section in numbered(plan).sections] == [section.title for section in plan.sections]
    assert numbered(numbered(plan)) == numbered(plan)
    stripped = [name.strip() for name in names]
    assert [name for name in dict.fromkeys(stripped) if name] == [
        name for place, name in enumerate(ids) if name == stripped[place]
    ]


def test_a_plan_has_the_titles_of_a_report_and_no_section_for_what_every_report_has() -> None:
    question = Question(text="What do ports pay?", language="en")

    def section(title: str, goal: str = "") -> PlannedSection:
        return PlannedSection(id="1", title=title, goal=goal)

    titles = ("## Animal **welfare** [1]", "Section Title", "Executive Summary", "Conclusion", "参考文献", "**Costs**")
    plan = Plan(title="Report Title", sections=tuple(section(title, "What it is") for title in titles))
    made = sound(plan, question)
    assert made.title == "What do ports pay?"
    assert [one.title for one in made.sections] == ["Animal **welfare**", "What it is", "Costs"]
    alone = Plan(title="## Ports", sections=(section("Conclusions on ports"), section("Summary")))
    assert [one.title for one in sound(alone, question).sections] == ["Conclusions on ports"]
    assert sound(alone, question).title == "Ports"
    only = Plan(title="Ports", sections=(section("Summary"),))
    assert sound(only, question) == only


class Replies:
    """A run whose model says what it is told to, or fails."""

    class settings:  # noqa: N801 - as a run has it
        class report:  # noqa: N801
            length = 0

    stages = ()

    def __init__(self, reply: Any) -> None:
        self.reply = reply
        self.notices: list[str] = []

    def now(self) -> datetime:
        return datetime(2026, 3, 1, tzinfo=UTC)

    async def by_chat(self, task: str, role: str = "task") -> bool:
        return False

    async def perform(self, task: Task[Any]) -> Any:
        if isinstance(self.reply, Exception):
            raise self.reply
        return self.reply

    async def emit(self, kind: str, data: Any) -> None:
        self.notices += [data["message"]] if kind == "notice" else []


async def test_the_stage_numbers_the_sections_of_a_plan() -> None:
    run: Any = Replies(planned("", "", "x"))
    plan = await Outline()._plan(Question(text="What do ports pay?"), run)
    assert [section.id for section in plan.sections] == ["1", "2", "x"]


PIECES = tuple(Evidence(id=name, source_id="s", quote=name, span=(0, 2), claim=name) for name in ("e1", "e2", "e3"))
ASKED = SortRequest(
    question=Question(text="What do ports pay?"), plan=planned("1", "2"), evidence=PIECES, sources=(), length=300
)


def said(*parts: tuple[str, str, tuple[str, ...]], **more: Any) -> Sorted:
    sections = (
        SortedSection(section=PlannedSection(id=name, title=title), evidence_ids=ids, length=100)
        for name, title, ids in parts
    )
    return Sorted(sections=tuple(sections), **more)


def ids_of(plan: Sorted) -> dict[str, tuple[str, ...]]:
    return {part.section.id: part.evidence_ids for part in plan.sections}


def test_unknown_evidence_is_left_out_and_sections_of_one_id_are_merged() -> None:
    plan = known(said(("1", "A", ("e1", "zz")), ("2", "B", ("zz",)), ("1", "C", ("e1", "e3"))), ASKED)
    assert ids_of(plan) == {"1": ("e1", "e3")}
    assert (plan.sections[0].section.title, plan.sections[0].length) == ("A", 200)


def test_a_section_without_an_id_is_that_of_the_plan_with_its_title() -> None:
    plan = known(said(("", "Title 1", ("e1",)), ("", "New", ("e2",)), (" ", "Other", ("e3",))), ASKED)
    assert ids_of(plan) == {"2": ("e1",), "New": ("e2",), "Other": ("e3",)}


def test_a_sound_sorting_stays_as_it_is() -> None:
    plan = said(("2", "B", ("e2", "e1")), ("x", "New", ("e3", "e1")))
    assert known(plan, ASKED) == plan
    assert not unusable(ASKED, plan)


@pytest.mark.parametrize("plan", [said(), said(("1", "A", ("zz", "E1")))])
def test_a_sorting_that_names_no_evidence_is_asked_for_once_more(plan: Sorted) -> None:
    assert unusable(ASKED, plan) == "it names none of the evidence that was shown by its id (e1, e2, e3, …)"
    assert not unusable(ASKED, plan.model_copy(update={"answers": False}))


async def test_a_sorting_of_nothing_that_is_there_is_one_section_over_all() -> None:
    failed = CallFailed(Failure(kind="chat", provider="x", category="LLM", type="BadReply", message="no"))
    for reply in (failed, said(("1", "A", ("zz",)))):
        run: Any = Replies(reply)
        plan = await sorting(ASKED, run)
        assert ids_of(plan) == {"1": ("e1", "e2", "e3")}
        assert [text.partition(" (")[0] for text in run.notices] == [
            "the evidence was not sorted: one synthesis over all"
        ]


@pytest.mark.parametrize("plan", [said(), said(("1", "A", ("e1",)), answers=False)])
async def test_what_does_not_answer_is_no_evidence(plan: Sorted) -> None:
    with pytest.raises(NoEvidence):
        await sorting(ASKED, Replies(plan))  # type: ignore[arg-type]
