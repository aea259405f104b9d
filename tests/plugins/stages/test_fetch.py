"""Which pages are read: the best of each search, none twice."""

from __future__ import annotations

from leadline.records import Hit
from leadline.research_findings import Found, SearchTask
from leadline_plugins.canonical import source_id
from leadline_plugins.stages.fetch import first_pages, hits_by_rank


def found(name: str, *urls: str) -> Found:
    hits = tuple(Hit(url=url, citable=url != "recall") for url in urls)
    return Found(id=name, task=SearchTask(id=name, query=name), hits=hits)


def scored(**scores: float | None) -> Found:
    hits = tuple(Hit(url=url, score=score, engine="local") for url, score in scores.items())
    return Found(id="q2.1", task=SearchTask(id="q2.1", query="tolls", round=2), hits=hits)


def test_pages_are_chosen_by_rank_and_only_citable_new_ones() -> None:
    one, two = found("one", "a", "recall", "b", "c"), found("two", "d", "a")
    assert [hit.url for hit in first_pages(one, {"b"}, 2)] == ["a", "c"]
    ranked = [("a", "one"), ("d", "two"), ("b", "one"), ("a", "two"), ("c", "one")]
    assert [(hit.url, task) for hit, task in hits_by_rank([one, two])] == ranked


def test_the_id_of_a_source_is_that_of_its_address() -> None:
    assert source_id("a") == source_id("a") != source_id("b")


def test_a_page_far_below_the_best_of_its_search_is_not_read() -> None:
    assert [hit.url for hit in first_pages(scored(a=39.5, b=11.0, c=4.98), set(), 3)] == ["a", "b"]
    assert [hit.url for hit in first_pages(scored(a=9.0, b=1.0), set(), 3, near=False)] == ["a", "b"]
    assert [hit.url for hit in first_pages(scored(a=None, b=None), set(), 3)] == ["a", "b"]
    assert [hit.url for hit in first_pages(scored(a=-1.0, b=-9.0), set(), 3)] == ["a", "b"]
