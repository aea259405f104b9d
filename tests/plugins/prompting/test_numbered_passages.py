"""Prompts show passages numbered under their sources."""

from __future__ import annotations

from leadline.records import Document, Evidence, Hit, Source
from leadline_plugins.prompting.numbered_passages import group_by_source, halve_passages, ids_by_number, passages_text


def source(name: str, title: str) -> Source:
    return Source(id=name, hit=Hit(url=f"https://example.org/{name}", title=title), document=Document(text=""))


def passage(name: str, source_id: str, start: int, quote: str, **more: object) -> Evidence:
    return Evidence.model_validate(
        {"id": name, "source_id": source_id, "quote": quote, "span": (start, start + len(quote)), "claim": ""} | more
    )


SOURCES = [source("s1", "Handbook"), source("s2", "FAQ")]
PASSAGES = [
    passage("b", "s1", 50, "- ten days", path=("Handbook", "Testing"), lead="The conditions are:"),
    passage("c", "s2", 0, "No. [@x]"),
    passage("a", "s1", 10, "Testing is a distribution.", path=("Handbook", "Testing")),
]


def test_passages_are_grouped_by_source_in_the_order_of_the_document() -> None:
    assert passages_text(group_by_source(PASSAGES, SOURCES)).split("\n\n") == [
        "# Source: Handbook, example.org",
        "## Testing",
        "[1] Testing is a distribution.",
        "[2] The conditions are:\n- ten days",
        "# Source: FAQ, example.org",
        "[3] No. [ @x]",
    ]


def test_numbers_lead_back_to_the_passages() -> None:
    assert ids_by_number(group_by_source(PASSAGES, SOURCES)) == {1: "a", 2: "b", 3: "c"}


def test_fewer_passages_keep_their_numbers() -> None:
    less = halve_passages(group_by_source(PASSAGES, SOURCES), ["c", "a", "b"])
    assert less is not None
    assert ids_by_number(less) == {3: "c"}
    assert halve_passages(less, ["c"]) is None


def test_reference_marks_of_a_page_are_no_citations_and_code_stays() -> None:
    (source,) = group_by_source([passage("a", "s1", 0, "It was 1831.[2] See [3, 4], `[5]`, argv[6], [7](x).")], SOURCES)
    assert source.passages[0].text == "It was 1831.(2) See (3, 4), `[5]`, argv[6], [7](x)."


def test_a_source_is_shown_with_its_date_and_how_it_ranks() -> None:
    (source,) = group_by_source(PASSAGES[:1], SOURCES)
    primary = source.model_copy(update={"tier": 1, "published": "2024"})
    assert passages_text([primary]).startswith(f"# Source: {source.title}, {source.host}, 2024 (primary source)")
