"""What a language model is shown of a research in progress."""

from __future__ import annotations

from leadline.findings import Found, Plan, Question, SearchTask
from leadline.records import Document, Evidence, Hit, Source
from leadline_plugins.shrinking import less_shown
from leadline_plugins.stages.showing import asked, quoted, searched
from leadline_plugins.tasks.reading import ReviewRequest


def piece(name: str, source: str, task: str, score: float) -> Evidence:
    return Evidence(id=name, source_id=source, quote=name, span=(0, 1), claim="", score=score, task_id=task, under="Up")


def source(name: str, task: str) -> Source:
    hit = Hit(url=f"http://{name}.example/", title=name.upper())
    return Source(id=name, hit=hit, document=Document(text="x"), task_id=task)


RICH = [piece(f"r{n}", "rich", "q1.1", 1.0 - n / 1000) for n in range(50)]
POOR = [piece(f"p{n}", "poor", "q1.2", 0.5 - n / 1000) for n in range(5)]


def test_no_search_takes_the_places_of_all() -> None:
    shown = quoted([*RICH, *POOR], [source("rich", "q1.1"), source("poor", "q1.2")], 10)
    assert {one.title: len(one.quotes) for one in shown} == {"RICH": 5, "POOR": 5}
    assert shown[0].quotes[0].model_dump() == {"id": "r0", "quote": "r0", "under": "Up"}


def test_what_is_far_behind_the_best_of_its_search_is_not_shown() -> None:
    shown = quoted([piece("a", "s", "q", 0.9), piece("b", "s", "q", 0.2)], [source("s", "q")])
    assert [item.id for one in shown for item in one.quotes] == ["a"]


def test_what_has_no_score_is_shown() -> None:
    shown = quoted([piece("a", "s", "q", 0.0), piece("b", "s", "q", 0.0)], [source("s", "q")])
    assert [item.id for one in shown for item in one.quotes] == ["a", "b"]


def test_a_search_is_told_with_what_no_search_before_had() -> None:
    tasks = [SearchTask(id="q1.1", query="deep", section="1"), SearchTask(id="q1.2", query="shallow")]
    found = [Found(id=task.id, task=task, hits=(Hit(url="http://rich.example/"),)) for task in tasks]
    told = searched(found, [source("rich", "q1.1")], RICH)
    assert [one.model_dump(exclude_defaults=True) for one in told] == [
        {"query": "deep", "section": "1", "pages": 1, "passages": 50},
        {"query": "shallow"},
    ]


def test_of_a_question_what_holds_is_told_and_not_why_it_was_asked_back() -> None:
    question = Question(
        text="How deep?", reasons=("it is short",), questions=("Where?",), assumptions=("In Lorn",), answers=("a",)
    )
    assert asked(question) == Question(text="How deep?", assumptions=("In Lorn",), answers=("a",))


def test_too_much_to_be_shown_is_halved_until_one_is_left() -> None:
    sources = quoted([*RICH, *POOR], [source("rich", "q1.1"), source("poor", "q1.2")], 10)
    request = ReviewRequest(
        question=Question(text="?"), plan=Plan(title="", sections=()), round=1, digest={}, sources=sources
    )
    counts = []
    while smaller := less_shown(request):
        request = smaller
        counts.append(sum(len(one.quotes) for one in request.sources))
    assert counts == [6, 4, 2, 1]
