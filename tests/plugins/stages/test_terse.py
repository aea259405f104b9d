"""Replies that say no more than is new: the stages fill in what they leave out, where a reply stands behind it."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest

from leadline.contracts import Run
from leadline.errors import CallFailed
from leadline.findings import (
    DIGEST,
    EVIDENCE,
    FOUND,
    PLAN,
    QUESTION,
    REVIEW,
    SECTIONS,
    SOURCES,
    TASKS,
    Analysis,
    Digest,
    Found,
    Plan,
    PlannedSection,
    Query,
    Question,
    Review,
    SearchTask,
    SectionReview,
)
from leadline.records import Blob, Evidence, Failure, Record, Section
from leadline.schemas import schema_of
from leadline.tasks import Task
from leadline_plugins.stages.analyze import AnalyzeSettings, Analyzing
from leadline_plugins.stages.compose import COMPOSITION, Composing
from leadline_plugins.stages.digest import Digesting
from leadline_plugins.stages.lengths import shared_out
from leadline_plugins.stages.material import BEST
from leadline_plugins.stages.plan import Outline
from leadline_plugins.stages.query import NextQueries, serving_sections
from leadline_plugins.stages.review import Reviewing
from leadline_plugins.tasks.planning import Queries
from leadline_plugins.tasks.sorting import Sorted, SortedSection
from leadline_plugins.tasks.writing import Composition

PARTS = tuple(PlannedSection(id=name, title=name.upper(), domain=said) for name, said in zip("abc", "xyx", strict=True))
OUTLINE = Plan(title="The harbour", sections=PARTS)
PIECE = Evidence(id="e1", source_id="s", quote="It is deep.", span=(0, 11), claim="It is deep.", task_id="q1.1")
FAILED = CallFailed(Failure(kind="task", provider="x", category="LLM", type="BadReply", message="no"))


class Findings(dict[Any, Any]):
    """Findings of a stage; `ended` is why it ended the loop, `inputs` are those of what it asked."""

    ended = ""
    inputs: Any = None

    def end_loop(self, reason: str) -> None:
        self.ended = reason


class Asking:
    """A run whose model replies to its one task as it is told to."""

    stages = ()
    rounds_left = 1
    settings = SimpleNamespace(
        report=SimpleNamespace(length=0, write="compose"), research=SimpleNamespace(max_queries=20, followup_queries=5)
    )

    def now(self) -> datetime:
        return datetime(2026, 3, 1, tzinfo=UTC)

    def __init__(self, reply: Record | CallFailed) -> None:
        self._reply = reply

    async def by_chat(self, task: str, role: str = "task") -> bool:
        return True

    async def perform(self, task: Task[Any]) -> Any:
        self.inputs = task.inputs
        if isinstance(self._reply, CallFailed):
            raise self._reply
        return self._reply

    async def emit(self, kind: str, data: Any) -> None: ...

    async def save(self, blob: Blob) -> None: ...


async def after(stage: Any, reply: Record | CallFailed, **known: Any) -> Findings:
    """Return the findings once the stage was run."""
    findings = Findings(
        {
            QUESTION: Question(text="How deep is the harbour?", language="en"),
            PLAN: OUTLINE,
            EVIDENCE: (PIECE,),
            TASKS: (SearchTask(id="q1.1", query="depth"),),
            SOURCES: (),
            FOUND: (),
            SECTIONS: (Section(id="a", title="A", text="It is deep. [@e1]"),),
        }
    )
    findings.update(known.get("more", {}))
    asking = Asking(reply)
    asking.rounds_left = known.get("left", 1)
    await stage.run(findings, cast("Run", asking))
    findings.inputs = getattr(asking, "inputs", None)
    return findings


PARTIAL = SectionReview(id="b", coverage="partial", depth=0.4)
COVERED = {name: SectionReview(id=name, coverage="covered", depth=1.0) for name in "abc"}


async def test_sections_that_a_review_leaves_out_are_covered() -> None:
    review = Review(sections=(PARTIAL,), priority_gaps=("How deep in 1831?",))
    digest = (await after(Digesting(), Digest(review=review)))[DIGEST]
    assert digest.review.sections == (COVERED["a"], PARTIAL, COVERED["c"])
    assert digest.section_coverage == {"a": "covered", "b": "partial", "c": "covered"}
    assert digest.knowledge_gaps == ("How deep in 1831?",)
    alone = await after(Reviewing(), Review(sections=(PARTIAL,)), more={DIGEST: Digest(synthesis="It is deep.")})
    assert alone[REVIEW].sections == (COVERED["a"], PARTIAL, COVERED["c"])


@pytest.mark.parametrize(
    ("said", "section"),
    [
        ("Section b", "b"),
        ("b. The mole", "b"),
        ("Section B: The mole", "b"),
        ("b", "b"),
        ("the pier", "the pier"),
        ("", ""),
    ],
)
def test_a_search_serves_the_section_that_it_names(said: str, section: str) -> None:
    plan = Plan(title="", sections=(PARTS[0], PARTS[1].model_copy(update={"title": "The mole"}), PARTS[2]))
    (query,) = serving_sections(plan, (Query(query="q", section=said),))
    assert query.section == section


@pytest.mark.parametrize("name", ["Section b", "section B.", "The mole", "b"])
async def test_a_section_may_be_named_by_its_title_or_its_number(name: str) -> None:
    plan = Plan(title="", sections=(PARTS[0], PARTS[1].model_copy(update={"title": "The mole"}), PARTS[2]))
    review = Review(sections=(PARTIAL.model_copy(update={"id": name}),))
    digest = (await after(Digesting(), Digest(review=review), more={PLAN: plan}))[DIGEST]
    assert digest.section_coverage == {"a": "covered", "b": "partial", "c": "covered"}


@pytest.mark.parametrize(
    ("review", "coverage"),
    [
        (Review(), {}),
        (Review(sections=(PARTIAL, SectionReview(id="z", coverage="missing"))), {"b": "partial", "z": "missing"}),
        (Review(is_sufficient=True), {"a": "covered", "b": "covered", "c": "covered"}),
    ],
    ids=["nothing said", "what is no section", "all is well"],
)
async def test_where_silence_tells_nothing_no_section_is_covered(review: Review, coverage: dict[str, str]) -> None:
    digest = (await after(Digesting(), Digest(review=review)))[DIGEST]
    assert digest.section_coverage == coverage
    assert {one.id: one.coverage for one in digest.review.sections} == coverage
    alone = await after(Reviewing(), review, more={DIGEST: Digest()})
    assert {one.id: one.coverage for one in alone[REVIEW].sections} == coverage


async def test_a_digest_that_tells_coverage_itself_is_taken_at_its_word() -> None:
    own = Digest(review=Review(is_sufficient=True), section_coverage={"b": "missing"})
    digest = (await after(Digesting(), own))[DIGEST]
    assert (digest.section_coverage, digest.review.sections) == ({"b": "missing"}, ())


async def test_a_digest_without_review_leaves_the_last_coverage_as_it_was() -> None:
    last = Digest(section_coverage={"a": "partial"}, knowledge_gaps=("the depth",))
    digest = (await after(Digesting(), Digest(synthesis="It is deep."), more={DIGEST: last}))[DIGEST]
    assert digest == last.model_copy(update={"synthesis": "It is deep.", "round": 1, "shown": ("e1",)})


WANTING = Digest(
    review=Review(sections=(PARTIAL,), priority_gaps=("How long is the mole?", "What did the dredger cost?")),
    knowledge_gaps=("How long is the mole?", "What did the dredger cost?"),
    synthesis="It is deep.",
    round=1,
    shown=("e1",),
)
COST = PIECE.model_copy(update={"id": "e2", "quote": "The dredger cost forty crowns.", "task_id": "q2.1"})
LENGTH = PIECE.model_copy(update={"id": "e3", "quote": "The mole is long: 90 yards.", "task_id": "q2.1"})
SECOND = (SearchTask(id="q1.1", query="depth"), SearchTask(id="q2.1", query="dredger", round=2))


async def last_round(*evidence: Evidence, left: int = 0) -> Findings:
    """Return the findings after the second round of two, in which a model would say that all is well."""
    known = {DIGEST: WANTING, TASKS: SECOND, EVIDENCE: (PIECE, *evidence)}
    return await after(Digesting(), Digest(review=Review(is_sufficient=True)), more=known, left=left)


@pytest.mark.parametrize(
    ("evidence", "gaps"),
    [
        ((), ("How long is the mole?", "What did the dredger cost?")),
        ((COST,), ("How long is the mole?",)),
        ((COST, LENGTH), ()),
    ],
)
async def test_where_no_round_can_follow_what_was_missing_and_was_not_found_is_missing_still(
    evidence: tuple[Evidence, ...], gaps: tuple[str, ...]
) -> None:
    digest = (await last_round(*evidence))[DIGEST]
    assert (digest.knowledge_gaps, digest.review.priority_gaps) == (gaps, gaps)
    assert (digest.synthesis, digest.round, digest.review.is_sufficient) == ("It is deep.", 2, False)
    assert bool(digest.review.sections) == bool(gaps), "where all may be filled nobody has judged"


async def test_a_round_that_brought_something_is_digested_where_another_can_follow() -> None:
    assert (await last_round(COST, left=1))[DIGEST].review.is_sufficient
    assert not (await last_round(left=1))[DIGEST].review.is_sufficient, "one that brought nothing is the last"


async def test_no_searches_is_an_answer() -> None:
    wanting = Review(priority_gaps=("the depth",))
    none, silent = Digest(review=wanting, queries=()), Digest(review=wanting)
    proposed = Queries(queries=(Query(query="depth of the harbour"),))
    for digest, count in ((none, 0), (silent, 1), (Digest(queries=()), 1)):
        findings = await after(NextQueries(), proposed, more={DIGEST: digest})
        assert len(findings[TASKS]) == count


@pytest.mark.parametrize(
    ("stage", "reply"), [(NextQueries(), Queries()), (Analyzing(AnalyzeSettings(mode="on")), Analysis())]
)
async def test_what_a_model_is_shown_of_all_that_is_known_are_the_best_passages_for_each_search(
    stage: Any, reply: Record
) -> None:
    rich = [PIECE.model_copy(update={"id": f"r{n}", "quote": f"Depth {n}.", "score": 0.9}) for n in range(90)]
    tasks = (SearchTask(id="q1.1", query="depth"), SearchTask(id="q1.2", query="dredger cost"))
    known = {EVIDENCE: (*rich, COST), TASKS: tasks, FOUND: tuple(Found(id=one.id, task=one) for one in tasks)}
    asked = (await after(stage, reply, more=known)).inputs
    shown = [item.id for source in asked.sources for item in source.quotes]
    assert len(shown) == BEST
    assert "e2" in shown, "it has no score, and serves a search as no other does"
    told = asked.model_dump()
    assert not told.get("evidence")
    assert [one["known"] for one in told.get("past", ())] in ([90, 1], [])


async def test_of_a_round_that_nobody_reviewed_nothing_is_said_to_be_covered() -> None:
    findings = await after(Reviewing(), FAILED, more={DIGEST: Digest(knowledge_gaps=("the depth",))})
    assert findings[REVIEW] == Review(priority_gaps=("the depth",))
    assert (await after(Digesting(), FAILED))[DIGEST] == Digest(round=1)


async def test_a_plan_covers_the_domains_of_its_sections() -> None:
    assert (await after(Outline(), OUTLINE))[PLAN].domains == ("x", "y")
    told = OUTLINE.model_copy(update={"domains": ("z",)})
    assert (await after(Outline(), told))[PLAN].domains == ("z",)


@pytest.mark.parametrize(
    ("title", "stands"), [("", "The harbour"), (" ", "The harbour"), ("A deep harbour", "A deep harbour")]
)
async def test_the_title_of_the_plan_stands_unless_another_is_given(title: str, stands: str) -> None:
    composition = (await after(Composing(), Composition(title=title, summary="It is deep. [@e1]")))[COMPOSITION]
    assert (composition.title, composition.summary) == (stands, "It is deep. [@e1]")


def test_a_model_is_not_asked_for_what_follows_from_the_rest() -> None:
    plan, digest = (cast("dict[str, Any]", schema_of(reply)["properties"]) for reply in (Plan, Digest))
    assert plan.keys() == {"title", "queries", "sections"}
    assert digest.keys() == {"review", "queries", "synthesis"}


def test_sections_are_of_nearly_one_length() -> None:
    sections = tuple(
        SortedSection(section=part, evidence_ids=tuple(map(str, range(count))))
        for part, count in zip(PARTS, (90, 10, 50), strict=True)
    )
    plan = Sorted(sections=sections)
    lengths = [section.length for section in shared_out(plan, 3_000, [9_999] * 3).sections]
    assert lengths == [1050, 950, 1000]
