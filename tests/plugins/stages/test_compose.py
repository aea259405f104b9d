"""What stands around the sections is taken where it cites what is there."""

from __future__ import annotations

from leadline.door.keys import plain as data
from leadline.findings import Digest, NextSearch, Plan, PlannedSection, Question, Review
from leadline.records import Section
from leadline.schemas import schema_of
from leadline_plugins.drafts import Draft, Known, normalised
from leadline_plugins.stages.compose import hints, texts_only
from leadline_plugins.stages.composing import (
    Taken,
    drafted,
    mended,
    mended_whole,
    taken,
    unusable,
    unusable_whole,
)
from leadline_plugins.stages.write import body
from leadline_plugins.tasks.writing import ChangedSection, Composition, WriteRequest

SOUND = "The bay is deep. [@e1]"
STANDS = Section(id="1", title="A", text=f"{SOUND} And wide. [@e2]", evidence_ids=("e1", "e2"))


def read(text: str, title: str) -> Draft:
    return normalised(text, Known.of({"e1", "e2", "e3"}), (title,))


def change(text: str, title: str = "A", name: str = "1") -> Taken:
    return taken(Composition(sections=(ChangedSection(id=name, title=title, text=text),)), (STANDS,), read)


def composed(summary: str) -> Composition:
    return taken(Composition(title="Depth", summary=summary), (STANDS,), read).composition


def test_citations_of_what_is_not_there_go_and_the_text_stays() -> None:
    assert composed("The bay is deep. [@e1][@e9]").summary == SOUND


def test_a_text_that_cites_nothing_is_not_taken() -> None:
    assert composed("This is known. This is known. This is known.").summary == ""
    assert composed("The bay is deep. [@e9]").summary == ""


def test_a_change_that_loses_citations_is_not_taken_and_told() -> None:
    for lossy in ("The bay is shallow.", SOUND, f"{SOUND} [@e3]"):
        refused = change(lossy)
        assert refused.composition.sections == ()
        assert refused.told == ("section 'A' stands as it was, for its citations were lost when it was changed",)


def test_a_change_that_loses_a_figure_or_a_name_that_stands_nowhere_else_is_not_taken_and_told() -> None:
    told = "The bay of Elmford is deep [@e1]. It measures 9.5 fathoms by Rowan Pier [@e2]."
    old, other = (
        Section(id="1", title="Depth", text=told),
        Section(id="2", title="B", text="Rowan Pier is old [@e1]."),
    )

    def tried(text: str) -> Taken:
        return taken(Composition(sections=(ChangedSection(id="1", text=text),)), (old, other), read)

    assert tried("The bay of Elmford is deep [@e1]. It measures 9.5 fathoms [@e2].").told == (), (
        "said in another section"
    )
    for text, gone in (
        ("The bay of Elmford is deep [@e1]. It was measured by Rowan Pier [@e2].", "9.5"),
        ("The bay is deep [@e1]. It measures 9.5 fathoms by Rowan Pier [@e2].", "Elmford"),
    ):
        assert tried(text).told == (
            f"section 'Depth' stands as it was, for it lacked what stands there of {gone} when it was changed",
        )


def test_a_change_that_keeps_them_is_taken_and_the_rest_of_the_section_stands() -> None:
    (section,) = change("Deep and wide. [@e2][@e1]", title="B").composition.sections
    assert section == ChangedSection(id="1", title="B", text="Deep and wide. [@e2][@e1]")
    whole = body(Composition(sections=(section,)), (STANDS,), "?", "en")
    assert whole == (STANDS.model_copy(update={"title": "B", "text": "Deep and wide. [@e2][@e1]"}),)


CHEESE = "The moon is made of cheese, and 4,000 zoos closed in 2023."


