"""What a section's writer is shown and may reply: gaps are told, and rejected passages are never quoted."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest

from leadline.citations import cited
from leadline.contracts import Run
from leadline.errors import CallFailed, CallRefused, NoEvidence
from leadline.findings import EVIDENCE, PLAN, QUESTION, SECTIONS, SOURCES, TASKS, Plan, PlannedSection, Question
from leadline.records import Document, Evidence, Failure, Hit, Section, SectionRequest, Source
from leadline.tasks import Task
from leadline.testing.context import FakeCall
from leadline_plugins.stages.synthesize import Synthesis
from leadline_plugins.synthesizers.parts import Part
from leadline_plugins.synthesizers.prose import ASK, Prose, asked_for
from leadline_plugins.tasks.sorting import Sorted, SortedSection
from leadline_plugins.tasks.writing import SynthesizeRequest, Written

FILLING = "It was written down in the books of the year by the clerk of the works, who kept them in good order."
QUOTES = [f"Port dues brought {n} pounds. {FILLING}" for n in range(12)]
QUOTES += [f"The channel was dredged to {n} fathoms. {FILLING}" for n in range(12)]
PIECES = tuple(
    Evidence(id=f"e{n}", source_id="s1", quote=quote * 3, span=(0, 9), claim="") for n, quote in enumerate(QUOTES)
)
SOURCE = Source(id="s1", hit=Hit(url="https://example.org/a", title="Accounts"), document=Document(text=""), tier=2)
DUES, DREDGING = "What did the port dues bring?", "How was the channel dredged?"
FAILURE = Failure(kind="chat", provider="x", category="LLM", type="BadReply", message="no")
REQUEST = SectionRequest(
    section=Section(id="1", title="The port", evidence_ids=tuple(item.id for item in PIECES)),
    evidence=PIECES,
    sources=(SOURCE,),
    outline=(Section(id="1", title="The port"), Section(id="2", title="Tides")),
    question="How did the port pay for its channel?",
    language="en",
    length=1_000,
    questions=(DUES, DREDGING),
)
Says = Callable[[SynthesizeRequest], Written | CallFailed]


class Writers:
    """A run whose writers say what they are told to."""

    settings = SimpleNamespace(report=SimpleNamespace(length=0), budget=SimpleNamespace(tokens=400_000))

    def __init__(self, says: Says, plan: Sorted | None = None) -> None:
        self.says, self.plan = says, plan
        self.asked: list[SynthesizeRequest] = []
        self.notices: list[str] = []

    async def by_chat(self, task: str, role: str = "task") -> bool:
        return task != "place"

    async def perform(self, task: Task[Any]) -> Any:
        if task.name == "sort":
            return self.plan
        assert isinstance(task.inputs, SynthesizeRequest)
        self.asked.append(task.inputs)
        reply = self.says(task.inputs)
        if isinstance(reply, CallFailed):
            raise reply
        return reply

    async def each(self, items: Any, do: Any) -> list[Any]:
        return [await do(item) for item in items]

    async def emit(self, kind: str, data: Any) -> None:
        self.notices.append(data["message"])

    async def synthesize(self, request: SectionRequest) -> Section:
        call = FakeCall()
        call.run = self
        return await Prose().synthesize(request, call)

    def now(self) -> datetime:
        return datetime(2026, 3, 1, 22, 30, tzinfo=UTC)


def first_cited(asked: SynthesizeRequest) -> Written:
    return Written(text=f"It paid. [@{asked.passages[0].id}]")


async def test_each_part_has_its_questions_the_others_and_the_day() -> None:
    run = Writers(first_cited)
    await run.synthesize(REQUEST)
    assert [(one.questions, one.others, one.today) for one in run.asked] == [
        ((DUES,), (DREDGING,), "2026-03-01"),
        ((DREDGING,), (DUES,), "2026-03-01"),
    ]


async def test_one_text_is_asked_all_questions() -> None:
    run = Writers(first_cited)
    await run.synthesize(REQUEST.model_copy(update={"length": 400}))
    assert [(one.questions, one.others) for one in run.asked] == [((DUES, DREDGING), ())]


def test_a_writer_is_told_a_source_once_and_what_stands_over_a_passage_where_it_does_not_say_it() -> None:
    pieces = (
        PIECES[0].model_copy(update={"under": "Ports of Germany › Port dues"}),
        PIECES[1].model_copy(update={"under": "Port dues"}),
    )
    asked = asked_for(Part(REQUEST.model_copy(update={"evidence": pieces})), "2026-03-01")
    assert [(one.id, one.title, one.tier) for one in asked.sources] == [("s1", "Accounts", 2)]
    assert [(one.source_id, one.source, one.under) for one in asked.passages] == [
        ("s1", "", "Ports of Germany"),
        ("s1", "", ""),
    ]


def test_a_writer_is_told_what_holds_of_the_question_and_what_stands_before_what_names_nobody() -> None:
    text = "- Ashby v. Lorn\n  - Outcome: 4 crowns.\n  - Lorn paid them.\n"
    source = SOURCE.model_copy(update={"document": Document(text=text)})
    quotes = ("- Outcome: 4 crowns.", "- Lorn paid them.")
    pieces = tuple(
        Evidence(id=f"e{at}", source_id="s1", quote=quote, span=(text.index(quote), text.index(quote) + 9), claim="")
        for at, quote in enumerate(quotes)
    )
    told = {"evidence": pieces, "sources": (source,), "assumptions": ("Crowns of 1931 are meant.",)}
    asked = asked_for(Part(REQUEST.model_copy(update=told)), "2026-03-01")
    assert asked.question.assumptions == ("Crowns of 1931 are meant.",)
    assert [one.before for one in asked.passages] == ["- Ashby v. Lorn", ""]


async def test_what_the_passages_do_not_answer_stands_beside_the_text() -> None:
    run = Writers(lambda asked: first_cited(asked).model_copy(update={"unanswered": f"Not  {asked.questions[0]}"}))
    made = await run.synthesize(REQUEST)
    assert made.unanswered == (f"Not {DUES}", f"Not {DREDGING}")
    assert made.unwritten == made.unsent == ()


@pytest.mark.parametrize("text", [""])
async def test_passages_that_a_writer_rejects_are_not_quoted(text: str) -> None:
    made = await Writers(lambda asked: Written(text=text, unanswered="All of it.")).synthesize(REQUEST)
    assert (made.text, made.unanswered, made.unwritten) == ("", ("All of it.",), ())


async def test_in_place_of_a_part_that_failed_stand_its_passages_that_the_other_does_not_cite() -> None:
    def says(asked: SynthesizeRequest) -> Written | CallFailed:
        if asked.questions == (DREDGING,):
            return CallRefused(FAILURE)
        return Written(text="".join(f"[@{passage.id}]" for passage in asked.passages[:3]).join(["It paid. ", ""]))

    alike = tuple(one.model_copy(update={"quote": f"{n} It rained. {FILLING * 4}"}) for n, one in enumerate(PIECES))
    made = await Writers(says).synthesize(REQUEST.model_copy(update={"evidence": alike, "length": 3_000}))
    names = cited(made.text or "")
    assert names[:3] == ["e0", "e1", "e2"]
    assert len(names) == len(set(names)) > 3
    assert made.unsent == (), "the other part was shown all of them"
    assert (made.unwritten, made.notices) == (
        (),
        (f"the part of section 'The port' on '{DREDGING}' is quotes, for it was not written ({FAILURE.text})",),
    )


async def test_a_part_without_a_heading_of_its_own_stands_under_its_question_where_another_has_one() -> None:
    def says(asked: SynthesizeRequest) -> Written:
        head = "### What it brought\n\n" if asked.questions == (DUES,) and heads else ""
        return Written(text=f"{head}It paid. [@{asked.passages[0].id}]")

    heads = True
    text = (await Writers(says).synthesize(REQUEST)).text or ""
    assert [line for line in text.split("\n") if line.startswith("#")] == ["### What it brought", f"### {DREDGING}"]
    heads = False
    assert "#" not in ((await Writers(says).synthesize(REQUEST)).text or "")


@pytest.mark.parametrize("before", ["", "It paid at first. [@e1]\n\n"])
async def test_quotes_stand_under_the_question_of_their_part_and_not_under_the_heading_of_another(before: str) -> None:
    def says(asked: SynthesizeRequest) -> Written | CallFailed:
        if asked.questions == (DREDGING,):
            return CallFailed(FAILURE)
        return Written(text=f"{before}### What it brought\n\nIt paid. [@e0]")

    text = (await Writers(says).synthesize(REQUEST)).text or ""
    assert [line for line in text.split("\n") if line.startswith("#")] == ["### What it brought", f"### {DREDGING}"]
    assert text.split(f"### {DREDGING}")[1].strip()


async def test_in_place_of_a_text_stands_nothing_of_a_page_that_names_nothing_of_what_the_question_names() -> None:
    def page(name: str, text: str) -> Source:
        return SOURCE.model_copy(update={"id": name, "document": Document(text=text)})

    def piece(name: str, source: str, quote: str) -> Evidence:
        return PIECES[0].model_copy(update={"id": name, "source_id": source, "quote": quote})

    evidence = (
        piece("a", "s1", "It brought nine pounds."),
        piece("b", "s2", "A rover is planned for the moon."),
        piece("c", "s3", "埃尔姆福德港收费九英镑。"),
    )
    sources = (page("s1", "The port of Elmford."), page("s2", "Rovers."), page("s3", "埃尔姆福德港。"))
    asked = REQUEST.model_copy(
        update={"evidence": evidence, "sources": sources, "question": "How did the port of Elmford pay for itself?"}
    )
    run = Writers(lambda asked: CallFailed(FAILURE))
    assert cited((await run.synthesize(asked)).text or "") == ["a", "c"]
    unnamed = asked.model_copy(update={"question": "How did the port pay for itself?"})
    assert cited((await run.synthesize(unnamed)).text or "") == ["a", "b", "c"]


async def test_two_parts_that_failed_quote_nothing_twice_and_what_no_writer_saw_is_unsent() -> None:
    made = await Writers(lambda asked: CallRefused(FAILURE)).synthesize(REQUEST)
    names = cited(made.text or "")
    assert len(names) == len(set(names)) > 0
    assert set(made.unsent) == {item.id for item in PIECES}


def test_a_text_that_cites_nothing_and_tells_no_gap_is_unusable() -> None:
    assert ASK.check
    asked = asked_for(Part(REQUEST), "2026-03-01")
    told = "it cites none of the passages: put the id of its passage right behind each statement, as [@e0] or"
    for text in ("", "It paid [1].", "It paid [@x9]."):
        wrong = ASK.check(asked, Written(text=text))
        assert wrong.startswith(told)
        assert wrong.endswith("where the passages do not answer, `text` is empty and `unanswered` says so)")
        assert bool(ASK.check(asked, Written(text=text, unanswered="All."))) == bool(text), "it is not believed"
    assert ASK.check(asked, Written(text="It paid (@e3).", unanswered="When.")) == ""


# --- the stage ----------------------------------------------------------------------------------------------------

DUES_SECTION, TIDES = PlannedSection(id="1", title="Dues"), PlannedSection(id="2", title="Tides")
PLANNED = Sorted(
    sections=(
        SortedSection(section=DUES_SECTION, evidence_ids=("e0", "e1")),
        SortedSection(section=TIDES, evidence_ids=("e12",)),
    )
)


async def written(says: Says) -> tuple[tuple[Section, ...], list[str]]:
    run = Writers(says, PLANNED)
    plan = Plan(title="The port", sections=(DUES_SECTION, TIDES))
    question = Question(text="How did the port pay?", language="en")
    findings: Any = {QUESTION: question, PLAN: plan, EVIDENCE: PIECES, SOURCES: (SOURCE,), TASKS: ()}
    await Synthesis().run(findings, cast("Run", run))
    return findings[SECTIONS], run.notices


async def test_a_section_that_nothing_answers_is_left_out_and_named() -> None:
    sections, notices = await written(
        lambda asked: Written(text="", unanswered="Nothing on tides.") if asked.title == "Tides" else first_cited(asked)
    )
    assert [section.title for section in sections] == ["Dues"]
    assert notices == [
        "section 'Tides' was left out, for nothing that was found answers it: Nothing on tides",
    ]


async def test_a_gap_in_a_section_is_told() -> None:
    sections, notices = await written(
        lambda asked: first_cited(asked).model_copy(update={"unanswered": "No year." if asked.title == "Dues" else ""})
    )
    assert [section.title for section in sections] == ["Dues", "Tides"]
    assert notices == ["section 'Dues' leaves open, by the passages its writer had: No year"]


async def test_where_no_section_is_answered_there_is_no_evidence() -> None:
    with pytest.raises(NoEvidence, match=r"nothing that was found answers the question: Nothing on it$"):
        await written(lambda asked: Written(text="", unanswered="Nothing on it."))


async def test_where_the_call_fails_the_section_is_quotes_and_stands() -> None:
    sections, notices = await written(lambda asked: CallFailed(FAILURE))
    assert [section.unanswered for section in sections] == [(), ()]
    assert notices == [f"sections 'Dues', 'Tides' are quotes, for they were not written ({FAILURE.text})"]
