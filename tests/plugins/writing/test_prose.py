"""One call writes a section from its numbered passages; without a usable text the section is an evidence brief."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from leadline._runtime.models.task_messages import instructions, render
from leadline._runtime.replies.parsing import parse
from leadline.citations import cited
from leadline.contracts import Run
from leadline.errors import CallFailed, CallRefused
from leadline.records import DataPoint, Document, Evidence, Failure, Hit, Section, SectionRequest, Source
from leadline.tasks import Task
from leadline.testing.context import FakeCall
from leadline_plugins.prompting.numbered_passages import ids_by_number
from leadline_plugins.prompting.writing_tasks import StatedFigure, SynthesizeRequest, WrittenSection
from leadline_plugins.writing.prose import (
    CITES_NOTHING,
    TASK,
    ProseSynthesizer,
    accept_after_retry,
    reply_faults,
    task_inputs,
)

DUES, DREDGING = "What did the port dues bring?", "How was the channel dredged?"


def passage(name: str, source: str, start: int, quote: str, **more: Any) -> Evidence:
    return Evidence(id=name, source_id=source, quote=quote, span=(start, start + len(quote)), **more)


def source(name: str, title: str) -> Source:
    return Source(id=name, hit=Hit(url=f"https://example.org/{name}", title=title), document=Document(text=""))


EVIDENCE = (
    passage("late", "s1", 900, "The dues brought 12 pounds in 1790.", path=("Dues", "Income")),
    passage("other", "s2", 0, "The channel was dredged to 9 fathoms.", path=("Works",)),
    passage("early", "s1", 100, "- a toll on coal", path=("Dues",), lead="The dues were:"),
)
REQUEST = SectionRequest(
    section=Section(id="1", title="The port", notes="How it was paid for", evidence_ids=("late", "other", "early")),
    evidence=EVIDENCE,
    sources=(source("s1", "Accounts"), source("s2", "Tides")),
    outline=(Section(id="1", title="The port", notes="How it was paid for"), Section(id="2", title="The town")),
    question="How did the port pay for its channel?",
    language="en",
    length=400,
    questions=(DUES, DREDGING),
    assumptions=("The port is Leith.",),
)
FAILURE = Failure(kind="chat", provider="x", category="LLM", type="BadReply", message="no")


class Writer:
    """A run whose model replies what it is told to."""

    def __init__(self, reply: WrittenSection | Exception, *, chat: bool = True) -> None:
        self.reply, self.chat = reply, chat
        self.asked: list[SynthesizeRequest] = []
        self.said: list[str] = []

    async def emit(self, name: str, data: Mapping[str, Any]) -> None:
        self.said.append(data["message"])

    async def by_chat(self, task: str, role: str = "task") -> bool:
        return self.chat

    async def perform(self, task: Task[Any]) -> Any:
        self.asked.append(cast("SynthesizeRequest", task.inputs))
        if isinstance(self.reply, Exception):
            raise self.reply
        return self.reply

    def now(self) -> datetime:
        return datetime(2026, 3, 1, 22, 30, tzinfo=UTC)


async def written(reply: WrittenSection | Exception, *, chat: bool = True, said: list[str] | None = None) -> Section:
    call, writer = FakeCall(), Writer(reply, chat=chat)
    writer.said = writer.said if said is None else said
    call.run = cast("Run", writer)
    return await ProseSynthesizer().synthesize(REQUEST, call)


async def test_the_text_cites_the_passages_by_their_ids_and_unknown_numbers_are_told() -> None:
    said: list[str] = []
    section = await written(
        WrittenSection(text="# The port\n\nThe dues brought 12 pounds [2]. There was a toll [1], too [9]."), said=said
    )
    assert said == ["section 'The port': citations of passages that do not exist were removed: 9"]
    assert section.text == "The dues brought 12 pounds [@late]. There was a toll [@early], too."


async def test_gaps_inferences_and_figures_are_fields() -> None:
    figures = (
        StatedFigure(label="dues", value="12", unit="pounds", passage=2),
        StatedFigure(label="of no passage", value="3", passage=7),
    )
    section = await written(
        WrittenSection(
            text="It paid [2].", unanswered=(DREDGING, " ", "None."), inferences=("It was dear.",), figures=figures
        )
    )
    assert section.unanswered == (DREDGING,)
    assert section.inferences == ("It was dear.",)
    assert section.data_points == (DataPoint(label="dues", value="12", unit="pounds", evidence_id="late"),)


async def test_a_section_whose_passages_answer_nothing_has_no_text() -> None:
    section = await written(WrittenSection(text="", unanswered=(DUES, DREDGING)))
    assert not section.text
    assert section.unanswered == (DUES, DREDGING)
    assert not section.unwritten


@pytest.mark.parametrize("failed", [CallFailed(FAILURE), CallRefused(FAILURE)])
async def test_a_section_that_was_not_written_is_the_evidence_brief_with_the_reason(failed: CallFailed) -> None:
    section = await written(failed)
    assert set(cited(section.text or "")) & {"late", "other", "early"}
    assert section.unwritten == (FAILURE.text,)
    assert section.unsent == (("late", "other", "early") if isinstance(failed, CallRefused) else ())


async def test_without_a_model_the_section_is_the_evidence_brief_and_nothing_is_announced() -> None:
    section = await written(WrittenSection(text=""), chat=False)
    assert cited(section.text or "")
    assert not section.unwritten


def test_the_prompt_groups_numbered_passages_under_their_source_and_headings() -> None:
    text = task_inputs(REQUEST, "2026-03-01").as_text()
    order = [
        "Question: How did the port pay for its channel?",
        "Today: 2026-03-01",
        "- The port is Leith.",
        "- The port: How it was paid for",
        "- The town",
        "Write the section: The port",
        f"- {DUES}",
        "Length: about 400 words",
        ": Accounts",
        "## Dues",
        "[1] The dues were:\n- a toll on coal",
        "## Dues > Income",
        "[2] The dues brought 12 pounds in 1790.",
        ": Tides",
        "[3] The channel was dredged",
    ]
    places = [text.find(part) for part in order]
    assert -1 not in places
    assert places == sorted(places)


def test_sections_of_a_report_share_the_beginning_of_their_prompts() -> None:
    other = REQUEST.model_copy(
        update={"section": Section(id="2", title="The town"), "questions": ("Who lived there?",)}
    )
    one, two = (
        render(TASK.of(task_inputs(request, "2026-03-01")), TASK.prompt)[1].text for request in (REQUEST, other)
    )
    shared = one[: one.index("Write the section")]
    assert "- The town" in shared
    assert two.startswith(shared)


def test_the_instructions_have_at_most_25_lines_and_an_example_that_fits_the_schema() -> None:
    assert len(TASK.prompt.strip().splitlines()) <= 25
    assert TASK.example in instructions(TASK, TASK.prompt)
    assert WrittenSection.model_validate_json(TASK.example).figures[0].passage == 1


def check(text: str, *unanswered: str) -> str:
    return reply_faults(task_inputs(REQUEST, "2026-03-01"), WrittenSection(text=text, unanswered=unanswered))


def test_a_text_that_cites_no_passage_is_asked_for_again() -> None:
    assert CITES_NOTHING in check("The dues brought 12 pounds.")
    assert CITES_NOTHING in check("The dues brought 12 pounds [8].")
    assert CITES_NOTHING in check("")
    assert not check("", DUES)
    assert not check("The dues brought 12 pounds [2].")


GERMAN = (
    "Die Abgaben brachten dem Hafen im Jahr zwölf Pfund ein, und die Rinne wurde davon auf neun Faden vertieft [2]. "
)


def test_a_text_in_another_language_is_asked_for_again_and_never_taken() -> None:
    assert "is in German" in check(GERMAN * 3)
    assert accept_after_retry(task_inputs(REQUEST, ""), WrittenSection(text=GERMAN * 3)) is None


def test_a_text_with_one_paragraph_in_another_language_is_taken_the_second_time() -> None:
    english = (
        "The dues brought twelve pounds in that year, and the channel was dredged to nine fathoms with it [2]. " * 5
    )
    text = f"{english}\n\n{GERMAN * 2}"
    assert "is in German" in check(text)
    made = accept_after_retry(task_inputs(REQUEST, ""), WrittenSection(text=text))
    assert made
    assert "German" in made[1]


def test_passages_that_exceed_the_context_of_a_model_are_left_out_from_the_worst() -> None:
    asked = task_inputs(REQUEST, "2026-03-01")
    smaller = TASK.shrink and TASK.shrink(asked)
    assert isinstance(smaller, SynthesizeRequest)
    assert ids_by_number(smaller.sources) == {2: "late"}
    assert TASK.shrink
    assert TASK.shrink(smaller) is None


def test_a_reply_of_prose_without_json_is_the_text() -> None:
    said = (
        "The dues brought 12 pounds in the year 1790, and the channel was dredged to nine fathoms with them [2]. " * 3
    )
    assert parse(said, WrittenSection).text == said.strip()
