"""Evidence whose section is a toss-up: when a chat is asked, what it is shown, what becomes of its reply."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from leadline.contracts import Run
from leadline.errors import CallFailed, CallRefused
from leadline.findings import EVIDENCE, PLAN, QUESTION, SECTIONS, SOURCES, TASKS, Plan, PlannedSection, Question
from leadline.records import Document, Evidence, Failure, Hit, Section, SectionRequest, Source
from leadline.tasks import Task
from leadline_plugins.stages.synthesize import Synthesis
from leadline_plugins.stages.unsure import PLACE, settled
from leadline_plugins.tasks.sorting import Placed, PlacedSection, PlaceRequest, Sorted, SortedSection, SortRequest

QUESTION_ASKED = Question(text="What did the harbour cost?", language="en")
COSTS = PlannedSection(id="a", title="Costs", goal="Say what it cost.", questions=("What did the mole cost?",))
HISTORY = PlannedSection(id="b", title="History")
RISKS = PlannedSection(id="c", title="Risks")
OUTLINE = Plan(title="The harbour", sections=(COSTS, HISTORY, RISKS))
QUOTE = "The mole was built of stone. " * 10
PIECES = tuple(
    Evidence(id=f"e{number}", source_id="s", quote=QUOTE, span=(0, 290), claim=QUOTE, score=float(number))
    for number in range(1, 9)
)
UNSURE = ("e1", "e2", "e3", "e4", "e5")
"""The best of them, e5, is number 1 in the call, and e1 is number 5."""
SORTED = Sorted(
    sections=(
        SortedSection(section=COSTS, evidence_ids=("e1", "e2", "e3", "e6")),
        SortedSection(section=HISTORY, evidence_ids=("e4", "e5", "e7", "e8")),
    ),
    unsure=UNSURE,
)
FAILURE = Failure(kind="chat", provider="x", category="LLM", type="BadReply", message="no")


class Placing:
    """A run whose chat places pieces as it is told to, or fails; `writes` or an algorithm does."""

    settings = SimpleNamespace(report=SimpleNamespace(length=0), budget=SimpleNamespace(tokens=400_000))

    def __init__(
        self, reply: Placed | CallFailed, plan: Sorted = SORTED, *, writes: bool = True, places: bool = True
    ) -> None:
        self.replies: dict[str, Any] = {"place": reply, "sort": plan}
        self.chats = {"synthesize": writes, "place": places}
        self.asked: list[Task[Any]] = []
        self.notices: list[str] = []

    async def by_chat(self, task: str, role: str = "task") -> bool:
        return self.chats[task]

    async def perform(self, task: Task[Any]) -> Any:
        self.asked.append(task)
        reply = self.replies[task.name]
        if isinstance(reply, CallFailed):
            raise reply
        return reply

    async def emit(self, kind: str, data: Any) -> None:
        self.notices.append(data["message"])

    async def each(self, items: Any, do: Any) -> list[Any]:
        return [await do(item) for item in items]

    async def synthesize(self, request: SectionRequest) -> Section:
        return request.section


def placed(**numbers: tuple[int, ...]) -> Placed:
    return Placed(sections=tuple(PlacedSection(id=name, pieces=pieces) for name, pieces in numbers.items()))


async def sections(run: Placing, plan: Sorted = SORTED) -> dict[str, tuple[str, ...]]:
    request = SortRequest(question=QUESTION_ASKED, plan=OUTLINE, evidence=PIECES, sources=())
    found = await settled(plan, request, cast("Run", run))
    return {part.section.id: part.evidence_ids for part in found.sections}


def as_sorted() -> dict[str, tuple[str, ...]]:
    return {part.section.id: part.evidence_ids for part in SORTED.sections}


async def test_the_chat_is_shown_the_sections_and_the_unsure_pieces_alone() -> None:
    run = Placing(placed())
    await sections(run)
    (task,) = run.asked
    assert isinstance(task.inputs, PlaceRequest)
    assert [(one.id, one.goal, one.questions) for one in task.inputs.sections] == [
        ("a", "Say what it cost.", ("What did the mole cost?",)),
        ("b", "", ()),
        ("c", "", ()),
    ]
    assert [piece.number for piece in task.inputs.pieces] == [1, 2, 3, 4, 5]
    assert {piece.quote for piece in task.inputs.pieces} == {QUOTE[:200]}


async def test_pieces_move_behind_those_of_their_section_and_the_unnamed_stay() -> None:
    found = await sections(Placing(placed(a=(1,), b=(5, 4))))
    assert found == {"a": ("e3", "e6", "e5"), "b": ("e4", "e7", "e8", "e1", "e2")}


async def test_a_section_the_algorithm_left_empty_comes_back_and_one_that_is_emptied_goes() -> None:
    few = Sorted(sections=(SortedSection(section=COSTS, evidence_ids=UNSURE),), unsure=UNSURE)
    assert await sections(Placing(placed(c=(1, 2, 3, 4, 5))), few) == {"c": UNSURE}


async def test_a_piece_serves_two_sections_at_most_and_keeps_the_place_where_it_stands() -> None:
    assert await sections(Placing(placed(a=(5, 1), b=(1, 5), c=(1,)))) == {
        "a": ("e1", "e2", "e3", "e6", "e5"),
        "b": ("e4", "e5", "e7", "e8", "e1"),
    }


async def test_what_belongs_nowhere_is_left_out_and_what_is_not_named_stays() -> None:
    reply = placed(a=(2,)).model_copy(update={"nowhere": (1, 3, 2, 99)})
    assert await sections(Placing(reply)) == {"a": ("e1", "e2", "e6", "e4"), "b": ("e7", "e8")}


async def test_where_nearly_all_belong_nowhere_they_stay_and_it_is_said() -> None:
    run = Placing(Placed(sections=(), nowhere=(1, 2, 3, 4, 5)))
    assert await sections(run) == as_sorted()
    assert run.notices == [
        "no section was found for 5 of the 5 passages that were not sure of theirs: they were sorted by algorithm alone"
    ]


async def test_the_chat_is_shown_what_stands_over_a_quote_where_that_does_not_say_it() -> None:
    run = Placing(placed())
    over = tuple(item.model_copy(update={"under": "The mole › Costs"}) for item in PIECES)
    source = Source(id="s", hit=Hit(url="https://example.org/", title="Accounts"), document=Document(text=QUOTE))
    request = SortRequest(question=QUESTION_ASKED, plan=OUTLINE, evidence=over, sources=(source,))
    await settled(SORTED, request, cast("Run", run))
    asked = run.asked[0].inputs
    assert isinstance(asked, PlaceRequest)
    assert {(piece.under, piece.source_id) for piece in asked.pieces} == {("Costs", "1")}
    assert [(one.id, one.title) for one in asked.sources] == [("1", "Accounts")]


async def test_unknown_numbers_and_sections_move_nothing() -> None:
    assert await sections(Placing(placed(a=(0, 6, -1, 99), d=(1, 2)))) == as_sorted()


@pytest.mark.parametrize("failed", [CallFailed(FAILURE), CallRefused(FAILURE)])
async def test_where_the_call_fails_the_sorting_stands_and_it_is_said(failed: CallFailed) -> None:
    run = Placing(failed)
    assert await sections(run) == as_sorted()
    assert [notice.partition(" (")[0] for notice in run.notices] == [
        "evidence whose section is not sure was sorted by algorithm alone"
    ]


@pytest.mark.parametrize(("unsure", "chosen", "asked"), [(4, 8, 0), (5, 8, 1), (5, 20, 1), (5, 21, 0), (0, 8, 0)])
async def test_a_handful_and_a_quarter_of_the_pieces_are_worth_a_call(unsure: int, chosen: int, asked: int) -> None:
    names = tuple(f"e{number}" for number in range(1, chosen + 1))
    run = Placing(placed())
    await sections(run, Sorted(sections=(SortedSection(section=COSTS, evidence_ids=names),), unsure=names[:unsure]))
    assert len(run.asked) == asked


async def test_what_was_not_chosen_is_not_asked_for() -> None:
    run = Placing(placed())
    few = Sorted(sections=(SortedSection(section=COSTS, evidence_ids=("e1", "e6")),), unsure=UNSURE)
    await sections(run, few)
    assert not run.asked


async def test_no_algorithm_is_asked() -> None:
    run = Placing(placed(a=(1,)), places=False)
    assert await sections(run) == as_sorted()
    assert not run.asked


@pytest.mark.parametrize(("writes", "asked", "first"), [(True, ["sort", "place"], 2), (False, ["sort"], 4)])
async def test_the_stage_asks_where_a_chat_writes(writes: bool, asked: list[str], first: int) -> None:
    run = Placing(placed(b=(5, 4)), writes=writes)
    source = Source(id="s", hit=Hit(url="https://example.org/"), document=Document(text=QUOTE))
    findings: Any = {QUESTION: QUESTION_ASKED, PLAN: OUTLINE, EVIDENCE: PIECES, SOURCES: (source,), TASKS: ()}
    await Synthesis().run(findings, cast("Run", run))
    assert [task.name for task in run.asked] == asked
    assert len(findings[SECTIONS][0].evidence_ids) == first


def test_a_reply_that_names_nothing_it_was_shown_is_unusable_and_an_empty_one_is_not() -> None:
    assert PLACE.check
    request = PlaceRequest(question=QUESTION_ASKED, sections=(COSTS, HISTORY), pieces=())
    request = request.model_validate(request.model_dump() | {"pieces": [{"number": 1, "quote": "Deep."}]})
    assert PLACE.check(request, placed(a=(9,), d=(1,))).endswith("under the id of a section (a, b)")
    assert PLACE.check(request, placed(a=(9, 1))) == ""
    assert PLACE.check(request, placed(a=())) == PLACE.check(request, placed()) == ""
    assert PLACE.check(request, placed(d=(1,)).model_copy(update={"nowhere": (1,)})) == ""
