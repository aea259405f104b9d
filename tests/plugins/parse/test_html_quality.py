"""What a page shows, says about itself, and hides: on pages made here, each with one trick of real ones."""

from __future__ import annotations

from contextlib import suppress

import pytest

from leadline.errors import Unsupported
from leadline.records import Blob, Document
from leadline_plugins.parse.html import parse
from leadline_plugins.parse.html_tree import hides

BODY = "".join(f"<p>Line {n}: the lead line sounds the depth under the keel of a ship, and more.</p>" for n in range(9))
URL = "https://example.org/a/page.html"


def read(body: str, head: str = "", lang: str = "en") -> Document:
    html = f"<html lang='{lang}'><head>{head}</head><body>{body}</body></html>"
    return parse(Blob(name=URL, media_type="text/html", data=html.encode()))


@pytest.mark.parametrize(
    ("head", "body"),
    [
        ("<style>.x{display:none}</style>", "<p class='a x'>SECRET</p>"),
        ("<style>p, #y { color:red; VISIBILITY : hidden }</style>", "<div id=y>SECRET</div>"),
        ("<style>@media print{.z{display:block}} .z{opacity:0}</style>", "<div class=z>SECRET</div>"),
        ("", "<span class=sr-only>SECRET</span>"),
        ("", "<div style='opacity: 0.0'>SECRET</div>"),
        ("", "<div style='font-size:0px; color: red'>SECRET</div>"),
        ("", "<div style='position:absolute;left:-9999px'>SECRET</div>"),
        ("", "<div style='text-indent:-9999px'>SECRET</div>"),
        ("", "<div style='height:0;overflow:hidden'>SECRET</div>"),
        ("", "<div style='clip: rect(0 0 0 0)'>SECRET</div>"),
        ("", "<svg><text>SECRET</text></svg>"),
        ("", "<select><option>SECRET</option></select>"),
        ("", "<textarea>SECRET</textarea>"),
        ("", "<object>SECRET</object>"),
        ("", "<dialog>SECRET</dialog>"),
        ("", "<img alt='' title='SECRET' data-x='SECRET'>"),
        ("", "<input type=hidden value=SECRET>"),
        ("", "<div style='font-size:1px'>SECRET</div>"),
        ("", "<div style='font-size: .1em'>SECRET</div>"),
        ("", "<div style='opacity:.01'>SECRET</div>"),
        ("", "<div style='color: transparent'>SECRET</div>"),
        ("", "<div style='color: rgba(0, 0, 0, 0)'>SECRET</div>"),
        ("", "<div style='transform: scale(0)'>SECRET</div>"),
        ("", "<p><math><mi>x</mi><annotation encoding=x>SECRET</annotation></math></p>"),
        ("", "<p><math><mi>x</mi><annotation-xml>SECRET</annotation-xml></math></p>"),
        ("", "<?php SECRET ?>"),
    ],
)
@pytest.mark.parametrize("main", [BODY, "<p>Little.</p>"])
def test_text_hidden_by_a_trick_is_not_read(head: str, body: str, main: str) -> None:
    text = read(f"<article>{main}{body}<p>After.</p></article>", head).text
    assert "SECRET" not in text
    assert "After." in text or main == BODY


@pytest.mark.parametrize(
    "style",
    [
        *("opacity:0.5", "font-size:0.9em", "left:-5px", "height:100px;overflow:hidden", "opacity:1"),
        *("opacity:inherit", "font-size:10px", "font-size:inherit", "color:rgb(255,0,0)", "color:rgba(0,0,0,0.8)"),
        "background-clip:text;color:transparent",
    ],
)
def test_styled_text_is_kept(style: str) -> None:
    assert not hides(style)


@pytest.mark.parametrize("hidden", ["&#xE0041;&#x200B;", "\U000e0041\u2060", "&#x1b;", "&#xFE01;"])
def test_characters_that_nobody_sees_are_in_no_part_of_a_document(hidden: str) -> None:
    seen = f"The br{hidden}idge"
    rows = f"<table><tr><th>a<th>{seen}<tr><td>1<td>{seen}<tr><td>2<td>3</table>"
    rows += f"<ul><li>{seen}</ul><dl><dt>{seen}<dd>x</dl>"
    body = f"<article><h1>{seen}</h1>{BODY}<h2>{seen}</h2><p>{seen}</p><pre>{seen}</pre>{rows}</article>"
    document = read(body, f"<title>{seen}</title><meta name=author content='{seen}'>")
    texts = [
        document.text,
        document.title,
        document.author,
        *(name for block in document.blocks for name in block.path),
    ]
    assert "".join(texts).count("The bridge") == document.model_dump_json().count("idge") >= 8
    assert not document.misfit()


