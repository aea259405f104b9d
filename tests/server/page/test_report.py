"""A report as HTML: citations, marks, formulas, tables, figures; and nothing that its writers could smuggle in."""

from __future__ import annotations

from typing import Any

import pytest
from selectolax.lexbor import LexborHTMLParser

from leadline.records import Claim, Document, Evidence, Figure, Hit, Report, Section, Source, Uncited, Verdict
from leadline_server.page.report import parts_of

BASE = "/runs/00000000_20260101_000000"


def report_of(text: str, *verdicts: tuple[str, str], uncited: str = "", **more: Any) -> Report:
    """Return a report with a section; `verdicts` are claims of its text, each with a verdict."""
    sources = [
        Source(id=f"s{n}", hit=Hit(url=f"https://example.org/{n}", title=f"T{n}"), document=Document(text="Deep."))
        for n in (1, 2)
    ]
    evidence = [Evidence(id=f"e{n}", source_id=f"s{n}", quote="Deep.", span=(0, 5)) for n in (1, 2)]
    made = [
        Verdict.model_validate(
            {
                "claim": Claim(
                    id=f"a.{n}",
                    section_id="a",
                    text=claim,
                    span=(text.index(claim), text.index(claim) + len(claim)),
                    evidence_ids=("e1",),
                ),
                "verdict": kind,
            }
        )
        for n, (claim, kind) in enumerate(verdicts, start=1)
    ]
    bare = [Uncited(id="a.u", section_id="a", text=uncited, span=(text.index(uncited), len(text)))] if uncited else []
    section = Section(id="a", title="Soundings", text=text, **more.pop("section", {}))
    return Report(
        title="The harbour",
        language="en",
        sections=(section,),
        sources=tuple(sources),
        evidence=tuple(evidence),
        verdicts=tuple(made),
        uncited=tuple(bare),
        **more,
    )


def shown(report: Report) -> LexborHTMLParser:
    return LexborHTMLParser("".join(str(part.html) for part in parts_of(report, BASE)))


def test_a_citation_links_to_its_passages_and_has_the_verdict_on_its_claim() -> None:
    page = shown(report_of("It is deep [@e1][@e2]. It is wide [@e1].", ("It is deep [@e1][@e2].", "supported")))
    first, second, third = page.css("a.cite")
    assert first.attributes["href"] == f"{BASE}/evidence/e1?claims=1"
    assert first.text() == "1"
    assert "supported" in (first.attributes["aria-label"] or "")
    assert second.attributes["href"] == f"{BASE}/evidence/e2"
    assert third.attributes["href"] == f"{BASE}/evidence/e1"


@pytest.mark.parametrize("kind", ["partial", "contradicted", "unsupported", "not_judged"])
def test_a_claim_that_is_not_supported_is_marked_and_underlined(kind: str) -> None:
    page = shown(report_of("It is dry [@e1]. It is deep [@e1].", ("It is dry [@e1].", kind)))
    (mark,) = page.css("a.mark")
    assert mark.attributes["href"] == f"{BASE}/checks#claim-1"
    claim = page.css_first(f".claim.{kind}")
    assert claim is not None
    assert claim.text().startswith("It is dry")
    assert "deep" not in claim.text()


def test_a_paragraph_without_a_citation_is_marked() -> None:
    page = shown(report_of("It is deep [@e1].\n\nIt is old.", uncited="It is old."))
    assert [one.text() for one in page.css("a.mark")] == ["no citation"]


def test_a_claim_in_a_table_or_a_list_leaves_the_markdown_whole() -> None:
    text = "| place | depth |\n|---|--:|\n| pier | 9 [@e1] |\n\n- It is deep [@e1].\n"
    page = shown(report_of(text, ("| pier | 9 [@e1] |", "partial"), ("It is deep [@e1].", "partial")))
    assert next(one.text() for one in page.css("td")) == "pier"
    assert page.css_first("td.end") is not None
    assert len(page.css("li")) == 1
    assert len(page.css("a.mark")) == 2


def test_formulas_footnotes_figures_and_headings_are_shown() -> None:
    text = "### Depth\n\nIt is $x^2$ deep [@e1].[^n]\n\n![](figure:f)\n\n$$\\frac{1}{2}$$\n\n[^n]: In spring.\n"
    figure = Figure(id="f", caption="Depths", alt="Bars", evidence_ids=("e1",), media={"image/png": b"png"})
    report = report_of(text, figures=(figure,))
    page = shown(report)
    assert len(page.css("math")) == 2
    assert page.css_first('math[display="block"] mfrac') is not None
    image = page.css_first("figure img")
    assert image is not None
    assert image.attributes["src"] == f"{BASE}/figures/1"
    heading = page.css_first("h3")
    assert heading is not None
    assert [one.anchor for one in parts_of(report, BASE)[0].headings] == ["section-1", heading.attributes["id"]]
    note = page.css_first("sup a")
    assert note is not None
    assert page.css_first(note.attributes["href"] or "") is not None


def test_inferences_and_open_questions_are_told_apart() -> None:
    page = shown(report_of("Deep [@e1].", section={"inferences": ("It is *safe*.",), "unanswered": ("Since when?",)}))
    inference, asked = page.css_first(".inference"), page.css_first(".open li")
    assert inference is not None
    assert asked is not None
    assert (inference.text(), asked.text()) == ("Inference It is safe.", "Since when?")


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script> [@e1]",
        "<img src=x onerror=alert(1)> [@e1]",
        "[go](javascript:alert(1)) [@e1]",
        "[go](data:text/html;base64,PHNjcmlwdD4=) [@e1]",
        "![x](https://evil.example/pixel.png) [@e1]",
        "![x](javascript:alert(1)) [@e1]",
        '[go](https://example.org/"onmouseover="alert(1)) [@e1]',
        "$\\href{javascript:alert(1)}{x}$ and $\\unicode{x}$ [@e1]",
        "`<svg onload=alert(1)>` <sub onclick=alert(1)>x</sub> [@e1]",
        "[@<script>] [@e1]",
        "```html\n<script>alert(1)</script>\n```\n[@e1]",
    ],
)
def test_nothing_of_a_writer_becomes_active(text: str) -> None:
    page = shown(report_of(text))
    assert not page.css("script, img, svg, iframe, object, form, style")
    for node in page.css("*"):
        for name, value in node.attributes.items():
            assert not name.startswith("on")
            assert name != "style"
            if name == "href":
                assert (value or "").startswith(("/", "#", "https://"))


def test_sub_and_superscripts_are_closed_whatever_the_writer_left_open() -> None:
    (part,) = parts_of(report_of("H<sub>2O and x<sup>2 [@e1]</sub>"), BASE)
    assert part.html.count("<sub>") == part.html.count("</sub>") == 1
    assert part.html.count("<sup>") == part.html.count("</sup>") == 1


def test_tables_have_names_of_their_own_and_no_empty_headers() -> None:
    table = "| | depth |\n|---|--:|\n| pier | 9 |\n"
    page = shown(report_of(f"{table}\nand\n\n{table}"))
    assert [one.attributes["aria-label"] for one in page.css(".table")] == ["Table 1", "Table 2"]
    assert [one.text() for one in page.css("thead tr:first-child > *")] == ["", "depth"] * 2
    assert [one.text() for one in page.css("th")] == ["depth", "depth"]
