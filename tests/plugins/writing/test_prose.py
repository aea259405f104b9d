"""Model calls write sections from one book; without a usable text a section is an evidence brief."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from leadline._runtime.models.task_messages import instructions, render
from leadline._runtime.replies.parsing import parse
from leadline.citations import cited
from leadline.contracts import StageRun
from leadline.errors import CallFailed, CallRefused
from leadline.records import (
    Book,
    Conflict,
    DataPoint,
    Document,
    Evidence,
    Failure,
    Hit,
    Section,
    Source,
    SynthesisRequest,
)
from leadline.settings import Settings
from leadline.tasks import Task
from leadline.testing.context import FakeCall
from leadline_plugins.prompting.writing_tasks import (
    Inference,
    OpenQuestion,
    SectionText,
    StatedFigure,
    SynthesizeRequest,
    WrittenSections,
)
from leadline_plugins.writing.prose import (
    TASK,
    ProseSynthesizer,
    accept_after_retry,
    extended,
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
BOOK = Book(
    outline=(
        Section(id="1", title="The port", notes="Who paid", questions=(DUES,), evidence_ids=("late", "early")),
        Section(id="2", title="The channel", questions=(DREDGING,), evidence_ids=("other",)),
    ),
    evidence=EVIDENCE,
    sources=(source("s1", "Accounts"), source("s2", "Tides")),
    conflicts=(Conflict(about="the dues", evidence_ids=("late", "other"), primary="late"),),
)
REQUEST = SynthesisRequest(
    book=BOOK,
    sections=("1",),
    question="How did the port pay for its channel?",
    language="en",
    length=400,
    assumptions=("The port is Leith.",),
    scope="Leith until 1800",
)
WHOLE = REQUEST.model_copy(update={"sections": ("1", "2", "summary")})
FAILURE = Failure(kind="chat", provider="x", category="LLM", type="BadReply", message="no")
PAID, DREDGED = "It paid 12 pounds [2].", "It was dredged [3]."


def reply(**texts: str) -> WrittenSections:
    """Return a reply with these texts; the name of a section begins with `s`."""
    parts = (SectionText(id=name.removeprefix("s_"), text=text) for name, text in texts.items())
    return WrittenSections(sections=tuple(parts))


class Writer:
    """A run whose model gives these replies in turn."""

    def __init__(self, replies: list[WrittenSections | Exception], *, chat: bool = True) -> None:
        self.replies, self.chat, self.settings = replies, chat, Settings()
        self.asked: list[SynthesizeRequest] = []
        self.said: list[str] = []

    async def emit(self, name: str, data: Mapping[str, Any]) -> None:
        if name == "notice":
            self.said.append(data["message"])

    async def by_chat(self, task: str, role: str = "task") -> bool:
        return self.chat

    async def perform(self, task: Task[Any]) -> Any:
        self.asked.append(cast("SynthesizeRequest", task.inputs))
        given = self.replies.pop(0)
        if isinstance(given, Exception):
            raise given
        return given

    def now(self) -> datetime:
        return datetime(2026, 3, 1, 22, 30, tzinfo=UTC)


async def written(
    *replies: WrittenSections | Exception, request: SynthesisRequest = REQUEST, chat: bool = True
) -> tuple[dict[str, Section], Writer]:
    call, writer = FakeCall(), Writer([*replies], chat=chat)
    call.run = cast("StageRun", writer)
    made = await ProseSynthesizer().synthesize(request, call)
    return {section.id: section for section in made.sections}, writer


async def test_the_text_cites_the_passages_by_their_ids_and_unknown_numbers_are_told() -> None:
    text = "# The port\n\nThe dues brought 12 pounds [2]. There was a toll [1], too [9]."
    sections, writer = await written(reply(s_1=text))
    assert writer.said == ["section 'The port': citations of passages that do not exist were removed: 9"]
    assert sections["1"].text == "The dues brought 12 pounds [@late]. There was a toll [@early], too."


async def test_gaps_and_inferences_belong_to_their_sections_and_figures_to_those_that_cite_them() -> None:
    given = WrittenSections(
        sections=(SectionText(id="1", text=PAID), SectionText(id="2", text=DREDGED)),
        unanswered=(
            OpenQuestion(section="2", question=DREDGING),
            OpenQuestion(question=" "),
            OpenQuestion(question="None."),
        ),
        inferences=(Inference(section="x", inference="It was dear."),),
        figures=(
            StatedFigure(label="dues", value="12", unit="pounds", passage=2),
            StatedFigure(label="of no passage", value="3", passage=7),
        ),
    )
    sections, _ = await written(given, request=WHOLE.model_copy(update={"sections": ("1", "2")}))
    assert (sections["1"].unanswered, sections["2"].unanswered) == ((), (DREDGING,))
    assert (sections["1"].inferences, sections["2"].inferences) == (("It was dear.",), ())
    assert sections["1"].data_points == (DataPoint(label="dues", value="12", unit="pounds", evidence_id="late"),)
    assert not sections["2"].data_points


async def test_a_section_whose_passages_answer_nothing_has_no_text() -> None:
    given = WrittenSections(
        sections=(SectionText(id="1", text=""),), unanswered=(OpenQuestion(section="1", question=DUES),)
    )
    sections, _ = await written(given)
    assert not sections["1"].text
    assert sections["1"].unanswered == (DUES,)
    assert not sections["1"].unwritten


async def test_missing_sections_are_asked_for_beside_the_written_ones() -> None:
    sections, writer = await written(reply(s_1=PAID), reply(s_2=DREDGED, summary=PAID), request=WHOLE)
    assert {name: section.text for name, section in sections.items()} == {
        "1": "It paid 12 pounds [@late].",
        "2": "It was dredged [@other].",
        "summary": "It paid 12 pounds [@late].",
    }
    first, second = writer.asked
    assert [part.id for part in first.wanted] == ["1", "2", "summary"]
    assert [part.id for part in second.wanted] == ["2", "summary"]
    assert second.written == (SectionText(id="1", text=PAID),)
    assert not writer.said


async def test_a_section_that_two_replies_lack_is_a_brief() -> None:
    sections, writer = await written(reply(s_1=PAID), reply(s_1=PAID), request=WHOLE)
    assert set(cited(sections["2"].text or "")) == {"other"}
    assert sections["2"].unwritten == ("its text cites no passage",)
    assert "summary" not in sections
    assert writer.said == ["a summary, analysis or conclusion is missing (its text cites no passage)"]


@pytest.mark.parametrize("failed", [CallFailed(FAILURE), CallRefused(FAILURE)])
async def test_a_section_that_was_not_written_is_the_evidence_brief_with_the_reason(failed: CallFailed) -> None:
    sections, _ = await written(failed)
    assert set(cited(sections["1"].text or "")) <= {"late", "early"}
    assert sections["1"].unwritten == (FAILURE.text,)
    assert sections["1"].unsent == (("late", "early") if isinstance(failed, CallRefused) else ())


async def test_without_a_model_sections_are_evidence_briefs_and_nothing_is_announced() -> None:
    sections, writer = await written(request=WHOLE, chat=False)
    assert set(sections) == {"1", "2"}
    assert all(cited(section.text or "") and not section.unwritten for section in sections.values())
    assert not writer.said


def test_the_prompt_has_the_book_once_and_ends_with_what_to_write() -> None:
    text = task_inputs(REQUEST, "2026-03-01").as_text()
    order = [
        "Question: How did the port pay for its channel?",
        "Today: 2026-03-01",
        "- The port is Leith.",
        "Scope: Leith until 1800",
        "Section 1: The port (Who paid)",
        f"- {DUES}",
        "Section 2: The channel",
        "- the dues: [2] and [3]; [2] is the primary source",
        ": Accounts",
        "## Dues",
        "[1] The dues were:\n- a toll on coal",
        "## Dues > Income",
        "[2] The dues brought 12 pounds in 1790.",
        ": Tides",
        "[3] The channel was dredged",
        'Write now:\n{"sections": [{"id": "1", "words": 400, "passages": [2, 1]}]}',
    ]
    places = [text.find(part) for part in order]
    assert -1 not in places
    assert places == sorted(places)


def test_the_calls_of_a_report_begin_alike_up_to_what_they_write() -> None:
    inputs = task_inputs(WHOLE, "2026-03-01")
    asked = [extended(inputs, [name], ()) for name in ("1", "2")]
    asked.append(
        extended(inputs, ["summary"], [Section(id="1", title="", text="It paid [@late].", inferences=("So.",))])
    )
    prompts = [render(TASK.of(one), TASK.prompt) for one in asked]
    assert len({messages[0].text for messages in prompts}) == 1
    shared = prompts[0][1].text.partition("Write now")[0]
    assert prompts[1][1].text.startswith(shared)
    assert prompts[2][1].text.startswith(shared.rstrip())
    assert '<section id="1">\nIt paid [2].\n</section>' in prompts[2][1].text
    assert "no passage states:\n- So." in prompts[2][1].text


def test_the_instructions_have_an_example_that_fits_the_schema() -> None:
    assert TASK.example in instructions(TASK, TASK.prompt)
    assert WrittenSections.model_validate_json(TASK.example).figures[0].passage == 1


def faults(text: str, *unanswered: str) -> str:
    questions = tuple(OpenQuestion(question=question) for question in unanswered)
    given = WrittenSections(sections=(SectionText(id="1", text=text),), unanswered=questions)
    return reply_faults(task_inputs(REQUEST, "2026-03-01"), given)


def test_a_text_that_cites_no_passage_is_asked_for_again() -> None:
    assert "'1' cites no passage" in faults("The dues brought 12 pounds.")
    assert "'1' cites no passage" in faults("The dues brought 12 pounds [8].")
    assert "it has no text" in faults("")
    assert not faults("", DUES)
    assert not faults("The dues brought 12 pounds [2].")


def test_a_reply_with_none_of_the_wanted_ids_is_asked_for_again() -> None:
    assert "(1, 2, summary)" in reply_faults(task_inputs(WHOLE, ""), reply(s_7=PAID))
    assert not reply_faults(task_inputs(WHOLE, ""), reply(s_2=DREDGED))


GERMAN = (
    "Die Abgaben brachten dem Hafen im Jahr zwölf Pfund ein, und die Rinne wurde davon auf neun Faden vertieft [2]. "
)


def test_a_text_in_another_language_is_asked_for_again_and_never_taken() -> None:
    assert "is in German" in faults(GERMAN * 3)
    assert accept_after_retry(task_inputs(REQUEST, ""), reply(s_1=GERMAN * 3)) is None


def test_a_text_with_one_paragraph_in_another_language_is_taken_the_second_time() -> None:
    english = (
        "The dues brought twelve pounds in that year, and the channel was dredged to nine fathoms with it [2]. " * 5
    )
    text = f"{english}\n\n{GERMAN * 2}"
    assert "is in German" in faults(text)
    made = accept_after_retry(task_inputs(REQUEST, ""), reply(s_1=text))
    assert made
    assert "German" in made[1]


def test_a_reply_of_prose_without_json_is_the_text() -> None:
    said = (
        "The dues brought 12 pounds in the year 1790, and the channel was dredged to nine fathoms with them [2]. " * 3
    )
    assert parse(said, WrittenSections).sections == (SectionText(text=said.strip()),)