def test_a_change_that_adds_what_nobody_cites_is_not_taken_and_told() -> None:
    for added in (f"{STANDS.text} {CHEESE}", f"{CHEESE} {STANDS.text}", f"{STANDS.text}\n\n{CHEESE}"):
        refused = change(added)
        assert refused.composition.sections == ()
        assert refused.told == (
            "section 'A' stands as it was, for what was added to it cites nothing when it was changed",
        )


def test_of_a_change_that_loses_something_the_paragraphs_that_lose_nothing_are_taken_and_that_is_told() -> None:
    old = Section(id="1", title="A", text=f"{SOUND}\n\nAnd wide, they say. [@e2]\n\nIt ebbs. [@e3]")
    other = Section(id="2", title="Tides of the bay", text="It ebbs. [@e3]")

    def tried(text: str) -> Taken:
        return taken(Composition(sections=(ChangedSection(id="1", text=text),)), (old, other), read)

    made = tried(f"{SOUND}\n\nAnd wide. [@e2]\n\nSee “Tides of the bay”.")
    assert [one.text for one in made.composition.sections] == [f"{SOUND}\n\nAnd wide. [@e2]\n\nIt ebbs. [@e3]"]
    assert made.told == ("section 'A' stands in part as it was, for its citations were lost when it was changed",)
    for text in (
        f"{SOUND} [@e2]\n\nAnd wide.\n\nSee “Tides of the bay”.",
        f"{SOUND}\n\nAnd wide. [@e2]",
        f"{SOUND}\n\nA.\n\nB.",
    ):
        assert tried(text).composition.sections == (), "moved, one paragraph less, nothing changed that keeps"


def test_a_change_may_lead_to_another_section_and_say_less() -> None:
    others = (STANDS, Section(id="2", title="Tides of the bay", text="It ebbs. [@e3]"))
    for more, fits in (
        ("See “Tides of the bay” for what moves it.", True),
        ("See “Tides of the bay” for 40 more.", False),
        ("It moves. [@e3]", True),
    ):
        made = Composition(sections=(ChangedSection(id="1", text=f"{STANDS.text} {more}"),))
        assert bool(taken(made, others, read).composition.sections) is fits


def asking() -> WriteRequest:
    question, plan = Question(text="How deep is the bay of the harbour?", language="en"), Plan(title="A", sections=())
    return WriteRequest(question=question, plan=plan, sections=(STANDS,), evidence=())


def test_all_faults_of_a_composition_are_told_at_once_and_what_is_of_use_is_kept() -> None:
    made = Composition(summary="I'm sorry, but I cannot write this.", conclusion="It is deep, and wide.", title="Depth")
    told = unusable(asking(), made)
    assert "the summary: it refuses" in told
    assert "the conclusion: it cites none of the passages: put the id of its passage right behind" in told
    sound = made.model_copy(update={"conclusion": "It is deep [@e1]."})
    assert unusable(asking(), sound.model_copy(update={"summary": ""})) == ""
    assert mended(asking(), sound) == (
        sound.model_copy(update={"summary": ""}),
        "the summary was left out, for the model did not write it",
    )


def test_the_form_of_a_reply_shows_nothing_of_what_the_house_keeps() -> None:
    assert set(schema_of(Composition)["$defs"]) == {"ChangedSection"}  # type: ignore[arg-type]
    assert list(schema_of(ChangedSection)["properties"]) == ["id", "title", "text"]  # type: ignore[arg-type]


def test_an_empty_title_keeps_the_old_one() -> None:
    for title in ("", "  ", "# "):
        (section,) = change(STANDS.text or "", title=title).composition.sections
        assert section.title == "A"


def test_a_section_that_nobody_wrote_is_not_taken() -> None:
    assert change(STANDS.text or "", name="9") == Taken(Composition())
    assert change("") == Taken(Composition())


