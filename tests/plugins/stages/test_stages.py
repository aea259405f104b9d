from __future__ import annotations

import pytest

from leadline.findings import Found, Plan, PlannedSection, Query, SearchTask
from leadline.records import Document, Hit, Section, SectionRequest, Source
from leadline.settings.model import Clarify
from leadline_plugins.stages.clarify import unclear
from leadline_plugins.stages.extract import borne, evidence_id, find
from leadline_plugins.stages.fetch import again, by_rank, helping, source_id
from leadline_plugins.stages.library import stands
from leadline_plugins.stages.query import fresh, priority
from leadline_plugins.stages.synthesize import left_out
from leadline_plugins.tasks.reading import Learning

TEXT = "The bay is deep.\nIt was  sounded\nin 1831."


@pytest.mark.parametrize(
    ("said", "means"),
    [("HIGH", "high"), (1, "high"), ("2", "high"), (3, "medium"), (4, "low"), ("low", "low"), ("?", "medium")],
)
def test_priorities_are_read_as_words_or_numbers(said: str | int, means: str) -> None:
    assert priority(said) == means


def test_queries_are_new_numbered_and_high_priority_first() -> None:
    done = (SearchTask(id="q1.1", query="Depth of the bay"),)
    proposed = (
        Query(query="depth  of the BAY"),
        Query(query="who sounded it", priority="low"),
        Query(query=" ", priority=1),
        Query(query="sounding 1831", priority=1),
        Query(query="one too many", priority=1),
    )
    tasks = fresh(proposed, done, 2)
    assert [(task.id, task.query, task.priority, task.round) for task in tasks] == [
        ("q2.1", "sounding 1831", "high", 2),
        ("q2.2", "who sounded it", "low", 2),
    ]


@pytest.mark.parametrize(
    ("quote", "start", "span"),
    [
        ("It was  sounded", 17, (17, 32)),
        ("It was  sounded", 3, (17, 32)),
        ("It was sounded in 1831.", -1, (17, 41)),
        ("It was never sounded", -1, None),
        ("", -1, None),
        ("  ", 5, None),
    ],
)
def test_a_quote_is_found_where_it_stands_white_space_aside(
    quote: str, start: int, span: tuple[int, int] | None
) -> None:
    assert find(quote, TEXT, start) == span


def test_a_learning_whose_quote_is_made_up_is_no_evidence() -> None:
    source = Source(id="s1", hit=Hit(url="https://example.org/"), document=Document(text=TEXT))
    assert borne(Learning(claim="deep", quote="The bay is shallow."), source) is None
    evidence = borne(Learning(claim="deep", quote="It was sounded in 1831."), source)
    assert evidence is not None
    assert evidence.quote == "It was  sounded\nin 1831."
    assert evidence.id == evidence_id("s1", evidence.span)


def test_pages_are_chosen_by_rank_and_only_citable_new_ones() -> None:
    def found(name: str, *urls: str) -> Found:
        task = SearchTask(id=name, query=name)
        return Found(id=name, task=task, hits=tuple(Hit(url=url, citable=url != "recall") for url in urls))

    one, two = found("one", "a", "recall", "b", "c"), found("two", "d", "a")
    assert [hit.url for hit in helping(one, {"b"}, 2)] == ["a", "c"]
    assert [(hit.url, task) for hit, task in by_rank([one, two])] == [
        ("a", "one"),
        ("d", "two"),
        ("b", "one"),
        ("a", "two"),
        ("c", "one"),
    ]
    assert source_id("a") == source_id("a") != source_id("b")


@pytest.mark.parametrize(
    ("question", "literal", "relaxed"),
    [
        ("What is the Higgs boson?", 1, 0),
        ("How deep is the harbour of Valparaíso today?", 1, 0),
        ("ai ml", 2, 2),
        ("What about them?", 2, 2),
        ("黄河的长度是多少？", 1, 0),
        ("黄河？", 1, 1),
    ],
)
def test_the_gate_by_the_literal_rules_and_the_relaxed_ones(question: str, literal: int, relaxed: int) -> None:
    assert len(list(unclear(question, Clarify(rules="literal")))) == literal
    assert len(list(unclear(question, Clarify(rules="relaxed")))) == relaxed


def test_sections_that_nothing_was_found_for_are_named() -> None:
    plan = Plan(title="Depths", sections=tuple(PlannedSection(id=name, title=name * 2) for name in "abc"))
    asked = [SectionRequest(section=Section(id=name, title=name), evidence=(), sources=()) for name in "ac"]
    assert left_out(plan, asked) == ("'bb'",)
    whole = [SectionRequest(section=Section(id="1", title="all of it"), evidence=(), sources=())]
    assert left_out(plan, whole) == ()


def test_evidence_tells_the_headings_over_its_quote_but_not_the_title_of_its_source() -> None:
    text = "# Bays\n\n## Lorn Bay\n\n### Depth\n\nIt was sounded in 1831.\n"
    source = Source(id="s", hit=Hit(url="http://x/", title="Bays"), document=Document(text=text))
    evidence = borne(Learning(claim="", quote="It was sounded in 1831."), source)
    assert evidence is not None
    assert evidence.under == "Lorn Bay › Depth"


def test_evidence_of_a_row_tells_the_head_of_its_table_beside_the_headings() -> None:
    text = "# Bays\n\n## Depths\n\n| Year | Lorn | Ash |\n|---|---|---|\n| 1831 | 9 m | 4 m |\n"
    source = Source(id="s", hit=Hit(url="http://x/", title="Bays"), document=Document(text=text))
    evidence = borne(Learning(claim="", quote="| 1831 | 9 m | 4 m |"), source)
    assert evidence is not None
    assert (evidence.under, evidence.quote) == ("Depths › Year | Lorn | Ash", "| 1831 | 9 m | 4 m |")
    assert stands(evidence.model_copy(update={"under": ""}), source).under == "Bays › Depths › Year | Lorn | Ash"


def hits_of(**scores: float | None) -> Found:
    hits = (Hit(url=url, score=score, engine="local", snippet=f"of {url}") for url, score in scores.items())
    return Found(id="q2.1", task=SearchTask(id="q2.1", query="tolls", round=2), hits=tuple(hits))


def test_a_page_far_behind_the_best_of_its_search_is_not_read() -> None:
    assert [hit.url for hit in helping(hits_of(a=39.5, b=11.0, c=4.98), set(), 3)] == ["a", "b"]
    assert [hit.url for hit in helping(hits_of(a=9.0, b=1.0), set(), 3, near=False)] == ["a", "b"]
    assert [hit.url for hit in helping(hits_of(a=None, b=None), set(), 3)] == ["a", "b"]
    assert [hit.url for hit in helping(hits_of(a=-1.0, b=-9.0), set(), 3)] == ["a", "b"]


def test_a_known_page_among_the_best_of_a_search_is_read_for_that_too() -> None:
    known = [Source(id=name, hit=Hit(url=name), document=Document(text="It is."), task_id="q1.1") for name in "ace"]
    read = again(hits_of(a=9.0, b=8.0, c=1.0, e=7.0), known, 2)
    assert [(one.id, one.task_id, one.hit.snippet) for one in read] == [("a", "q2.1", "of a")]
    assert [one.id for one in again(hits_of(a=9.0, b=8.0, c=1.0, e=7.0), known, 4)] == ["a", "e"]
