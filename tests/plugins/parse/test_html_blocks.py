"""How elements of a page become Markdown."""

from __future__ import annotations

import pytest

from leadline.records import Blob, Document
from leadline_plugins.parse.html import parse

TEXT = "The lead line sounds the depth under the keel of a ship, and the tallow brings up the ground."


def document(body: str, media_type: str = "text/html") -> Document:
    page = f"<html><body><main><p>{TEXT}</p>{body}</main></body></html>"
    return parse(Blob(name="page.html", media_type=media_type, data=page.encode()))


def read(body: str) -> str:
    return document(body).text.removeprefix(TEXT).strip()


@pytest.mark.parametrize(
    ("body", "markdown"),
    [
        ("<h2>Depths <a class=headerlink href=#d>¶</a></h2><p>Deep.</p>", "## Depths\n\nDeep."),
        ("<div>one <b>two</b><p>three</p>four</div>", "one two\n\nthree\n\nfour"),
        ("<p>a<br>b<br><br>c and d</p>", "a b\n\nc and d"),
        ("<p>測鉛\n線と snake_case</p>", "測鉛線と snake_case"),
        ("<pre>a\n  <b>#</b> b</pre>", "```\na\n  # b\n```"),
        ("<ul><li>a<ul><li>b</ul><li><p>c</p><p>d</p></ul>", "- a\n  - b\n\n- c\n\n  d"),
        ("<ol start=3><li>a<li>b</ol>", "3. a\n4. b"),
        ("<dl><dt>a<dt>b<dd>c</dl>", "a / b\n:   c"),
        ("<blockquote><p>a</p><p>b</p></blockquote>", "> a\n>\n> b"),
        ("<table><caption>S</caption><tr><th>a<th>b<tr><td>1<td>2<tr><td colspan=2>3</table>",
         "S\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n| 3 |  |"),
        ("<table><tr><td rowspan=2>x<td>1<tr><td>2<tr><td>y<td>3</table>",
         "|  |  |\n| --- | --- |\n| x | 1 |\n| x | 2 |\n| y | 3 |"),
        ("<table><tr><td><p>Note</p><p>Beware of the rocks.</p></table>", "Note\n\nBeware of the rocks."),
        ("<figure><img src=x.png><figcaption>A lead</figcaption></figure>", "A lead"),
        ("<p>It holds 10<sup>6</sup> or 3.2·10<sup>−2</sup> l.</p>", "It holds 10^6 or 3.2·10^−2 l."),
        ("<p>Dug in 1950<sup><a href='#n3'>3</a></sup> by M<sup>me</sup> Roux.</p>", "Dug in 1950 by Mme Roux."),
        ("<p>It costs <s>90</s> 60 since <del>2023</del> 2024.</p>", "It costs ~~90~~ 60 since ~~2023~~ 2024."),
        ("<p>A <math><mfrac><mn>1</mn><mn>2</mn></mfrac></math> crown.</p>", "A 1/2 crown."),
        ("<p>So <math><mfrac><mrow>a+b</mrow><msup><mi>x</mi><mn>2</mn></msup></mfrac></math>.</p>", "So (a+b)/(x^2)."),
        ("<p>See <a href=/x>there</a><sup class=reference>[1]</sup> and <img class=math alt='x^2'>.</p>",
         "See there and x^2 ."),
        ("<p>Low<a class='footnote-reference brackets' href=#f>5</a>, high <a role=doc-noteref href=#g>6</a> or"
         " <a class='reference internal' href=#h>both</a>.</p>", "Low, high or both."),
        ("<p><ruby>漢<rp>(<rt>かん<rp>)</ruby>字</p>", "漢字"),
    ],
)  # fmt: skip
def test_elements_become_markdown(body: str, markdown: str) -> None:
    assert read(body) == markdown


def test_the_heading_of_a_note_box_heads_nothing_after_it() -> None:
    box = "<div class=tip><h3>Tip</h3><p>Use tallow for it.</p></div>"
    found = document(f"<h2>Leads</h2><p>Heavy.</p>{box}<p>After the box.</p>")
    assert found.blocks[-1].path == ("Leads",)


def test_an_empty_anchor_of_xhtml_swallows_nothing() -> None:
    page = f"<?xml version='1.0'?><html><body><p><a id='x'/>{TEXT}</p><p>{TEXT}!</p></body></html>"
    made = parse(Blob(name="x", media_type="application/xhtml+xml", data=page.encode()))
    assert made.text == f"{TEXT}\n\n{TEXT}!"


@pytest.mark.parametrize(
    "body",
    [
        "<p " + " ".join(f"a{n}=x" for n in range(100_000)) + ">x</p>",
        "<div>" * 30_000 + "x",
        "".join(f"<font color=c{n}><p>" for n in range(3_000)),
        "<table><tr>" + "<td colspan=100000 rowspan=100000>x" * 100 + "<tr><td>y" * 100 + "</table>",
        "<ul><li>" * 10_000 + "x",
        "<dl><dt>a<dd>" * 10_000,
        "<p>x" * 200_000,
    ],
    ids=["attributes", "nesting", "formatting", "spans", "lists", "definitions", "elements"],
)
def test_a_hostile_page_is_read_within_bounds(body: str) -> None:
    assert len(document(body).text) < 3_000_000
