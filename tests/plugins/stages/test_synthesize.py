"""The stage `synthesize`: which passages each section is written from, and what is told where they answer nothing."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, TypeVar, cast

import pytest

from leadline.contracts import StageRun
from leadline.errors import CallFailed, NoEvidence
from leadline.records import (
    REPORT_PARTS,
    Book,
    Conflict,
    Document,
    Evidence,
    Failure,
    Hit,
    Ranking,
    Section,
    Source,
    Synthesis,
    SynthesisRequest,
    Tier,
)
from leadline.research_findings import (
    EVIDENCE,
    FOUND,
    PLAN,
    QUESTION,
    SECTIONS,
    SOURCES,
    Digest,
    Found,
    Plan,
    PlannedSection,
    Question,
    SearchTask,
)
from leadline.settings import Settings
from leadline.testing.context import FakeRun, fake_findings
from leadline_plugins.passages import selection
from leadline_plugins.passages.cutting import tokens_of
from leadline_plugins.passages.ranking import definitions
from leadline_plugins.stages.synthesize import Inquiry, SynthesizeStage, collected, without_copies

A = TypeVar("A")
B = TypeVar("B")
Page = tuple[Source, list[Evidence]]
ASKED = Question(text="How is the harbour of Porto Alvo run?", language="en")
DEPTH, FEES = "How deep is the harbour?", "What fee do ships pay?"
PLAN_OF_TWO = Plan(
    title="The harbour",
    sections=(
        PlannedSection(id="1", title="Depth", goal="How deep it is", questions=(DEPTH,)),
        PlannedSection(id="2", title="Fees", goal="What it costs", questions=(FEES,)),
    ),
)


class Runs(FakeRun):
    """A run that keeps the requests of its synthesizer and returns a text for each."""

    def __init__(self, *, chat: bool = True, **values: Any) -> None:
        super().__init__(Settings.model_validate(values))
        self.chat = chat
        self.reply: Callable[[Section], dict[str, Any]] = lambda section: {"text": f"It is so [@{_first(section)}]."}
        self.requested: list[SynthesisRequest] = []
        self.begun = 0
        self.down = False

    def prefetch(self, work: Any) -> None:
        self.begun += 1
        work.close()

    async def by_chat(self, task: str, role: str = "task") -> bool:
        return self.chat

    async def each(self, items: Iterable[A], work: Callable[[A], Awaitable[B]]) -> list[B]:
        return [await work(item) for item in items]

    async def synthesize(self, request: SynthesisRequest) -> Synthesis:
        self.requested.append(request)
        sections = tuple(section.model_copy(update=self.reply(section)) for section in request.wanted)
        parts = (name for name in request.sections if name in REPORT_PARTS)
        return Synthesis(sections=(*sections, *(Section(id=name, title="", text="So [@s1-0].") for name in parts)))

    async def rerank(self, query: str, texts: Sequence[str], /) -> Ranking:
        if self.down:
            raise CallFailed(Failure(kind="rerank", provider="mine", category="NETWORK", type="X", message="gone"))
        return Ranking(scores=tuple(float("toll" in text) for text in texts))


def _first(section: Section) -> str:
    return section.evidence_ids[0]


def source(name: str, *texts: str, tier: Tier = 3) -> Page:
    """Return a source and its passages, one for each text."""
    whole, passages = "", []
    for place, text in enumerate(texts):
        span = len(whole), len(whole) + len(text)
        passages.append(Evidence(id=f"{name}-{place}", source_id=name, quote=text, span=span))
        whole += f"{text}\n\n"
    hit = Hit(url=f"https://example.org/{name}", title=f"Page {name}")
    return Source(id=name, hit=hit, document=Document(text=whole), tier=tier), passages


HARBOUR = source(
    "s1",
    "The harbour is eleven fathoms deep at low tide.",
    "Ships pay a fee of forty crowns for each day at the quay.",
    "The deep harbour costs more: ships deeper than nine fathoms pay a double fee.",
    "Monks founded the chapel on the hill.",
)


async def run(
    runs: Runs,
    plan: Plan = PLAN_OF_TWO,
    pages: Sequence[Page] = (HARBOUR,),
    question: Question = ASKED,
    found: Sequence[Found] = (),
) -> list[Section]:
    """Run the stage over these pages and return its sections."""
    values: dict[Any, Any] = {
        QUESTION: question,
        PLAN: plan,
        SOURCES: tuple(page for page, _ in pages),
        EVIDENCE: tuple(item for _, items in pages for item in items),
        FOUND: found,
    }
    findings = fake_findings(SynthesizeStage, values)
    await SynthesizeStage().run(findings, cast("StageRun", runs))
    return list(findings.patch[SECTIONS])


async def book(
    runs: Runs, plan: Plan, page: Page, tasks: Sequence[SearchTask] = (), conflicts: Sequence[Conflict] = ()
) -> Book:
    return await collected(
        Inquiry(ASKED, plan, tasks), page[1], [page[0]], Digest(conflicts=tuple(conflicts)), cast("StageRun", runs)
    )


async def passages(runs: Runs, plan: Plan, page: Page, tasks: Sequence[SearchTask] = ()) -> list[list[Evidence]]:
    """Return the passages of each section."""
    made = await book(runs, plan, page, tasks)
    return [list(made.passages(section)) for section in made.outline]


def ids(items: Iterable[Evidence]) -> set[str]:
    return {item.id for item in items}


async def test_each_section_has_the_passages_of_its_own_questions() -> None:
    runs = Runs(research={"section_tokens": 45})
    depth, fees = await passages(runs, PLAN_OF_TWO, HARBOUR)
    assert "s1-0" in ids(depth)
    assert "s1-1" in ids(fees)
    assert not ids(depth) & {"s1-1", "s1-3"}
    assert not ids(fees) & {"s1-0", "s1-3"}


async def test_a_passage_may_serve_several_sections() -> None:
    depth, fees = await passages(Runs(), PLAN_OF_TWO, HARBOUR)
    assert "s1-2" in ids(depth) & ids(fees)


async def test_a_section_without_questions_is_selected_for_by_its_title_and_goal() -> None:
    plan = Plan(title="A", sections=(PlannedSection(id="1", title="The chapel", goal="Which monks founded it"),))
    (request,) = await passages(Runs(research={"section_tokens": 25}), plan, HARBOUR)
    assert ids(request) == {"s1-3"}


async def test_every_writer_has_the_whole_book_and_its_share_of_the_length() -> None:
    runs = Runs(report={"length": 8_000})
    await run(runs)
    depth, fees = runs.requested
    assert depth.book == fees.book
    assert (depth.sections, fees.sections) == (("1",), ("2",))
    assert [(one.title, one.questions) for one in depth.book.outline] == [("Depth", (DEPTH,)), ("Fees", (FEES,))]
    assert (depth.length, fees.length) == (4_000, 4_000)
    assert [page.document.text for page in depth.book.sources] == [""], "the passages are enough"


async def test_one_call_writes_a_short_report_with_its_summary_analysis_and_conclusion() -> None:
    runs = Runs(report={"length": 800, "analysis": True})
    sections = await run(runs)
    (asked,) = runs.requested
    assert asked.sections == ("1", "2", "summary", "analysis", "conclusion")
    assert [one.id for one in sections] == ["1", "2"]


async def test_passages_that_disagree_are_in_the_book() -> None:
    runs, apart = Runs(research={"section_tokens": 25}), Conflict(about="the fee", evidence_ids=("s1-1", "s1-3"))
    lost = Conflict(about="the depth", evidence_ids=("s1-0", "s9-9"))
    made = await book(runs, PLAN_OF_TWO, HARBOUR, conflicts=(apart, lost))
    assert made.conflicts == (apart,)
    assert {"s1-1", "s1-3"} <= ids(made.evidence)


async def test_all_passages_together_stay_within_the_tokens_of_the_report() -> None:
    made = await book(Runs(research={"evidence_tokens": 700}), SECTIONS_OF_TWO, MANUAL)
    assert 100 < tokens(made.evidence) <= 700


@pytest.mark.parametrize(("stages", "begun"), [((), 2), (("condense",), 0)])
async def test_claims_are_judged_while_other_sections_are_written_unless_they_may_change(
    stages: tuple[str, ...], begun: int
) -> None:
    runs = Runs(report={"length": 8_000})
    runs.stages = stages
    await run(runs)
    assert runs.begun == begun


@pytest.mark.parametrize("chat", [True, False], ids=["with a model", "brief"])
async def test_the_configured_reranker_decides_which_passages_come_first_unless_it_fails(chat: bool) -> None:
    page = source("s1", "The harbour fee is high.", "The harbour is run for a fee.", "The harbour: a toll on coal.")
    plan = Plan(title="A", sections=(PlannedSection(id="1", title="Fees", questions=("What is the fee?",)),))
    (plain,) = await passages(Runs(chat=chat), plan, page)
    runs = Runs(chat=chat, ai={"reranker": "mine"})
    (reranked,) = await passages(runs, plan, page)
    assert plain[0].id != "s1-2"
    assert reranked[0].id == "s1-2"
    runs.down = True
    assert await passages(runs, plan, page) == [plain]
    (notice,) = runs.notices
    assert notice.startswith("the reranker mine did not order the passages, which stay in the order of the search (")


# --- budgets --------------------------------------------------------------------------------------------------------

MANUAL = source(
    "s1",
    *(
        f"Harbour rule {n}: ships of class {n} pay a fee of {n} crowns. {'It is written down. ' * 20}"
        for n in range(80)
    ),
)
SECTIONS_OF_TWO = Plan(
    title="A",
    sections=tuple(
        PlannedSection(id=str(n), title=f"Class {n}", questions=(f"Which fee do ships pay in class {n}?",))
        for n in (1, 2)
    ),
)


def tokens(items: Iterable[Evidence]) -> float:
    return sum(tokens_of(item.quote) for item in items)


def retention(made: Sequence[Sequence[Evidence]], page: Source) -> float:
    distinct = {item.id: len(item.quote) for section in made for item in section}
    return sum(distinct.values()) / len(page.document.text)


async def test_each_question_has_a_budget_of_its_own() -> None:
    one = PlannedSection(id="1", title="A", questions=("What fee do ships pay?",))
    more = one.model_copy(update={"questions": ("What fee do ships pay?", "Which class is 42?", "Which rule is 43?")})
    runs = Runs(research={"section_tokens": 600})
    (small,) = await passages(runs, Plan(title="A", sections=(one,)), MANUAL)
    (large,) = await passages(runs, Plan(title="A", sections=(more,)), MANUAL)
    assert 400 < tokens(small) <= 600
    assert ids(small) < ids(large)


@pytest.mark.parametrize(("share", "enough"), [(0.0, False), (0.16, True)])
async def test_the_share_of_the_text_that_is_to_be_retained_reaches_the_writers(share: float, enough: bool) -> None:
    runs = Runs(research={"section_tokens": 300, "retention": share}, budget={"tokens": 100_000})
    made = await passages(runs, SECTIONS_OF_TWO, MANUAL)
    assert (retention(made, MANUAL[0]) >= 0.16) is enough


@pytest.mark.parametrize("share", [0.0, 0.16])
async def test_passages_leave_the_rest_of_the_budget_of_tokens_to_the_writing(share: float) -> None:
    runs = Runs(research={"retention": share}, budget={"tokens": 2_000})
    made = await passages(runs, SECTIONS_OF_TWO, MANUAL)
    assert 0 < tokens({item.id: item for section in made for item in section}.values()) <= 0.4 * 2_000


async def test_without_a_model_passages_cost_nothing_and_are_not_rationed() -> None:
    made = await passages(Runs(chat=False, budget={"tokens": 2_000}), SECTIONS_OF_TWO, MANUAL)
    assert sum(map(tokens, made)) > 2_000


# --- what is missing ------------------------------------------------------------------------------------------------


async def test_a_section_without_a_passage_is_left_out_and_its_length_goes_to_the_others() -> None:
    strange = PlannedSection(id="3", title="Zzyzx", questions=("Qwfp arst?",))
    plan = PLAN_OF_TWO.model_copy(update={"sections": (*PLAN_OF_TWO.sections, strange)})
    runs = Runs(report={"length": 800})
    sections = await run(runs, plan, question=Question(text="Neio luy?", language="en"))
    assert [section.id for section in sections] == ["1", "2"]
    assert runs.notices == ["section 'Zzyzx' was left out: no passage was found for it"]
    assert [request.length for request in runs.requested] == [400]


async def test_unanswered_questions_and_unwritten_sections_are_notices() -> None:
    runs = Runs()
    runs.reply = lambda section: {
        "text": f"It is so [@{_first(section)}].",
        "unanswered": ("How deep in winter?",),
        "unwritten": ("no reply",) if section.id == "2" else (),
    }
    await run(runs)
    assert runs.notices == [
        "not found in the passages read: How deep in winter?",
        "section 'Fees' was not written: no reply",
    ]


async def test_a_section_that_answers_nothing_is_no_section_of_the_report() -> None:
    runs = Runs()
    runs.reply = lambda section: (
        {"text": "", "unanswered": (FEES,)} if section.id == "2" else {"text": f"Deep [@{_first(section)}]."}
    )
    assert [section.id for section in await run(runs)] == ["1"]
    assert runs.notices == [f"not found in the passages read: {FEES}"]


async def test_without_a_passage_the_run_ends_without_evidence() -> None:
    with pytest.raises(NoEvidence, match="none of the 1 pages read has any text to cite"):
        await run(Runs(), pages=(source("s1"),))
    with pytest.raises(NoEvidence, match="nothing was found for: How is the harbour"):
        await run(Runs(), pages=())


# --- copies ---------------------------------------------------------------------------------------------------------


async def test_only_the_best_of_several_copies_is_cited() -> None:
    texts = [f"The fee of pier {n} is {n} crowns, as the board of the harbour has it." for n in range(9)]
    copy, original, other = source("s1", *texts), source("s2", *texts, tier=1), source("s3", "The fee is one crown.")
    pages = [copy, original, other]
    evidence = [item for _, items in pages for item in items]
    kept = await without_copies(evidence, [page for page, _ in pages])
    assert {item.source_id for item in kept} == {"s2", "s3"}
    runs = Runs()
    await run(runs, pages=pages)
    assert "s1" not in {item.source_id for request in runs.requested for item in request.book.evidence}


async def test_the_searches_made_for_a_section_are_one_more_question() -> None:
    section = PlannedSection(id="1", title="A", questions=("Is it risky?",))
    task = SearchTask(id="q1.1", query="class 42", section="1")
    plan = Plan(title="A", sections=(section,))
    alone = await passages(Runs(research={"section_tokens": 300}), plan, MANUAL)
    (helped,) = await passages(Runs(research={"section_tokens": 300}), plan, MANUAL, [task])
    assert any("class 42 " in item.quote for item in helped)
    assert not any("class 42 " in item.quote for made in alone for item in made)


@pytest.mark.parametrize("chat", [True, False])
async def test_passages_are_not_selected_by_the_event_loop(monkeypatch: pytest.MonkeyPatch, chat: bool) -> None:
    by: list[int] = []

    def recorded(*arguments: Any) -> list[int]:
        by.append(threading.get_ident())
        return definitions(*arguments)

    monkeypatch.setattr(selection, "definitions", recorded)
    assert await passages(Runs(chat=chat), PLAN_OF_TWO, HARBOUR)
    assert threading.get_ident() not in by


async def test_the_spelling_that_an_engine_suggests_is_told_where_something_is_not_answered() -> None:
    task = SearchTask(id="1", query="harbor", round=1)
    found = [Found(id="1", task=task, suggestion="harbour"), Found(id="2", task=task, suggestion="arbour")]
    told = "did you mean: harbour"
    with pytest.raises(NoEvidence, match=f"nothing was found for: .*; {told}$"):
        await run(Runs(), pages=(), found=found)
    runs = Runs()
    runs.reply = lambda section: {"text": "", "unanswered": ("How deep?",)}
    with pytest.raises(NoEvidence, match=f"no source found answers: .*; {told}$"):
        await run(runs, found=found)
    runs = Runs()
    runs.reply = lambda section: {"text": f"Deep [@{_first(section)}].", "unanswered": ("How deep?",)}
    await run(runs, found=found)
    assert told in runs.notices
    runs = Runs()
    await run(runs, found=found)
    assert told not in runs.notices
    later = found[0].model_copy(update={"task": task.model_copy(update={"round": 2})})
    with pytest.raises(NoEvidence, match="nothing was found for: [^;]*$"):
        await run(Runs(), pages=(), found=[later])
