"""Sources in another language than the question: chosen for a writer by the queries, and never quoted as an answer."""

from __future__ import annotations

from leadline.findings import Plan, PlannedSection, Question, SearchTask
from leadline.records import Document, Evidence, Hit, Source
from leadline_plugins.ai.embedded.extract import extract
from leadline_plugins.ai.embedded.sort import sort
from leadline_plugins.tasks.reading import ExtractRequest
from leadline_plugins.tasks.sorting import Sorted, SortRequest

ASKED = Question(text="How deep is the harbour of Elmford, and what did it cost?", language="en")
PLAN = Plan(title="x", sections=(PlannedSection(id="1", title="Depth"), PlannedSection(id="2", title="Costs")))
PAGES = {
    "en": "The harbour of Elmford is nine fathoms deep. It did cost two million. Elmford has a market.",
    "zh": "榆镇港口水深十六米。港口的建造费用为两百万元。镇上还有一座茶馆和一座石桥。",
    "ru": "Гавань находится на севере города и была построена давно. Рядом стоит старый каменный мост через реку.",
}
TASKS = (
    SearchTask(id="q1", query="harbour depth Elmford", section="1"),
    SearchTask(id="q2", query="榆镇港口 建造费用", section="2"),
)
FOUND_BY = {"en": "q1", "zh": "q2", "ru": "q1"}


def source(name: str) -> Source:
    hit = Hit(url=f"https://example.org/{name}", title="", rank=1)
    return Source(id=name, hit=hit, document=Document(text=PAGES[name]), task_id=FOUND_BY[name])


def learned(name: str, *, material: bool = True) -> tuple[Evidence, ...]:
    page, query = source(name), next(task.query for task in TASKS if task.id == FOUND_BY[name])
    made = extract(ExtractRequest(question=ASKED, query=query, source=page, limit=40, material=material)).learnings
    return tuple(
        Evidence(
            id=f"{name}{one.start}",
            source_id=name,
            quote=one.quote,
            span=(one.start, one.start + len(one.quote)),
            claim=one.claim,
            score=one.score,
            task_id=FOUND_BY[name],
        )
        for one in made
    )


def sorting(*names: str, material: int = 1000) -> Sorted:
    found = tuple(item for name in names for item in learned(name))
    sources = tuple(source(name) for name in names)
    return sort(SortRequest(question=ASKED, plan=PLAN, evidence=found, sources=sources, tasks=TASKS, material=material))


def chosen(plan: Sorted) -> list[str]:
    return [name for part in plan.sections for name in part.evidence_ids]


def test_a_page_is_chosen_by_the_query_in_its_language_and_sorted_by_what_it_was_searched_for() -> None:
    plan = sorting("zh")
    assert [part.section.id for part in plan.sections] == ["2"]
    assert chosen(plan)[0] == "zh10"  # the sentence of the costs, which the query names


def test_a_page_in_a_third_language_is_taken_in_the_order_of_its_text() -> None:
    assert chosen(sorting("ru"))[0] == "ru0"


def test_pages_in_other_languages_stand_beside_those_that_match() -> None:
    names = {name[:2] for name in chosen(sorting("en", "zh", "ru"))}
    assert names == {"en", "zh", "ru"}


def test_pages_in_the_language_of_the_question_are_chosen_as_before() -> None:
    assert chosen(sorting("en")) == [name for name in chosen(sorting("en", "zh")) if name.startswith("en")]


def test_a_report_of_quotes_abstains_all_the_same() -> None:
    for names in (("zh",), ("ru",), ("zh", "ru")):
        plan = sorting(*names, material=0)
        assert not plan.answers
        assert not plan.sections


def test_without_a_writer_nothing_is_taken_from_a_page_that_shares_no_word() -> None:
    assert learned("ru", material=False) == ()
    assert len(learned("ru")) == 2
    assert learned("en", material=False) == learned("en")


def test_a_sentence_that_says_all_of_its_query_scores_as_one_that_says_all_of_the_question() -> None:
    best = max(learned("zh"), key=lambda item: item.score)
    assert best.id == "zh10"
    assert best.score > 0.75


def test_a_quote_in_characters_takes_the_room_of_what_it_says() -> None:
    room = 24  # the first two sentences have 10 and 14 characters
    assert len(chosen(sorting("zh", material=room))) >= 2
