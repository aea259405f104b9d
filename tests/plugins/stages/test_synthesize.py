"""The stage `synthesize`: which passages each section is written from, and what is told where they answer nothing."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, TypeVar, cast

import pytest

from leadline.contracts import Run
from leadline.errors import NoEvidence
from leadline.records import Document, Evidence, Hit, Ranking, Section, SectionRequest, Source, Tier
from leadline.research_findings import (
    DIGEST,
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
from leadline_plugins.passages.cutting import tokens_of
from leadline_plugins.passages.selection import select
from leadline_plugins.stages import synthesize
from leadline_plugins.stages.synthesize import SynthesizeStage, leadline_stages, section_requests, without_copies

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
        self.reply: Callable[[SectionRequest], dict[str, Any]] = lambda request: {
            "text": f"It is so [@{_first(request)}]."
        }
        self.requested: list[SectionRequest] = []
        self.begun = 0

    def prefetch(self, work: Any) -> None:
        self.begun += 1
        work.close()

    async def by_chat(self, task: str, role: str = "task") -> bool:
        return self.chat

    async def each(self, items: Iterable[A], work: Callable[[A], Awaitable[B]]) -> list[B]:
        return [await work(item) for item in items]

    async def synthesize(self, request: SectionRequest) -> Section:
        self.requested.append(request)
        return request.section.model_copy(update=self.reply(request))

    async def rerank(self, query: str, texts: Sequence[str], /) -> Ranking:
        return Ranking(scores=tuple(float("toll" in text) for text in texts))

    @property
    def notices(self) -> list[str]:
        return [str(data["message"]) for kind, data in self.emitted if kind == "notice"]


def _first(request: SectionRequest) -> str:
    return request.evidence[0].id


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
    digest: Digest | None = None,
    found: Sequence[Found] = (),
) -> list[Section]:
    """Run the stage over these pages and return its sections."""
    (offer,) = leadline_stages()
    values: dict[Any, Any] = {
        QUESTION: question,
        PLAN: plan,
        SOURCES: tuple(page for page, _ in pages),
        EVIDENCE: tuple(item for _, items in pages for item in items),
        FOUND: found,
        **({DIGEST: digest} if digest else {}),
    }
    findings = fake_findings(offer, values)
    await SynthesizeStage().run(findings, cast("Run", runs))
    return list(findings.patch[SECTIONS])


async def requests(runs: Runs, plan: Plan, page: Page, tasks: Sequence[SearchTask] = ()) -> list[SectionRequest]:
    return await section_requests(plan, ASKED, page[1], [page[0]], tasks, None, cast("Run", runs))


def ids(request: SectionRequest) -> set[str]:
    return {item.id for item in request.evidence}


async def test_each_section_has_the_passages_of_its_own_questions() -> None:
    runs = Runs(research={"section_tokens": 45})
    depth, fees = await requests(runs, PLAN_OF_TWO, HARBOUR)
    assert "s1-0" in ids(depth)
    assert "s1-1" in ids(fees)
    assert not ids(depth) & {"s1-1", "s1-3"}
    assert not ids(fees) & {"s1-0", "s1-3"}


async def test_a_passage_may_serve_several_sections() -> None:
    depth, fees = await requests(Runs(), PLAN_OF_TWO, HARBOUR)
    assert "s1-2" in ids(depth) & ids(fees)


async def test_a_section_without_questions_is_selected_for_by_its_title_and_goal() -> None:
    plan = Plan(title="A", sections=(PlannedSection(id="1", title="The chapel", goal="Which monks founded it"),))
    (request,) = await requests(Runs(research={"section_tokens": 25}), plan, HARBOUR)
    assert ids(request) == {"s1-3"}


async def test_a_writer_knows_the_outline_the_questions_and_its_share_of_the_length() -> None:
    runs = Runs(report={"length": 800})
    await run(runs)
    depth, fees = runs.requested
    assert [one.title for one in depth.outline] == ["Depth", "Fees"]
    assert (depth.questions, fees.questions) == ((DEPTH,), (FEES,))
    assert (depth.length, fees.length) == (400, 400)
    assert depth.section.evidence_ids == tuple(item.id for item in depth.evidence)
    assert [page.document.text for page in depth.sources] == [""], "the passages are enough"


async def test_every_writer_knows_what_was_found_and_how_sections_relate() -> None:
    runs = Runs()
    await run(runs, digest=Digest(synthesis="It is deep.", cross_links=("Depth decides the fees.",)))
    told = "It is deep.\nRelations between sections:\n- Depth decides the fees."
    assert [request.digest for request in runs.requested] == [told] * 2


@pytest.mark.parametrize(("write", "begun"), [("compose", 2), ("single", 0)])
async def test_claims_are_judged_while_other_sections_are_written_unless_all_are_rewritten(
    write: str, begun: int
) -> None:
    runs = Runs(report={"write": write})
    await run(runs)
    assert runs.begun == begun


async def test_the_configured_reranker_decides_which_passages_come_first() -> None:
    page = source("s1", "The fee is high.", "The fee is a fee, and a fee.", "The fee is a toll on coal.")
    plan = Plan(title="A", sections=(PlannedSection(id="1", title="Fees", questions=("What is the fee?",)),))
    (plain,) = await requests(Runs(), plan, page)
    (reranked,) = await requests(Runs(ai={"reranker": "mine"}), plan, page)
    assert plain.evidence[0].id != "s1-2"
    assert reranked.evidence[0].id == "s1-2"


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


def tokens(request: SectionRequest) -> float:
    return sum(tokens_of(item.quote) for item in request.evidence)


def retention(made: Sequence[SectionRequest], page: Source) -> float:
    distinct = {item.id: len(item.quote) for request in made for item in request.evidence}
    return sum(distinct.values()) / len(page.document.text)


async def test_the_budget_of_a_section_is_the_settings_and_grows_with_its_questions() -> None:
    one = PlannedSection(id="1", title="A", questions=("What fee do ships pay?",))
    more = one.model_copy(update={"questions": ("What fee do ships pay?", "Which class pays?", "Which rule is it?")})
    runs = Runs(research={"section_tokens": 600})
    (small,) = await requests(runs, Plan(title="A", sections=(one,)), MANUAL)
    (large,) = await requests(runs, Plan(title="A", sections=(more,)), MANUAL)
    assert 400 < tokens(small) <= 600
    assert 1_200 < tokens(large) <= 1_800


@pytest.mark.parametrize(("preset", "enough"), [("lean", False), ("full", True)])
async def test_with_the_full_preset_a_sixth_of_the_text_reaches_the_writers(preset: str, enough: bool) -> None:
    runs = Runs(preset=preset, research={"section_tokens": 300}, budget={"tokens": 100_000})
    made = await requests(runs, SECTIONS_OF_TWO, MANUAL)
    assert (retention(made, MANUAL[0]) >= 0.16) is enough


@pytest.mark.parametrize("preset", ["lean", "full"])
async def test_passages_leave_the_rest_of_the_budget_of_tokens_to_the_writing(preset: str) -> None:
    runs = Runs(preset=preset, budget={"tokens": 2_000})
    made = await requests(runs, SECTIONS_OF_TWO, MANUAL)
    assert 0 < sum(map(tokens, made)) <= 0.4 * 2_000


async def test_without_a_model_passages_cost_nothing_and_are_not_rationed() -> None:
    made = await requests(Runs(chat=False, budget={"tokens": 2_000}), SECTIONS_OF_TWO, MANUAL)
    assert sum(map(tokens, made)) > 2_000


# --- what is missing ------------------------------------------------------------------------------------------------


async def test_a_section_without_a_passage_is_left_out_and_its_length_goes_to_the_others() -> None:
    strange = PlannedSection(id="3", title="Zzyzx", questions=("Qwfp arst?",))
    plan = PLAN_OF_TWO.model_copy(update={"sections": (*PLAN_OF_TWO.sections, strange)})
    runs = Runs(report={"length": 800})
    sections = await run(runs, plan, question=Question(text="Neio luy?", language="en"))
    assert [section.id for section in sections] == ["1", "2"]
    assert runs.notices == ["section 'Zzyzx' was left out: no passage was found for it"]
    assert [request.length for request in runs.requested] == [400, 400]


async def test_what_a_writer_could_not_answer_or_write_is_told() -> None:
    runs = Runs()
    runs.reply = lambda request: {
        "text": f"It is so [@{_first(request)}].",
        "unanswered": ("How deep in winter?",),
        "unwritten": ("no reply",) if request.section.id == "2" else (),
    }
    await run(runs)
    assert runs.notices == [
        "not found in the passages read: How deep in winter?",
        "section 'Fees' was not written: no reply",
    ]


async def test_a_section_that_answers_nothing_is_no_section_of_the_report() -> None:
    runs = Runs()
    runs.reply = lambda request: (
        {"text": "", "unanswered": (FEES,)} if request.section.id == "2" else {"text": f"Deep [@{_first(request)}]."}
    )
    assert [section.id for section in await run(runs)] == ["1"]
    assert runs.notices == [f"not found in the passages read: {FEES}"]


async def test_where_no_section_has_an_answer_the_run_ends_without_evidence() -> None:
    runs = Runs()
    runs.reply = lambda request: {"text": " ", "unanswered": request.questions}
    with pytest.raises(NoEvidence) as raised:
        await run(runs)
    assert str(raised.value) == f"no source found answers: {DEPTH}; {FEES}"


async def test_without_a_passage_the_run_ends_without_evidence() -> None:
    with pytest.raises(NoEvidence, match="none of the 1 pages read has any text to cite"):
        await run(Runs(), pages=(source("s1"),))
    with pytest.raises(NoEvidence, match="nothing was found for: How is the harbour"):
        await run(Runs(), pages=())


# --- copies ---------------------------------------------------------------------------------------------------------


async def test_of_pages_that_say_the_same_only_the_best_is_cited() -> None:
    texts = [f"The fee of pier {n} is {n} crowns, as the board of the harbour has it." for n in range(9)]
    copy, original, other = source("s1", *texts), source("s2", *texts, tier=1), source("s3", "The fee is one crown.")
    pages = [copy, original, other]
    evidence = [item for _, items in pages for item in items]
    kept = await without_copies(evidence, [page for page, _ in pages])
    assert {item.source_id for item in kept} == {"s2", "s3"}
    runs = Runs()
    await run(runs, pages=pages)
    assert "s1" not in {item.source_id for request in runs.requested for item in request.evidence}


async def test_the_searches_made_for_a_section_are_one_more_question() -> None:
    section = PlannedSection(id="1", title="A", questions=("Is it risky?",))
    task = SearchTask(id="q1.1", query="class 42", section="1")
    plan = Plan(title="A", sections=(section,))
    alone = await requests(Runs(research={"section_tokens": 300}), plan, MANUAL)
    (helped,) = await requests(Runs(research={"section_tokens": 300}), plan, MANUAL, [task])
    assert any("class 42 " in item.quote for item in helped.evidence)
    assert not any("class 42 " in item.quote for made in alone for item in made.evidence)


@pytest.mark.parametrize("chat", [True, False])
async def test_passages_are_not_selected_by_the_event_loop(monkeypatch: pytest.MonkeyPatch, chat: bool) -> None:
    by: list[int] = []

    def recorded(*arguments: Any) -> list[Evidence]:
        by.append(threading.get_ident())
        return select(*arguments)

    monkeypatch.setattr(synthesize, "select", recorded)
    assert await requests(Runs(chat=chat), PLAN_OF_TWO, HARBOUR)
    assert threading.get_ident() not in by


async def test_the_spelling_that_an_engine_suggests_is_told_where_something_is_not_answered() -> None:
    task = SearchTask(id="1", query="harbor", round=1)
    found = [Found(id="1", task=task, suggestion="harbour"), Found(id="2", task=task, suggestion="arbour")]
    told = "did you mean: harbour"
    with pytest.raises(NoEvidence, match=f"nothing was found for: .*; {told}$"):
        await run(Runs(), pages=(), found=found)
    runs = Runs()
    runs.reply = lambda request: {"text": "", "unanswered": ("How deep?",)}
    with pytest.raises(NoEvidence, match=f"no source found answers: .*; {told}$"):
        await run(runs, found=found)
    runs = Runs()
    runs.reply = lambda request: {"text": f"Deep [@{_first(request)}].", "unanswered": ("How deep?",)}
    await run(runs, found=found)
    assert told in runs.notices
    runs = Runs()
    await run(runs, found=found)
    assert told not in runs.notices
    later = found[0].model_copy(update={"task": task.model_copy(update={"round": 2})})
    with pytest.raises(NoEvidence, match="nothing was found for: [^;]*$"):
        await run(Runs(), pages=(), found=[later])
