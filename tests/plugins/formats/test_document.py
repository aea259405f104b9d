from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from leadline.records import Report, Section
from leadline_plugins.formats.arrangement import arranged
from leadline_plugins.formats.blocks import Blocks, plain_text, widths
from leadline_plugins.formats.document import Medium, document
from leadline_plugins.formats.tree import Node, text, words
from leadline_plugins.formats.typst import typst_blocks, with_unbreakable_rows

Make = Callable[..., Report]


def blocks(markdown: str, columns: int | None = None) -> list[Node]:
    made = Blocks(lambda ids: words(f"<{','.join(ids)}>"), lambda name: None, lambda number: [], lambda: "h", columns)
    return list(made.of(markdown))


def nodes(tree: Any, kind: str) -> Iterator[Any]:
    if isinstance(tree, dict):
        if tree["t"] == kind:
            yield tree["c"]
        yield from nodes(tree.get("c"), kind)
    elif isinstance(tree, list):
        for item in tree:
            yield from nodes(item, kind)


@pytest.mark.parametrize("prices", ["from $5 to $10", "US$ 5M, or $5M to US$ 9M", r"\$5 and $6"])
def test_prices_are_no_formula(prices: str) -> None:
    tree = blocks(prices)
    assert not list(nodes(tree, "Math"))
    assert text(tree) == prices.replace("\\", "")


@pytest.mark.parametrize(
    "words", [r"\[1\] The first", r'\[decorators\] "def"', r"\(see above\)", r"\[parameter\_list\]"]
)
def test_escaped_brackets_are_no_formula(words: str) -> None:
    tree = blocks(words)
    assert not list(nodes(tree, "Math"))
    assert text(tree) == words.replace("\\", "")


@pytest.mark.parametrize("formula", ["$x_1 + y$", r"\(a^2\)", r"$\alpha$", "$n$"])
def test_formulas_are_found(formula: str) -> None:
    ((kind, _),) = nodes(blocks(f"See {formula} here."), "Math")
    assert kind == {"t": "InlineMath"}


def test_display_formulas_may_run_over_lines() -> None:
    ((kind, tex),) = nodes(blocks("So\n$$\na = b\n$$\nholds."), "Math")
    assert (kind["t"], tex) == ("DisplayMath", "a = b")


@pytest.mark.parametrize(
    ("written", "url"),
    [
        ("see https://example.org/a_b.", "https://example.org/a_b"),
        ("(https://example.org/a(b))", "https://example.org/a(b)"),
        ("见https://example.org/路。", "https://example.org/"),
        ("<https://example.org/x>", "https://example.org/x"),
        ("[name](https://example.org/y)", "https://example.org/y"),
    ],
)
def test_addresses_become_links(written: str, url: str) -> None:
    ((_, _, (found, _)),) = nodes(blocks(written), "Link")
    assert found == url


@pytest.mark.parametrize("url", ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "vbscript:x", "#top"])
def test_links_elsewhere_than_to_the_web_are_words(url: str) -> None:
    tree = blocks(f"[name]({url})")
    assert not list(nodes(tree, "Link"))
    assert "name" in text(tree)


def test_raw_html_is_text_but_for_breaks_and_scripts_of_formulas() -> None:
    tree = blocks("<b>x</b> H<sub>2</sub>O a<br>b <sup>open")
    assert text(tree) == "<b>x</b> H2O a b open"
    assert len(list(nodes(tree, "Subscript"))) == 1


def test_footnotes_that_name_each_other_end() -> None:
    tree = blocks("a[^1]\n\n[^1]: see [^2]\n[^2]: see [^1]\n")
    assert len(list(nodes(tree, "Note"))) >= 1


def test_blocks_nested_too_deep_keep_their_text() -> None:
    assert "bottom" in text(blocks("- " * 3000 + "bottom"))
    assert "bottom" in text(blocks("> " * 3000 + "bottom"))
    assert "middle" in text(blocks("**a *b " * 2000 + "middle" + "* **" * 2000))


def test_characters_that_hide_or_reverse_text_are_removed() -> None:
    assert (
        text(blocks("safe \u202egnp.exe\u202c \u2066x\u2069 bell\x07 lone\ud800")) == "safe gnp.exe x bell lone\ufffd"
    )


def test_a_table_wider_than_the_page_is_several_that_begin_with_its_first_column() -> None:
    head = "|" + "|".join(f"h{n}" for n in range(25)) + "|"
    row = "|" + "|".join(f"c{n}" for n in range(25)) + "|"
    tables = list(nodes(blocks(f"{head}\n|{'-|' * 25}\n{row}\n", columns=10), "Table"))
    assert [len(columns) for _, _, columns, _, _, _ in tables] == [9, 9, 9]
    assert all("h0" in text(head) for _, _, _, (_, [[_, [(_, _, _, _, head), *_]]]), _, _ in tables)
    told = " ".join(text(table[3:5]) for table in tables)
    assert all(f"c{n}" in told for n in range(25))


def test_small_tables_keep_their_width_and_large_ones_fill_the_page() -> None:
    small = [[words("a"), words("b")], [words("1"), words("2")]]
    large = [[words("Year"), words("What")], [words("2024"), words("word " * 60)]]
    assert widths(small) == [0, 0]
    year, what = widths(large)
    assert year + what == pytest.approx(1, abs=0.001)
    assert 0.05 < year < what


