"""What a language model is shown of a research in progress."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from leadline.findings import Digest, Found, Plan, Question, SearchTask
from leadline.records import Document, Evidence, Hit, Source
from leadline_plugins.shrinking import less_shown
from leadline_plugins.stages.showing import Serving, asked, by_source, said, searched
from leadline_plugins.tasks.reading import ReviewRequest
from leadline_plugins.text.sought import shares_of


def piece(name: str, source: str, task: str, score: float, quote: str = "") -> Evidence:
    quote = quote or name
    return Evidence(
        id=name, source_id=source, quote=quote, span=(0, 1), claim="", score=score, task_id=task, under="Up"
    )


def source(name: str, task: str) -> Source:
    hit = Hit(url=f"http://{name}.example/", title=name.upper())
    return Source(id=name, hit=hit, document=Document(text="x"), task_id=task)


def serving(tasks: list[SearchTask], evidence: list[Evidence]) -> Serving:
    shares = shares_of([task.query for task in tasks], [(item.quote, item.under) for item in evidence])
    return Serving(tasks, evidence, shares)


RICH = [piece(f"r{n}", "rich", "q1.1", 1.0 - n / 1000, f"A deep harbour {n}.") for n in range(50)]
POOR = [piece(f"p{n}", "poor", "q1.2", 0.5 - n / 1000, f"Shallow water {n}.") for n in range(5)]
TASKS = [SearchTask(id="q1.1", query="deep harbour", section="1"), SearchTask(id="q1.2", query="shallow")]
NAMES = [task.id for task in TASKS]


def test_no_search_takes_the_places_of_all() -> None:
    best = serving(TASKS, [*RICH, *POOR]).in_turn(NAMES)[:10]
    shown = by_source(best, [source("rich", "q1.1"), source("poor", "q1.2")])
    assert {one.title: len(one.quotes) for one in shown} == {"RICH": 5, "POOR": 5}
    assert shown[0].quotes[0].model_dump() == {"id": "r0", "quote": "A deep harbour 0.", "under": "Up"}


def test_a_search_is_shown_what_serves_it_whoever_found_it_and_not_what_it_brought_beside() -> None:
    known = piece("k", "rich", "q1.1", 0.1, "The ferry cost forty crowns.")
    sewage = [piece(f"s{n}", "poor", "q2.1", 0.9, f"Sewage is cleaned in plant {n}.") for n in range(9)]
    task = SearchTask(id="q2.1", query="ferry crowns Elmford", round=2)
    assert serving([task], [*RICH, known, *sewage]).in_turn(["q2.1"]) == [known]


def test_what_was_shown_before_is_not_shown_again() -> None:
    best = serving(TASKS, [*RICH, *POOR])
    assert {item.id for item in best.in_turn(NAMES, but={"r0", "p0"})}.isdisjoint({"r0", "p0"})
    assert best.best["q1.1"][0].id == "r0"


def test_where_no_passage_holds_enough_of_a_search_the_best_that_it_brought_are_shown() -> None:
    task = SearchTask(id="q", query="Hafentiefe Lorn")
    for scores, shown in (((0.9, 0.2), ["a"]), ((0.0, 0.0), ["a", "b"])):
        found = [piece(name, "s", "q", score) for name, score in zip("ab", scores, strict=True)]
        assert [item.id for item in serving([task], found).in_turn(["q"])] == shown


def test_a_search_is_told_with_what_no_search_before_had_and_how_much_of_all_serves_it() -> None:
    found = [Found(id=task.id, task=task, hits=(Hit(url="http://rich.example/"),)) for task in TASKS]
    told = searched(found, [source("rich", "q1.1")], RICH, serving(TASKS, [*RICH, *POOR]))
    assert [one.model_dump(exclude_defaults=True) for one in told] == [
        {"query": "deep harbour", "section": "1", "pages": 1, "passages": 50, "known": 50},
        {"query": "shallow", "known": 5},
    ]


def test_what_a_digest_says_is_told_without_what_stages_keep_in_it() -> None:
    assert said(Digest(synthesis="Deep.", round=2, shown=("r0",))) == Digest(synthesis="Deep.")


@given(st.lists(st.tuples(st.text(max_size=30), st.floats(0, 1)), max_size=12), st.text(max_size=30))
def test_whatever_is_searched_each_passage_is_shown_once(known: list[tuple[str, float]], query: str) -> None:
    evidence = [piece(f"e{n}", "s", f"q{n % 2}", score, text) for n, (text, score) in enumerate(known)]
    tasks = [SearchTask(id="q0", query=query), SearchTask(id="q1", query="deep")]
    shown = [item.id for item in serving(tasks, evidence).in_turn(["q0", "q1"])]
    assert len(shown) == len(set(shown)) <= len(evidence)


def test_of_a_question_what_holds_is_told_and_not_why_it_was_asked_back() -> None:
    question = Question(
        text="How deep?", reasons=("it is short",), questions=("Where?",), assumptions=("In Lorn",), answers=("a",)
    )
    assert asked(question) == Question(text="How deep?", assumptions=("In Lorn",), answers=("a",))


def test_too_much_to_be_shown_is_halved_until_one_is_left() -> None:
    best = serving(TASKS, [*RICH, *POOR]).in_turn(NAMES)[:10]
    sources = by_source(best, [source("rich", "q1.1"), source("poor", "q1.2")])
    request = ReviewRequest(
        question=Question(text="?"), plan=Plan(title="", sections=()), round=1, digest={}, sources=sources
    )
    counts = []
    while smaller := less_shown(request):
        request = smaller
        counts.append(sum(len(one.quotes) for one in request.sources))
    assert counts == [6, 4, 2, 1]