def test_text_that_the_stylesheet_shows_again_is_kept() -> None:
    head = "<style>.x{display:none} .x{display:block} @media print{.y{display:none}}</style>"
    text = read(
        f"<article>{BODY}<p class=x>One more line here.</p><p class=y>And another line.</p></article>", head
    ).text
    assert "One more line here." in text
    assert "And another line." in text


def test_a_table_is_markdown_with_its_caption_before_it() -> None:
    table = "<table><caption>Depths</caption><tr><th>Sea</th><th>m</th></tr><tr><td>North</td><td>95</td></tr></table>"
    text = read(f"<article>{BODY}{table}{BODY}</article>").text
    assert "Depths\n\n| Sea | m |\n| --- | --- |\n| North | 95 |\n" in text


LINKED = """<script type="application/ld+json">{"@context": "https://schema.org", "@graph": [{"@type": "WebSite",
"name": "Site"}, {"@type": ["NewsArticle"], "headline": "Deep", "datePublished": "2025-03-04T05:06:07Z", "author":
[{"@type": "Person", "name": "Ann  Sea"}, {"name": "Bo"}]}]}</script>"""


@pytest.mark.parametrize(
    ("head", "body", "expected"),
    [
        (LINKED, "", ("Deep", "Ann Sea; Bo", "2025-03-04")),
        ("<title>Deep | Site</title><meta name=author content=Ann>", "", ("Deep", "Ann", None)),
        ("<meta property='og:title' content='Deep'><meta property='article:published_time' content='2025-3-4T1:00'>",
         "",
         ("Deep", "", "2025-03-04")),
        ("<title>Deep - The Site</title>", "<h1>Deep</h1>", ("Deep", "", None)),
        ("<title>x</title><meta name=citation_author content='Sea, Ann'><meta name=citation_author content='Bo'>"
         "<meta name=citation_publication_date content='2025/03/04'>", "", ("x", "Sea, Ann; Bo", "2025-03-04")),
        ("<title>深</title>", "<article><time datetime=2025-03-04>now</time></article>", ("深", "", "2025-03-04")),
        ("<title>x</title><meta name=date content='2025-99-99'>", "", ("x", "", None)),
        ("<title>x</title><script type='application/ld+json'>{broken</script>", "", ("x", "", None)),
        ("<title>x</title><script type='application/ld+json'>" + "[" * 100_000 + "</script>", "", ("x", "", None)),
        ("<title>x</title><meta name=author content='https://example.org/ann'>", "", ("x", "", None)),
    ],
)  # fmt: skip
def test_a_page_says_who_wrote_it_when(head: str, body: str, expected: tuple[str, str, str | None]) -> None:
    made = read(BODY + body, head)
    assert (made.title, made.author, made.published) == expected


def test_the_language_is_the_pages_or_found() -> None:
    assert read(BODY, lang="pt-BR").language == "pt"
    assert read(BODY, "<meta property='og:locale' content='de_AT'>", lang="").language == "de"
    assert read("<p>测深锤是水手用来测量水深的工具。</p>" * 5, lang="").language == "zh"


@pytest.mark.parametrize(
    "body",
    [
        "<div>" * 100_000 + "deep",
        "<b><i>" * 50_000 + "unclosed",
        "<p>" + "x" * 5_000_000,
        "<p>word " * 100_000,
        "<a href='" + "x" * 3_000_000 + "'>link</a> text",
        "<table>" + "<tr><td>1<td>2" * 14_000 + "</table>",
        "&" * 1_000_000 + " text",
        "<" * 1_000_000 + " text",
        "<p style='" + "a:b;" * 500_000 + "'>text",
        "<style>" + "{" * 500_000 + "</style>text",
        "<style>" + "@a{b{}" * 50_000 + "</style>text",
    ],
    ids=range(11),
)
def test_a_monstrous_page_ends(body: str) -> None:
    """The suite's time limit is the bound; what is read does not matter, what is not survived does."""
    with suppress(Unsupported):
        read(body)
