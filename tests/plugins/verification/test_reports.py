"""Citations of reports by any tool: marks, entries, addresses, and the prose with its citations."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from leadline.errors import UsageError
from leadline.records import Section
from leadline.research_findings import FAILED
from leadline_plugins.verification.blocks import blocks, visible_text
from leadline_plugins.verification.claims import section_statements
from leadline_plugins.verification.external_reports import _checked_report, _parse, check, cited_sources
from leadline_plugins.verification.reports.reader import CitedReport, read_report
from leadline_plugins.verification.reports.references import headings, is_list_title
from leadline_plugins.verification.verdicts import Library
from leadline_plugins.wording.phrases import phrase

SOURCES = (
    "\n\n## Sources\n\n[1] One: https://example.org/1\n[2] Two: https://example.org/2\n[3] Three\n[4] Four\n[5] Five\n"
)


def keys(report: CitedReport) -> list[str]:
    return [key for mark in report.marks for key in mark.keys]


def claims(report: CitedReport) -> dict[str, list[str]]:
    """Return the claims of a report with the keys and addresses that each cites."""
    found = section_statements([Section(id="s", title="", text=report.text)]).claims
    return {claim.text: [report.targets[int(place)] for place in claim.evidence_ids] for claim in found}


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("The bay is deep [1].", ["1"]),
        ("The bay is deep.[1][2]", ["1", "2"]),
        ("The bay is deep [1, 3-5].", ["1", "3", "4", "5"]),
        ("The bay is deep [3–5].", ["3", "4", "5"]),
        ("The bay is deep [2; 5].", ["2", "5"]),
        ("海湾很深【1】，也很宽【2】。", ["1", "2"]),
        ("The bay is deep[^1].", ["^1"]),
        ("The bay is deep<sup>2</sup>.", ["2"]),
        ("The bay is deep<sup>[2]</sup>.", ["2"]),
        (r"The bay is deep \[4\].", ["4"]),
        ("The bay is deep 【1†source】.", ["1"]),
        ("The bay is deep [Source 3].", ["3"]),
        ("| bay | deep [2] |\n|---|---|\n| lake | flat [3] |", ["2", "3"]),
        ("The share lies in [0, 1] and `x[1]` is code.", []),
        ("```\nx[1]\n```", []),
        ("[A page](https://example.org/2) says so.", []),
        ("It was sounded in [1831].", []),
    ],
)
def test_marks_in_the_text(said: str, expected: list[str]) -> None:
    report = read_report(said + SOURCES)
    assert keys(report) == expected
    assert not list(report.dangling())


def test_an_escaped_bracket_is_no_mark_where_others_are() -> None:
    report = read_report(rf"The bay is deep \[9\]. [1] It is \[1, 2\] wide. [2]{SOURCES}")
    assert keys(report) == ["1", "2"]
    assert not list(report.dangling())
    assert claims(report) == {"The bay is deep [9].": ["1"], "It is [1, 2] wide.": ["2"]}
    assert not read_report(rf"Deep. [1]{SOURCES}\[9\] Not an entry https://example.org/9").entry("9")


@pytest.mark.parametrize(
    "listed",
    [
        "## References\n\n1. One. https://example.org/a_(b)\n2. [Two](https://example.org/2)\n",
        "## 参考文献\n\n[1] One https://example.org/a_(b)\n\n[2] Two: <https://example.org/2>\n",
        "**Sources:**\n\n- [1] One (https://example.org/a_(b)).\n- [2] Two https://example.org/2,\n",
        "参考文献：\n[1] https://example.org/a_(b) - One\n[2] https://example.org/2 - Two",
        "[1]: https://example.org/a_(b)\n[2]: https://example.org/2 'Two'\n",
        "[^1]: One https://example.org/a_(b)\n[^2]: Two https://example.org/2\n",
        "## Notes\n\n| # | source |\n|---|---|\n| [1] | https://example.org/a_(b) |\n| [2] | https://example.org/2 |\n",
    ],
)
def test_lists_of_sources(listed: str) -> None:
    report = read_report(f"# Bay\n\nThe bay is deep [1]. It is wide [2].\n\n{listed}")
    found = [report.entry(key) for key in keys(report)]
    assert [entry.urls[0] for entry in found if entry] == ["https://example.org/a_(b)", "https://example.org/2"]
    assert set(report.urls) == {"https://example.org/a_(b)", "https://example.org/2"}
    assert list(claims(report)) == ["The bay is deep.", "It is wide."]


@pytest.mark.parametrize(
    "title", ["Risiken", "Die Quellen der Donau", "Источники энергии", "المياه", "The sources of rivers"]
)
def test_other_headings_name_no_list(title: str) -> None:
    assert not is_list_title(title)


@pytest.mark.parametrize(
    "listed",
    [
        "Do this:\n\n1. Dig.\n2. Fill.",
        "1. Dig, for it is deep [2].\n2. Fill.",
        "1. Dig.\n2. Fill.\n\nSo be it.",
    ],
)
def test_other_last_lists_are_none(listed: str) -> None:
    report = read_report(f"# T\n\n## Body\n\nDeep. [1]\n\n## Steps\n\n{listed}")
    assert not report.entries


def test_a_last_list_that_lacks_a_number_is_none() -> None:
    assert not read_report("# T\n\nDeep. [1] Wide. [7]\n\n## Steps\n\n1. Dig.\n2. Fill.").entries


def test_marks_of_all_kinds_come_in_the_order_of_the_text() -> None:
    report = read_report(
        "Deep ([Fitz](https://fitz.example/)) [1], wide ([Tide](https://tide.example/)) [2]." + SOURCES
    )
    assert [mark.url or mark.keys for mark in report.marks] == [
        "https://fitz.example/",
        ("1",),
        "https://tide.example/",
        ("2",),
    ]


def test_a_link_is_cited_for_the_sentence_it_stands_in() -> None:
    report = read_report(
        "The bay is 40 fathoms deep ([Fitz, 1831](https://example.org/f)). [Others](https://x.org/) agree fully."
    )
    assert claims(report) == {
        "The bay is 40 fathoms deep.": ["https://example.org/f"],
        "Others agree fully.": ["https://x.org/"],
    }


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("| Bay | 40 fathoms [1] | 1831 |", {"a: Bay; b: 40 fathoms; c: 1831": ["1"]}),
        ("| Bay [1] | 40 fathoms [2] |", {"a: Bay; b: 40 fathoms": ["1", "2"]}),
        ("| [Bay](https://example.org/) | deep |", {"a: Bay; b: deep": ["https://example.org/"]}),
        ("| Bay | deep |\n| Lake | flat [2] |", {"a: Bay; b: deep": ["2"], "a: Lake; b: flat": ["2"]}),
    ],
)
def test_a_row_is_a_claim_with_its_header_cells(rows: str, expected: dict[str, list[str]]) -> None:
    columns = rows.partition("\n")[0].count("|") - 1
    head = f"|{'|'.join('abc'[:columns])}|\n{'|-' * columns}|"
    assert claims(read_report(f"{head}\n{rows}{SOURCES}")) == expected


def test_a_quotation_is_one_claim() -> None:
    report = read_report("> The bay is deep.\n>\n> - It is wide.\n>\n> It is cold. [1]" + SOURCES)
    assert claims(report) == {"The bay is deep. It is wide. It is cold.": ["1"]}


@pytest.mark.parametrize("row", headings(), ids=lambda row: str(row["name"]))
def test_the_examples_of_headings_name_lists(row: dict[str, list[str]]) -> None:
    assert all(map(is_list_title, row["examples"]))


def test_a_report_of_ours_is_read_without_what_it_says_of_itself() -> None:
    report = read_report(
        "# Bay\n\nDeep. [1]\n\n## Method\n\nMade today.\n\n## Checks\n\n1 claim checked.\n\n"
        "## Cited Sources (Used in Report)\n\n[1] One - https://example.org/1\n\n"
        "## Citation Statistics\n\n- Cited: 1 of 1 source\n"
    )
    assert claims(report) == {"Deep.": ["1"]}
    assert "today" not in report.text
    assert "Cited: 1" not in report.text


def test_a_brief_is_read_without_its_note_and_its_further_places() -> None:
    report = read_report(
        f"# Bay\n\n*{phrase('brief_about', 'en')}*\n\n### Survey\n\n> Deep. [1]\n\n"
        f"### {phrase('brief_further', 'en')}\n\n- Survey, Tides\n\n"
        "## Cited Sources (Used in Report)\n\n[1] Survey - https://example.org/1\n"
    )
    assert report.text.partition("## Cited")[0].split() == ["#", "Bay", "###", "Survey", ">", "Deep.", "[@0]"]


@pytest.mark.parametrize("title", ["notes", "references", "sources"])
def test_a_document_may_be_called_like_a_list_of_sources(title: str) -> None:
    report = read_report(
        f"# Bay\n\n### {title}\n\n> Deep. [1]\n\n## Cited Sources (Used in Report)\n\n[1] {title} - {title}.txt\n"
    )
    assert claims(report) == {"Deep.": ["1"]}


def test_what_points_nowhere_is_said() -> None:
    report = read_report("The bay is deep [1][9]." + SOURCES)
    assert list(report.dangling()) == ["9"]


@pytest.mark.parametrize(
    "text", ["", "[", "[1]", "![](", "# \n\n[1]", "## Sources\n\n## Sources", "[1]: ", "> [^1]\n\n[^1]:"]
)
def test_whatever_comes_is_read(text: str) -> None:
    assert isinstance(read_report(text), CitedReport)


def _lines_run(function: Callable[[], object]) -> int:
    """Count the lines of the reading of reports that a function runs, loops in comprehensions included."""
    counted = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal counted
        if "/verification/" not in frame.f_code.co_filename:
            return None
        counted += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    finally:
        sys.settrace(before)
    return counted


_REPEATED: dict[str, Callable[[int], str]] = {
    "entries without a heading": lambda n: "One claim [1].\n\n" + "[1] One - one.txt\n" * n,
    "entries in a list of sources": lambda n: "One [1].\n\n## Sources\n\n" + "[1] One - one.txt\n" * n,
    "entries with escaped brackets": lambda n: "\\[1] One - one.txt\n" * n,
    "entries that are links": lambda n: "[1](http://a.org/b) One - one.txt\n" * n,
    "entries with addresses": lambda n: "[1] One http://a.org/b\n" * n,
    "footnotes": lambda n: "One [^1].\n\n" + "".join(f"[^{i}]: One http://a.org/{i}\n" for i in range(n)),
    "code between marks": lambda n: "`a` One [1] " * n,
    "links after escapes": lambda n: "\\[1] [x](http://a.org/b) One. " * n,
    "cells": lambda n: f"|{'a|' * n}\n|{'--|' * n}\n|{'One [1]|' * n}\n",
    "linked claims": lambda n: (
        "".join(f"One [x](http://a.org/{i}).\n\n" for i in range(n))
        + "## Sources\n\n"
        + "".join(f"[{i}] http://a.org/{i}\n" for i in range(n))
    ),
}


@pytest.mark.parametrize("kind", _REPEATED)
def test_a_report_is_read_in_linear_time(kind: str) -> None:
    def lines(count: int) -> int:
        text = _REPEATED[kind](count)
        return _lines_run(lambda: _checked_report(_parse(text), {}, Library([], []), FAILED))

    lines(10)  # loads what is loaded once
    assert lines(400) < 5 * lines(100)


@pytest.mark.parametrize(
    "text",
    [
        "![" * 100_000,
        "![a](x" * 40_000,
        "[a](x" * 40_000,
        "# x" + " " * 100_000 + "x",
        "# " + "# " * 50_000 + "x",
        " " * 100_000 + "|x",
        "|" + "-" * 100_000 + "x",
        "|-" + " " * 100_000 + "x",
        "![" + " " * 100_000,
    ],
    ids=range(9),
)
def test_no_pattern_takes_square_time(text: str) -> None:
    began = time.process_time()
    list(blocks(text))
    visible_text(text)
    assert time.process_time() - began < 2  # square time takes half a minute at least


async def test_a_report_that_repeats_itself_or_takes_too_long_is_refused() -> None:
    said = "## " + "x" * 100_000 + "\n\n" + "One [1].\n\n" * 50 + "## Sources\n\n[1] http://a.org\n"
    with pytest.raises(UsageError, match=r"the claims of the report have 5,\d{3},\d{3} characters with their headings"):
        await check(said, {})


async def test_a_report_is_read_in_a_worker_within_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leadline.parsing._SECONDS", 0.02)
    with pytest.raises(UsageError, match="the report: was not parsed within 0 s of processor time"):
        await cited_sources("![" * 20_000)
