"""The embedded provider over a small world of documents."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadline.errors import Unsupported
from leadline.findings import Digest, Plan, PlannedSection, Question
from leadline.records import Document, Evidence, Hit, Record, Section, Source
from leadline.schemas import schema_of
from leadline.tasks import Task
from leadline.testing.context import FakeCall
from leadline_plugins.ai.embedded.digest import digest
from leadline_plugins.ai.embedded.extract import extract
from leadline_plugins.ai.embedded.plan import plan
from leadline_plugins.ai.embedded.provider import Embedded
from leadline_plugins.ai.embedded.query import query
from leadline_plugins.ai.embedded.review import review
from leadline_plugins.ai.embedded.sort import sort
from leadline_plugins.ai.embedded.write import write
from leadline_plugins.tasks.planning import PlanRequest, QueryRequest, Searched
from leadline_plugins.tasks.reading import DigestRequest, ExtractRequest, ReviewRequest
from leadline_plugins.tasks.sorting import Sorted, SortRequest
from leadline_plugins.tasks.writing import WriteRequest
from leadline_plugins.text import language, length

WORLD = {
    "Elmford Bridge": "Elmford Bridge is a stone bridge over the river Tarn. The bridge was designed by Ada Lorn. "
    "Elmford Bridge was opened in 1871. Its towers are covered with copper.",
    "Ada Lorn": "Ada Lorn was an engineer who lived near the sea. Lorn was married to the painter Paul Verity. "
    "She wrote three books about arches.",
    "Copper": "Copper is a soft metal. Roofs are covered with copper because it resists the weather.",
    "Paul Verity": "Paul Verity painted harbours and ships. His pictures hang in the town hall.",
}
CHINESE = {
    "榆河大桥": "榆河大桥是一座石桥，位于榆县。大桥由林安设计，1871年建成通车。桥塔用铜覆盖。",
    "榆县": "榆县以茶叶闻名。全县有三座桥。",
}
JAPANESE = {
    "楡川橋": "楡川橋は石造りの橋である。設計者は林安で、1871年に完成した。塔は銅で覆われている。",
    "楡町": "楡町は茶の産地として知られる。町には三つの橋がある。",
}


def asking(text: str) -> Question:
    return Question(text=text, language=language(text))


def planned(text: str) -> Plan:
    return plan(PlanRequest(question=asking(text)))


def source(title: str, text: str) -> Source:
    return Source(id=title, hit=Hit(url=f"file:///{title}", title=title), document=Document(text=text, title=title))


def evidence(question: str, item: Source, query: str = "") -> list[Evidence]:
    request = ExtractRequest(question=asking(question), query=query or question, source=item)
    return [
        Evidence(
            id=f"{item.id}.{learning.start}".replace(" ", "_"),
            source_id=item.id,
            quote=learning.quote,
            span=(learning.start, learning.start + len(learning.quote)),
            claim=learning.claim,
            confidence=learning.confidence,
            score=learning.score,
        )
        for learning in extract(request).learnings
    ]


def report(question: str, world: Mapping[str, str], length: int = 0) -> tuple[Sorted, dict[str, Evidence]]:
    """Return what is sorted from all documents, and the evidence by id."""
    sources = tuple(source(title, text) for title, text in world.items())
    found = tuple(piece for item in sources for piece in evidence(question, item))
    request = SortRequest(
        question=asking(question), plan=planned(question), evidence=found, sources=sources, length=length
    )
    return sort(request), {item.id: item for item in found}


def quotes(question: str, world: Mapping[str, str], length: int = 0) -> list[str]:
    chosen, found = report(question, world, length)
    return [found[name].quote for part in chosen.sections for name in part.evidence_ids]


# --- the answer ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "world", "answer"),
    [
        ("When was Elmford Bridge opened?", WORLD, "1871"),
        ("Who designed Elmford Bridge?", WORLD, "Ada Lorn"),
        ("榆河大桥是哪年建成的？", CHINESE, "1871年"),
        ("楡川橋はいつ完成しましたか", JAPANESE, "1871年"),
    ],
)
def test_the_first_sentence_answers(question: str, world: Mapping[str, str], answer: str) -> None:
    assert answer in quotes(question, world)[0]


def test_a_question_of_two_steps_finds_both() -> None:
    said = " ".join(quotes("Who was the engineer that designed Elmford Bridge married to?", WORLD))
    assert "designed by Ada Lorn" in said
    assert "Paul Verity" in said


@pytest.mark.parametrize(
    ("question", "world"),
    [
        ("How many passengers does the Quillon airport count?", WORLD),
        ("木星有多少颗卫星？", CHINESE),
        ("木星の衛星はいくつですか", JAPANESE),
        ("why?", WORLD),
    ],
)
def test_what_the_documents_do_not_say_is_not_answered(question: str, world: Mapping[str, str]) -> None:
    chosen, _ = report(question, world)
    assert not chosen.answers
    assert chosen.reason
    assert not chosen.sections


BRIEF = (
    "You advise the council of a river town on its crossings. Write for readers without schooling in engineering, in "
    "three pages, with figures and without footnotes, and keep to sober language throughout. What is to be covered: {} "
    "Close with recommendations on maintenance, tolls and the training of wardens, each in a paragraph of its own."
)


def test_of_a_long_brief_one_sentence_that_the_documents_answer_suffices() -> None:
    asked = "which engineer designed the iron Elmford Bridge, opened 1871?"
    assert "Ada Lorn" in " ".join(quotes(BRIEF.format(asked), WORLD))
    chosen, _ = report(BRIEF.format("how many passengers does the airport of Quillon count in a busy summer?"), WORLD)
    assert not chosen.answers


def test_a_long_brief_is_answered_where_the_documents_speak_of_all_of_it() -> None:
    """None of its sentences is answered: it tells of work of its own, and asks for what others wrote about the same."""
    told = "We present {} and its many further uses for careful readers. "
    topics = ("iron arches", "river spans", "toll houses", "flood walls", "ferry landings", "stone piers")
    brief = "Write the section on earlier work. " + "".join(map(told.format, topics))
    near, far = ({f"On {one}": f"Papers on {one} are many." for one in on} for on in (topics, ("bees", "iron ore")))
    assert report(brief, near)[0].answers
    assert not report(brief, far)[0].answers


def test_what_is_alike_keeps_the_order_in_which_it_was_found() -> None:
    question, names = "How deep is the bay?", ("z", "m", "a")
    alike = tuple(Evidence(id=n, source_id=n, quote=f"Bay {n} is deep.", claim="c", span=(0, 1)) for n in names)
    request = DigestRequest(question=asking(question), plan=planned(question), round=1, evidence=alike)
    assert [digest(request).synthesis.index(f"@{name}") for name in names] == sorted(
        digest(request).synthesis.index(f"@{name}") for name in names
    )


def test_the_reason_names_what_is_missing() -> None:
    chosen, _ = report("Which airport does Quillon serve?", WORLD)
    assert "Quillon" in chosen.reason


@pytest.mark.parametrize(
    ("question", "world", "room"),
    [("Who designed Elmford Bridge?", WORLD, 20), ("榆河大桥是哪年建成的？", CHINESE, 40)],
)
def test_the_report_keeps_to_its_length(question: str, world: Mapping[str, str], room: int) -> None:
    chosen, found = report(question, world, room)
    said = [found[name].quote for part in chosen.sections for name in part.evidence_ids]
    assert said
    assert sum(length(quote, language(question)) for quote in said) <= room


def test_nothing_is_said_twice() -> None:
    twins = {**WORLD, "Copy": WORLD["Elmford Bridge"]}
    said = quotes("When was Elmford Bridge opened?", twins)
    assert len(said) == len(set(said))


def test_each_part_of_a_question_has_a_section_of_its_own() -> None:
    chosen, found = report("When was Elmford Bridge opened, and who was Ada Lorn married to?", WORLD)
    first, second = (" ".join(found[name].quote for name in part.evidence_ids) for part in chosen.sections)
    assert "1871" in first
    assert "Paul Verity" in second


def test_what_no_section_claims_is_said_to_be_unsure() -> None:
    question = "When was Elmford Bridge opened, and who was Ada Lorn married to?"
    chosen, found = report(question, WORLD)
    assert (len(found) >= 5, chosen.unsure) == (True, ()), "what the title of its document names is sure"
    sources = tuple(source(title, text) for title, text in WORLD.items())
    strange = Plan(title="x", sections=(PlannedSection(id="1", title="Tides"), PlannedSection(id="2", title="Ferries")))
    request = SortRequest(question=asking(question), plan=strange, evidence=tuple(found.values()), sources=sources)
    placed = [name for part in sort(request).sections for name in part.evidence_ids]
    assert placed
    assert set(sort(request).unsure) == set(placed)


def test_a_chat_that_sorts_is_not_asked_what_it_is_unsure_of() -> None:
    assert "unsure" not in json.dumps(schema_of(Sorted))


# --- the tasks one by one -----------------------------------------------------------------------------------------


def test_a_comparison_is_planned_by_its_sides() -> None:
    question = "Compare Elmford Bridge with Ashby Tunnel"
    titles = [section.title for section in planned(question).sections]
    assert titles == [question, "Elmford Bridge", "Ashby Tunnel"]


def test_later_queries_follow_the_names_that_the_evidence_brings() -> None:
    question = "Who was the engineer that designed Elmford Bridge married to?"
    found = evidence(question, source("Elmford Bridge", WORLD["Elmford Bridge"]))
    request = QueryRequest(question=asking(question), plan=planned(question), round=2, limit=5, evidence=tuple(found))
    proposed = [ask.query for ask in query(request).queries]
    assert any("Ada Lorn" in text and "married" in text for text in proposed)


def test_no_query_is_made_twice() -> None:
    question = "Who designed Elmford Bridge?"
    first = query(QueryRequest(question=asking(question), plan=planned(question))).queries
    past = tuple(Searched(query=ask.query) for ask in first)
    again = query(QueryRequest(question=asking(question), plan=planned(question), past=past)).queries
    assert first
    assert again == ()


@pytest.mark.parametrize(
    ("question", "sufficient"),
    [
        ("When was Elmford Bridge opened?", True),
        ("What did the painter to whom the engineer that designed Elmford Bridge was married paint?", False),
    ],
)
def test_a_plain_question_is_through_after_one_round(question: str, sufficient: bool) -> None:
    found = tuple(evidence(question, source("Elmford Bridge", WORLD["Elmford Bridge"])))
    plan_ = planned(question)
    digested = digest(DigestRequest(question=asking(question), plan=plan_, round=1, evidence=found))
    request = ReviewRequest(question=asking(question), plan=plan_, round=1, digest=digested, evidence=found)
    assert review(request).is_sufficient is sufficient


def test_gaps_are_the_words_of_the_question_that_nothing_holds() -> None:
    question = "What do the passengers of Elmford Bridge pay?"
    found = tuple(evidence(question, source("Elmford Bridge", WORLD["Elmford Bridge"])))
    said = digest(DigestRequest(question=asking(question), plan=planned(question), round=1, evidence=found))
    assert said.knowledge_gaps == ("passengers pay?",)


def test_writing_adds_no_sentence() -> None:
    question = "Who designed Elmford Bridge?"
    sections = (Section(id="a", title="A", text="x [@e]"), Section(id="b", title="B", text=""))
    written = write(WriteRequest(question=asking(question), plan=planned(question), sections=sections, evidence=()))
    assert (written.title, written.summary, written.conclusion) == (question, "", "")
    assert written.sections == ()


async def test_a_task_without_an_algorithm_is_unsupported() -> None:
    task = Task("chat", Record(), Digest)
    with pytest.raises(Unsupported, match="no algorithm for the task 'chat'; it knows plan, query, extract"):
        await Embedded().perform(task, FakeCall())


async def test_the_provider_performs_tasks_by_their_name() -> None:
    question = "Who designed Elmford Bridge?"
    task = Task("plan", PlanRequest(question=asking(question)), Plan)
    reply = await Embedded().perform(task, FakeCall())
    assert reply == planned(question)


@pytest.mark.parametrize(
    ("title", "text", "quotes"),
    [
        ("Elmford Bridge", "Its towers are of copper.", ["Its towers are of copper."]),  # by its title alone
        (
            "Towers",
            "Elmford Bridge was opened. Its towers are of copper. They shine.",  # by the sentence before
            ["Elmford Bridge was opened.", "Its towers are of copper."],
        ),
        ("Towers", "They shine. They are of copper.", []),
    ],
)
def test_a_sentence_is_taken_by_its_terms_its_title_or_the_sentence_before(
    title: str, text: str, quotes: list[str]
) -> None:
    question = "When was Elmford Bridge opened?"
    request = ExtractRequest(question=asking(question), query=question, source=source(title, text))
    assert [learning.quote for learning in extract(request).learnings] == quotes


def test_what_cannot_be_quoted_takes_no_place() -> None:
    text = "See also: when Elmford Bridge was opened. Elmford Bridge was opened in 1871."
    question = "When was Elmford Bridge opened?"
    request = ExtractRequest(question=asking(question), query=question, source=source("Towers", text), limit=1)
    assert [learning.quote for learning in extract(request).learnings] == ["Elmford Bridge was opened in 1871."]


SCRAPS = st.lists(
    st.sampled_from(["Elmford Bridge ", "opened. ", "in 1871 ", "大桥", "。", "\n", "\n\n", "- ", "| x ", "(", "```"])
)


@given(st.text(max_size=300) | SCRAPS.map("".join), st.integers(1, 8))
def test_every_quote_stands_where_it_says(text: str, limit: int) -> None:
    question = "When was Elmford Bridge 大桥 opened?"
    request = ExtractRequest(question=asking(question), query="Elmford", source=source("Bridge", text), limit=limit)
    learnings = extract(request).learnings
    assert len(learnings) <= limit
    for learning in learnings:
        assert text.startswith(learning.quote, learning.start)
        assert learning.quote.strip()
