"""A report as a fragment for a page: citations, marks, figures at its addresses, and nothing active."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from selectolax.lexbor import LexborHTMLParser
from tests.plugins.formats.conftest import png

from leadline.contracts import Context
from leadline.records import Claim, Document, Evidence, Figure, Hit, Report, Section, Source, Uncited, Verdict
from leadline.testing.context import FakeCall
from leadline_plugins.formats.html import Html

BASE = "/runs/00000000_20260101_000000"
ADDRESSES = {
    "passages": f"{BASE}/evidence/{{id}}",
    "checks": f"{BASE}/checks#claim-{{number}}",
    "figures": f"{BASE}/figures/{{id}}",
    "documents": "/documents/{id}",
}
Show = Callable[[Report], Any]


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


@pytest.fixture
def show(context: Context, make_call: Callable[..., FakeCall]) -> Show:
    async def show(report: Report) -> LexborHTMLParser:
        known = report.model_copy(update={"metadata": {"addresses": ADDRESSES}})
        fragment, contents = (await Html(context).format(known, make_call(references=False))).files
        return LexborHTMLParser((contents.data + fragment.data).decode())

    return show


async def test_a_citation_links_to_its_passages_and_has_the_verdict_on_its_claim(show: Show) -> None:
    page = await show(report_of("It is deep [@e1][@e2]. It is wide [@e1].", ("It is deep [@e1][@e2].", "supported")))
    first, second, third = page.css("a.citation")
    assert first.attributes["href"] == f"{BASE}/evidence/e1"
    assert (first.text(), first.attributes["data-claims"]) == ("[1]", "claim-1")
    assert first.attributes["class"] == "citation supported"
    assert second.attributes["href"] == f"{BASE}/evidence/e2"
    assert third.attributes["href"] == f"{BASE}/evidence/e1"


async def test_a_link_leads_to_a_site_or_to_the_page_of_a_stored_document(show: Show) -> None:
    stored, odd = "[Minutes](<knowledge://shared/0f95/a.docx>)", "[Odd](<knowledge://shared/%22onclick/a>)"
    page = await show(
        report_of(f"- {stored}\n- {odd}\n- [Site](<https://example.org/1>)\n- [File](<local://a/b.docx>)")
    )
    links = {link.text(): link.attributes["href"] for link in page.css("li a:not(.citation)")}
    assert {"Minutes": "/documents/0f95", "Site": "https://example.org/1"}.items() <= links.items()
    assert not {"Odd", "File"} & {*links}


@pytest.mark.parametrize("kind", ["partial", "contradicted", "unsupported", "not_judged"])
async def test_a_claim_that_is_not_supported_is_marked_and_underlined(show: Show, kind: str) -> None:
    page = await show(report_of("It is dry [@e1]. It is deep [@e1].", ("It is dry [@e1].", kind)))
    (mark,) = page.css(f".verdict.{kind} a")
    assert mark.attributes["href"] == f"{BASE}/checks#claim-1"
    underlined = [one.text().replace("\u00a0", " ") for one in page.css(f".claim.{kind}")]
    assert underlined == ([] if kind == "not_judged" else ["It is dry [1]"])


async def test_a_paragraph_without_a_citation_is_marked(show: Show) -> None:
    page = await show(report_of("It is deep [@e1].\n\nIt is old.", uncited="It is old."))
    assert [one.text() for one in page.css(".verdict.uncited a")] == ["†"]


async def test_a_claim_in_a_table_or_a_list_leaves_the_markdown_whole(show: Show) -> None:
    text = "| place | depth |\n|---|--:|\n| pier | 9 [@e1] |\n\n- It is deep [@e1].\n"
    page = await show(report_of(text, ("| pier | 9 [@e1] |", "partial"), ("It is deep [@e1].", "partial")))
    assert next(one.text() for one in page.css("td")) == "pier"
    assert page.css_first("td.end") is not None
    assert len(page.css("li:not(.level-1)")) == 1
    assert len(page.css(".verdict a")) == 2


async def test_formulas_footnotes_figures_and_headings_are_shown(show: Show) -> None:
    text = "### Depth\n\nIt is $x^2$ deep [@e1].[^n]\n\n![](figure:f)\n\n$$\\frac{1}{2}$$\n\n[^n]: In spring.\n"
    figure = Figure(id="f", caption="Depths", alt="Bars", evidence_ids=("e1",), media={"image/png": png()})
    report = report_of(text, figures=(figure,))
    page = await show(report)
    assert len(page.css("math")) == 2
    assert page.css_first('math[display="block"] mfrac') is not None
    image = page.css_first("figure img")
    assert image is not None
    assert image.attributes["src"] == f"{BASE}/figures/f"
    headings = [f"#{one.attributes['id']}" for one in page.css("h2, h3")]
    assert [one.attributes["href"] for one in page.css("li > a")][:2] == headings
    note = page.css_first("sup a")
    assert note is not None
    assert page.css_first(note.attributes["href"] or "") is not None


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
async def test_nothing_of_a_writer_becomes_active(show: Show, text: str) -> None:
    page = await show(report_of(text))
    assert not page.css("script, img, svg, iframe, object, form, style")
    for node in page.css("*"):
        for name, value in node.attributes.items():
            assert not name.startswith("on")
            assert name != "style"
            if name == "href":
                assert (value or "").startswith(("/", "#", "https://"))


async def test_sub_and_superscripts_are_closed_whatever_the_writer_left_open(show: Show) -> None:
    html = (await show(report_of("H<sub>2O and x<sup>2 [@e1]</sub>"))).html
    assert html.count("<sub>") == html.count("</sub>") == 1
    assert html.count("<sup>") == html.count("</sup>") == 1


async def test_tables_have_names_of_their_own_and_no_empty_headers(show: Show) -> None:
    table = "| | depth |\n|---|--:|\n| pier | 9 |\n"
    page = await show(report_of(f"{table}\nand\n\n{table}"))
    assert [one.attributes["aria-label"] for one in page.css(".table")] == ["Table 1", "Table 2"]
    assert [one.text() for one in page.css("thead tr:first-child > *")] == ["", "depth"] * 2
    assert [one.text() for one in page.css("th")] == ["depth", "depth"]
