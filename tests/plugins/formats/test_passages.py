"""Passages: their place in the source, the link to it, and the quoted words in their blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import pytest

from leadline.records import Document, Evidence, Hit, Report, Source, Verdict
from leadline_plugins.formats.document import Medium, document
from leadline_plugins.formats.html import MEDIUM, render_page
from leadline_plugins.formats.marks import Mark
from leadline_plugins.formats.passages import Passages, deep_link, places
from leadline_plugins.formats.tree import text

SOURCE = Source(id="s1", hit=Hit(url="https://example.org/a.pdf", title="Manual"), document=Document(text="x"))


def passage(quote: str = "It is deep.", **fields: Any) -> Evidence:
    return Evidence(**{"id": "e1", "source_id": "s1", "quote": quote, "span": (0, 1)} | fields)


def quoted(item: Evidence, *words: str) -> list[str]:
    """Return the runs of a passage that are wrapped as quotes."""
    marks = [Mark(n, "supported", "1", (0, 1), "", quote=one, evidence_id="e1") for n, one in enumerate(words, start=1)]
    found: list[str] = []

    def look(node: Any) -> None:
        match node:
            case {"t": "Span", "c": [[_, ["mark"], _], inside]}:
                found.append(text(inside))
            case {"t": "CodeBlock", "c": [[_, classes, _], code]} if "quoted" in classes:
                found.append(code)
            case {"c": content}:
                look(content)
            case list():
                list(map(look, node))

    look(Passages(marks, "en", screen=True).blocks(item))
    return found


def test_a_reference_names_pages_and_headings_without_the_title() -> None:
    items = [passage(page=112, path=("Manual", "Backup", "Archiving")), passage(page=3, path=("Install",), span=(5, 6))]
    assert places(items, SOURCE, "en") == "p. 3, 112; Backup › Archiving; Install"
    assert places(items, SOURCE, "zh").startswith("第 3、112 页；")
    assert places([passage()], SOURCE, "en") == ""


def test_headings_under_the_same_parents_name_them_once() -> None:
    paths = (("Part",), ("Part", "One"), ("Part", "One", "a"), ("Part", "Two"), ("End",))
    items = [passage(path=path, span=(n, n + 1)) for n, path in enumerate(paths)]
    assert places(items, SOURCE, "en") == "Part; One; a; Two; End"


def test_many_places_are_counted() -> None:
    items = [passage(page=n, path=(f"Part {n}",), span=(n, n + 1)) for n in range(1, 21)]
    assert places(items, SOURCE, "en") == "p. 1, 2, 3, 4, 5, 6, 7, 8, …; " + "; ".join(
        (*(f"Part {n}" for n in range(1, 6)), "+15")
    )


@pytest.mark.parametrize(
    ("url", "page_number", "shown", "expected"),
    [
        ("https://example.org/a.pdf#top", 12, "x", "https://example.org/a.pdf#page=12"),
        (
            "https://example.org/a",
            None,
            "It is deep-sea, so",
            "https://example.org/a#:~:text=It%20is%20deep%2Dsea%2C%20so",
        ),
        ("https://example.org/a#b", None, "deep", "https://example.org/a#b:~:text=deep"),
        (
            "https://example.org/a",
            None,
            "one two three four five six seven eight nine ten eleven",
            "https://example.org/a#:~:text=one%20two%20three%20four%20five,seven%20eight%20nine%20ten%20eleven",
        ),
        ("file:///d/a.pdf", 12, "x", ""),
        ("javascript:alert(1)", None, "x", ""),
    ],
)
def test_a_link_opens_the_page_or_the_words(url: str, page_number: int | None, shown: str, expected: str) -> None:
    source = SOURCE.model_copy(update={"hit": Hit(url=url)})
    assert deep_link(passage(page=page_number), source, shown) == expected


def test_a_fragment_of_chinese_names_both_ends() -> None:
    source = SOURCE.model_copy(update={"hit": Hit(url="https://example.org/a")})
    assert deep_link(passage(), source, "软件包在不稳定版中停留至少十天之后才能迁移到测试版").count(",") == 1


def test_a_fragment_of_chinese_has_whole_latin_words_and_the_spaces_of_the_text() -> None:
    source = SOURCE.model_copy(update={"hit": Hit(url="https://example.org/a")})
    link = deep_link(passage(), source, "至少置于 不稳定版中五天之后没有任何异常的自动化质量测试autopkgtest")
    assert unquote(link).partition("text=")[2] == "至少置于 不稳定,自动化质量测试autopkgtest"


@pytest.mark.parametrize(
    ("quote", "words", "expected"),
    [
        ("It is **40 m** deep; so.", ["is **40 m** deep"], ["is", "40 m", "deep"]),
        ("Up 12% then.", ["Up 12%"], ["Up 12%"]),
        ("- one\n- two\n- three", ["one\n- two"], ["one", "two"]),
        ("1. one\n2. two", ["two"], ["two"]),
        ("1. one\n2. two\n3. three", ["one\n2. two"], ["one", "two"]),
        ("| a | b |\n|---|---|\n| 1 | 2 |", ["| 1 | 2 |"], ["1", "2"]),
        ("So:\n\n```\nx = 1\n```", ["x = 1"], ["x = 1"]),
        ("软件包停留十天。", ["停留十天"], ["停留十天"]),
        ("It is deep.", ["It is dry."], []),
        ("one two three four", ["one two three", "three four"], ["one two ", "three", " four"]),
    ],
)
def test_the_words_of_verdicts_are_wrapped(quote: str, words: list[str], expected: list[str]) -> None:
    assert [run.strip() for run in quoted(passage(quote), *words)] == [run.strip() for run in expected]


def test_a_table_that_was_divided_has_its_header_again() -> None:
    item = passage("| 1 | 2 |", lead="Depths\n\n| a | b |\n|---|---|")
    blocks = Passages((), "en", screen=True).blocks(item)
    assert [block["t"] for block in blocks] == ["Para", "Table"]
    assert text(blocks).replace(" ", "") == "Depthsab12"


def test_a_definition_list_is_set_as_a_list_of_terms() -> None:
    item = passage("low\n:   Ten days. These are:\n\n    a\n    :   One.\n\nhigh\n:   Two days.")
    (block,) = Passages((), "en", screen=True).blocks(item)
    assert block["t"] == "BulletList"
    assert [[part["t"] for part in entry] for entry in block["c"]] == [["Para", "Para", "BulletList"], ["Para", "Para"]]


def test_a_passage_is_set_as_blocks_and_nothing_of_it_runs(make_report: Callable[..., Report]) -> None:
    hostile = "# Title\n\nSee <script>alert(1)</script> [x](javascript:alert(1)) [@e2].\n\n- a\n- b"
    report = make_report("Deep [@e1].", figures=(), verdicts=())
    report = report.model_copy(update={"evidence": (report.evidence[0].model_copy(update={"quote": hostile}),)})
    made = render_page(document(report, MEDIUM))
    assert "<strong>Title</strong>" in made
    assert "<li>a</li>" in made
    assert "<script>alert" not in made
    assert 'href="javascript' not in made
    assert "Title" not in made.partition("<main")[0].partition("<nav")[2]


def test_print_lists_passages_that_the_report_does_not_quote_itself(
    make_report: Callable[..., Report], judge: Callable[..., Verdict]
) -> None:
    given = "> Passage 2.\n\n[@e2] Deep [@e1]."
    report = make_report(given, figures=(), verdicts=(judge(given, "Deep [@e1].", "supported", quote="Passage"),))
    blocks = document(report, Medium()).blocks
    told = text(blocks)
    assert told.count("Passage 2.") == 1
    assert "[2] Source 1" in told
    assert "{'t': 'Strong', 'c': [{'t': 'Str', 'c': 'Passage'}" in str(blocks)


def test_the_page_has_the_passages_that_are_cited_and_no_others(make_report: Callable[..., Report]) -> None:
    report = make_report("It is deep [@e1].", figures=(), verdicts=())
    other = report.evidence[0].model_copy(update={"id": "e1b", "quote": "Another passage of the same page."})
    made = render_page(document(report.model_copy(update={"evidence": (*report.evidence, other)}), MEDIUM))
    assert made.count('class="quote"') == 1
    assert "Another passage" not in made