def test_marks_of_its_own_are_told_with_the_part() -> None:
    both = Composition(summary=f"Deep [1]. {SOUND}", conclusion=f"Wide [2]. {SOUND}")
    found = taken(both, (STANDS,), read)
    said = "citation marks or lists of references of the model's own were left out (1), for they name no passage"
    bare = "and 1 of its statements cite nothing without them"
    assert found.told == tuple(f"the text of '{part}': {said}, {bare}" for part in ("summary", "conclusion"))
    assert found.composition.summary == f"Deep.\n\n{SOUND}"


def test_the_last_digest_is_given_as_hints_that_cite_nothing() -> None:
    review = Review(priority_gaps=("How wide?",))
    assert hints(Digest(synthesis="It is deep [@e1].", review=review)) == {
        "synthesis": "It is deep.",
        "gaps": ("How wide?",),
    }
    assert hints(None) == {}


def test_gaps_are_those_that_the_writers_of_the_sections_tell() -> None:
    digest = Digest(synthesis="It is deep.", review=Review(priority_gaps=("How wide?",)))
    width = Section(id="1", title="Width", text="It is 9 m wide [@e1].")
    depth = Section(id="2", title="Depth", text="It is deep [@e1].", unanswered=("No figure is given.",))
    assert hints(digest, (width, depth)) == {"synthesis": "It is deep.", "gaps": ("Depth: No figure is given.",)}
    assert hints(digest, (width,))["gaps"] == (), "the section answers what the review missed"
    assert hints(None, (width, depth)) == {"gaps": ("Depth: No figure is given.",)}


def test_of_the_plan_a_chat_is_shown_the_title() -> None:
    plan = Plan(title="A", queries=(NextSearch(query="a"),), sections=(PlannedSection(id="1", title="A", goal="why"),))
    asked = texts_only(WriteRequest(question=Question(text="?"), plan=plan, sections=(), today="2026-11-23"))
    assert data(asked, "asked") == {
        "question": {"text": "?"},
        "plan": {"title": "A", "sections": []},
        "sections": [],
        "today": "2026-11-23",
    }


def test_a_chat_is_asked_the_same_whatever_was_told_of_the_sections() -> None:
    def asked(spent: str) -> WriteRequest:
        section = Section(
            id="1",
            title="A",
            text="It is so [@e1].",
            notices=(f"{spent} of 5 taken",),
            unsent=(spent,),
            unwritten=(f"the budget is spent: {spent} of 5 calls",),
        )
        question, plan = Question(text="Is it so?"), Plan(title="A", sections=())
        return WriteRequest(question=question, plan=plan, sections=(section,), evidence=())

    assert texts_only(asked("4")) == texts_only(asked("5"))
    assert texts_only(asked("4")).sections[0].text == "It is so [@e1]."


def test_a_heading_that_the_summary_has_already_goes() -> None:
    read = drafted(())  # the ids do not matter here
    for first in ("### Executive Summary", "## Summary", "**Key findings**"):
        assert read(f"{first}\n\nIt is deep.", "summary").text == "It is deep."


def test_a_runaway_summary_is_cut_and_told_and_of_a_whole_report_what_refuses_stands_as_it_was() -> None:
    long = "\n\n".join(f"Sounding {number} found it deep by the mole, and wide [@e1]." for number in range(60))
    made = Composition(summary=long, conclusion="It is deep [@e1].")
    assert unusable(asking(), made).startswith("the summary: it is 660 words long, and about 120 were asked for")
    found = mended(asking(), made)
    assert found is not None
    assert found[1] == "the summary: it was far longer than asked, and is cut"
    assert found[0].summary == "\n\n".join(long.split("\n\n")[:16])
    refused = ChangedSection(id="1", text="I'm sorry, but I cannot write this section.")
    whole = made.model_copy(update={"summary": "", "sections": (refused, ChangedSection(id="2", text="Deep [@e1]."))})
    assert unusable_whole(asking(), whole).startswith("section 1: it refuses")
    kept = mended_whole(asking(), whole)
    assert kept is not None
    assert [section.id for section in kept[0].sections] == ["2"]
