"""The Markdown of a model becomes the text of a section: citations resolved, nothing unresolved, code untouched."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadline.citations import CITATION, cited
from leadline_plugins.writing.model_markdown import parse_section, plain_title, unknown_numbers

NUMBERS = {1: "aaa", 2: "bbb", 3: "ccc", 4: "p4.1"}


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("It costs 5 euros [1].", "It costs 5 euros [@aaa]."),
        ("Both say so [1, 2].", "Both say so [@aaa][@bbb]."),
        ("Both say so [1][2].", "Both say so [@aaa][@bbb]."),
        ("Both say so [1; 2] and [1 and 2].", "Both say so [@aaa][@bbb] and [@aaa][@bbb]."),
        ("All say so [1-3].", "All say so [@aaa][@bbb][@ccc]."),
        ("All say so [1–3].", "All say so [@aaa][@bbb][@ccc]."),
        ("A note [^1].", "A note [@aaa]."),
        ("中文【1】。", "中文[@aaa]。"),
        ("A file 【3†source】.", "A file [@ccc]."),
        ("Twice [[2]].", "Twice [@bbb]."),
        ("Named [Passage 2] and [source 1, source 3].", "Named [@bbb] and [@aaa][@ccc]."),
        ("Raised <sup>[2]</sup>.", "Raised [@bbb]."),
        ("Linked [1](#ref1) and [2](https://example.org/a).", "Linked [@aaa] and [@bbb]."),
        ("By id [@aaa] and [@bbb, p4.1].", "By id [@aaa] and [@bbb][@p4.1]."),
        ("In other brackets (@aaa; @bbb).", "In other brackets [@aaa][@bbb]."),
        ("By number [@1].", "By number [@aaa]."),
        ("The same twice [1, 1].", "The same twice [@aaa]."),
        ("| a | b |\n|---|---|\n| x | 5 [1] |", "| a | b |\n|---|---|\n| x | 5 [@aaa] |"),
    ],
)
def test_citations_of_shown_passages_are_resolved_in_all_the_forms_that_models_use(written: str, expected: str) -> None:
    assert parse_section(written, NUMBERS) == expected


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("Invented [9].", "Invented."),
        ("Invented [@zzz] id.", "Invented id."),
        ("A footnote [^note].", "A footnote."),
        ("发明的【9】。", "发明的。"),
    ],
)
def test_citations_of_passages_that_were_not_shown_are_dropped(written: str, expected: str) -> None:
    assert parse_section(written, NUMBERS) == expected


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("The interval [0, 1].", "The interval \\[0, 1]."),
        ("A factor of 2 (95% CI [1, 3]) [1].", "A factor of 2 (95% CI \\[1, 3]) [@aaa]."),
        ("In the range [18, 65], half [1, 9].", "In the range \\[18, 65], half \\[1, 9]."),
        ("Rows [1-3] name both firms [2].", "Rows \\[1-3] name both firms [@bbb]."),
        ("Rows [2–9] name both.", "Rows \\[2–9] name both."),
        ("- [2] votes were against it [1].", "- \\[2] votes were against it [@aaa]."),
        ("[2] Votes were cast.", "[@bbb] Votes were cast."),
        ("It had [7] doors.", "It had \\[7] doors."),
        ("$$x_{[1]} + y[1]$$", "$$x_{[1]} + y[1]$$"),
        ("Of $x_{[1]}$ and US$ 5 [1].", "Of $x_{[1]}$ and US$ 5 [@aaa]."),
        ("It costs $5 [1] or 6 US$ [2].", "It costs $5 [@aaa] or 6 US$ [@bbb]."),
        ("Prices rose [1, 2], wages fell [3].", "Prices rose [@aaa][@bbb], wages fell [@ccc]."),
        ("In [2024] it was.", "In \\[2024\\] it was."),
        ("Use `argv[1]` here [1].", "Use `argv[1]` here [@aaa]."),
        ("```\nargv[1]\n\n\nargv[2]\n```\n\nSo it is [1].", "```\nargv[1]\n\n\nargv[2]\n```\n\nSo it is [@aaa]."),
        ("See https://example.org/a[1] [1].", None),
        ("[text](https://example.org/[1]) [1]", "[text](https://example.org/[1]) [@aaa]"),
        ("An area of 5 m<sup>2</sup> [1].", "An area of 5 m<sup>2</sup> [@aaa]."),
        ("Written by (@somebody) [1].", "Written by (@somebody) [@aaa]."),
        ("- [x] done [1]", "- [x] done [@aaa]"),
    ],
)
def test_text_that_only_looks_like_a_citation_stays(written: str, expected: str | None) -> None:
    made = parse_section(written, NUMBERS)
    assert made == expected or (expected is None and cited(made)[-1] == "aaa")


@pytest.mark.parametrize(
    "written",
    [
        "```markdown\nSo it is [1].\n```",
        "# The port\n\nSo it is [1].",
        "**The port**\n\nSo it is [1].",
        "The Port\n========\n\nSo it is [1].",
        "So it is [1].\n\n## References\n\n[1] Accounts\n[2] Tides",
        "So it is [1].\n\n**Sources:**\n- [1] Accounts, https://example.org/a",
        "So it is [1].\n\n[^1]: Accounts",
        "So it is [1].\n\n1. Accounts - https://example.org/a\n2. Tides - https://example.org/b",
        "So it is [1].\n\nSo it is [1].\n\nSo it is [1].",
    ],
)
def test_text_around_the_section_is_left_out(written: str) -> None:
    assert parse_section(written, NUMBERS, "The port") == "So it is [@aaa]."


def test_headings_begin_at_the_third_level_and_lists_of_statements_stay() -> None:
    written = "# Dues\n\nThey rose [1].\n\n#### Rates\n\n1. one [2]\n2. two [3]"
    assert parse_section(written, NUMBERS, "The port") == (
        "### Dues\n\nThey rose [@aaa].\n\n#### Rates\n\n1. one [@bbb]\n2. two [@ccc]"
    )


def test_line_ends_that_were_escaped_twice_are_restored() -> None:
    assert parse_section("One [1].\\n\\nTwo [2].", NUMBERS) == "One [@aaa].\n\nTwo [@bbb]."


@pytest.mark.parametrize("said", ["## The port", "**The port**", "The  port [@aaa]", "The port"])
def test_a_title_is_plain_text(said: str) -> None:
    assert plain_title(said) == "The port"


@given(
    st.lists(st.sampled_from(["[1]", "[9]", "[@zz]", "【2】", "[^x]", " a ", ".", "\n", "`", "[", "]", "(", "|", "#"]))
)
def test_no_unresolved_citation_is_left(parts: list[str]) -> None:
    made = parse_section("".join(parts), NUMBERS)
    prose = re.sub(r"`[^`]*`", "", made)
    assert set(CITATION.findall(made)) <= {"aaa", "bbb", "ccc", "p4.1"} or "`" in made
    assert not re.search(r"(?<!\\)\[9\]|【\d】", prose) or "`" in made or "    " in made


def test_numbers_that_no_passage_has_are_told() -> None:
    written = "So [7]. Half [1, 9]. Rows [10-12] of `a[8]`【6】.\n\n```\na[5]\n```"
    assert unknown_numbers(written, NUMBERS) == [6, 7]