def test_short_rows_of_tables_stay_whole_and_long_ones_may_break() -> None:
    tree = blocks(f"- In a list\n\n  | a | b |\n  |---|---|\n  | x | short |\n  | y | {'long ' * 400} |\n")
    ((_, _, _, _, [(_, _, _, rows)], _),) = nodes(with_unbreakable_rows(tree), "Table")
    assert [["typst:breakable", "false"] in row[1][0][0][2] for row in rows] == [True, False]


def test_citations_are_links_to_their_source_with_evidence_and_claim(make_report: Make) -> None:
    tree = document(make_report(), Medium()).blocks
    links = [(text(inside), url, attr) for attr, inside, (url, _) in nodes(tree, "Link") if "citation" in attr[1]]
    by_said = {said: (url, dict(attr[2])) for said, url, attr in links}
    assert by_said["[1]"] == ("#ref-1", {"data-evidence": "quote-1", "data-claims": "claim-1"})
    assert by_said["[4]"] == ("#ref-4", {"data-evidence": "quote-4", "data-claims": "claim-2"})


def test_each_figure_follows_its_first_mention_once_and_has_the_number_of_its_position(make_report: Make) -> None:
    tree = document(make_report(), Medium()).blocks
    figures = [place for place, block in enumerate(tree) if block["t"] == "Figure"]
    assert [text(tree[place])[:17] for place in figures] == ["Figure 1. A plane", "Figure 2. A line."]
    assert [text(tree[place - 1]).partition("Figure ")[2][:1] for place in figures] == ["1", "2"]


def test_renumbered_figures_leave_every_claim_in_its_place(make_report: Make, judge: Callable[..., Any]) -> None:
    given = "See Figure 12: dry [@e1]. Also Figure 1. It is wide [@e2]."
    known = make_report(given).figures[1]
    figures = tuple(known.model_copy(update={"id": f"f{n}", "caption": f"No. {n}"}) for n in range(1, 13))
    verdicts = (judge(given, "See Figure 12: dry [@e1].", "partial"), judge(given, "It is wide [@e2].", "unsupported"))
    made = arranged(make_report(given, figures=figures, verdicts=verdicts))
    shown = made.sections[0].text or ""
    assert [figure.caption for figure in made.figures[:3]] == ["No. 12", "No. 1", "No. 2"]
    assert [shown[slice(*one.claim.span)] for one in made.verdicts] == ["See Figure 1: dry [@e1].", "It is wide [@e2]."]
    assert shown.startswith("See Figure 1: dry [@e1]. Also Figure 2. It is wide [@e2].\n\n![](figure:f12)")
    assert arranged(made) == made


def test_a_figure_is_placed_where_the_text_shows_it(make_report: Make) -> None:
    tree = document(make_report("Early.\n\n- a list ![](figure:f1)\n\nLate: Figure 1."), Medium()).blocks
    kinds = [block["t"] for block in tree]
    assert kinds[1:4] == ["Para", "BulletList", "Figure"]
    assert kinds.count("Figure") == 2


def test_failed_claims_are_listed_with_the_reason(make_report: Make) -> None:
    told = text(document(make_report(), Medium()).blocks)
    assert "2 claims checked: supported 1, contradicted 1." in told
    assert "≠ contradicted: South 南 · 7 (70 there; judge: model)" in told
    assert "claims checked" not in text(document(make_report(verdicts=()), Medium()).blocks)


def test_without_references_nothing_links_to_them(make_report: Make) -> None:
    tree = document(make_report(), Medium(), references=False).blocks
    assert "Cited Sources" not in text(tree)
    assert not [url for _, _, (url, _) in nodes(tree, "Link") if url.startswith("#ref")]


def test_sections_without_text_or_title_are_set(make_report: Make) -> None:
    report = make_report(sections=(Section(id="x", title="", text=None),), figures=())
    assert document(report, Medium()).blocks[0]["t"] == "Header"


def test_a_pdf_keeps_a_table_with_its_introduction_and_the_statistics_with_a_source(make_report: Make) -> None:
    report = make_report("The depths are these.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nThat is all.")
    made = list(typst_blocks(document(report, Medium()).blocks))
    said = [block["c"][1] if block["t"] == "RawBlock" else text(block) for block in made]
    assert said[said.index("The depths are these.") - 1] == "#leading["
    assert said[said.index("That is all.") - 1] != "#leading["
    kept = said.index("#kept[")
    assert said[kept + 1] == "#further["
    assert said[kept + 4] == "Citation Statistics"
    assert (said[-1], said.count("#kept[")) == ("]", 1)
    blocks = typst_blocks(document(report, Medium(), references=False).blocks)
    assert not [block for block in blocks if "kept" in str(block)]


def test_plain_text_has_no_space_beside_full_width_punctuation() -> None:
    assert plain_text("…转移支付 [@e1]，地方需要 **钱** [@e2]。") == "…转移支付，地方需要 钱。"
    assert plain_text("It is deep [@e1], they say.") == "It is deep, they say."


def test_a_caption_in_chinese_has_a_space_as_wide_as_its_characters(make_report: Callable[..., Report]) -> None:
    report = make_report("Shown ![](figure:f2).")
    assert "Figure 1. " in text(document(report, Medium()).blocks)
    assert "图 1\u3000" in text(document(report.model_copy(update={"language": "zh"}), Medium()).blocks)


def test_headings_below_a_heading_that_is_left_out_take_its_level(make_report: Make) -> None:
    text = "### One\n\nDeep [@e1].\n\n### Two\n\n#### Three"
    report = make_report(sections=(Section(id="1", title="How deep", text=text),), figures=(), verdicts=())
    assert [content[0] for content in nodes(document(report, Medium()).blocks, "Header")][:3] == [1, 1, 2]
