from __future__ import annotations

import pytest

from leadline.records import Figure, Report
from leadline_plugins.formats.blocks import MOST, split_long
from leadline_plugins.formats.figures import is_harmless_svg, numbered
from leadline_plugins.formats.formulas import is_safe_formula
from leadline_plugins.formats.tree import text, words


@pytest.mark.parametrize(
    "tex",
    [
        r"\frac{a}{b}",
        r"x_1^2 \leq \sqrt{2}",
        r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}",
        r"50\% \text{ of } n",
        "E",
        r"\begin{cases} \frac{1}{x^{2^{n}}} & \left( \sqrt{\frac{a}{b}} \right) \end{cases}",
        r"1 + \frac{1}{1 + \frac{1}{1 + \frac{1}{1 + \frac{1}{x}}}}",
    ],
)
def test_mathematics_is_tame(tex: str) -> None:
    assert is_safe_formula(tex)


@pytest.mark.parametrize(
    "tex",
    [
        r"\input{/etc/passwd}",
        r"\text{\write18{id}}",
        r"\csname input\endcsname",
        r"\def\x{y}",
        r"\begin{filecontents}{x}\end{filecontents}",
        r"^^5cinput{x}",
        "a % b",
        "a}{b",
        r"a \) \input{x} \( b",
        "#1",
        r"\href{javascript:x}{y}",
        r"\sqrt{" * 30 + "}" * 30,
        "x^{{}" * 24 + "}" * 24,
        r"\sqrt{{}" * 200 + "}" * 200,
        r"\left(" * 20 + "x" + r"\right)" * 20,
        r"\begin{matrix}" * 20 + "x" + r"\end{matrix}" * 20,
        r"\sqrt" * 40 + "{x}",
    ],
)
def test_a_program_is_not_tame(tex: str) -> None:
    assert not is_safe_formula(tex)


def test_long_paragraphs_are_set_in_portions_that_lose_nothing() -> None:
    said = "word " * 5000 + "x" * 20_000
    parts = list(split_long(words(said)))
    assert len(parts) > 5
    assert "".join(map(text, parts)) == said
    assert max(len(text(part)) for part in parts) <= 2 * MOST
    assert list(split_long([])) == [[]]
    assert len(list(split_long(words("short")))) == 1


SVG = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:x="http://www.w3.org/1999/xlink">{}</svg>'


@pytest.mark.parametrize(
    "inside",
    [
        *(
            "",
            '<rect fill="url(#a)"/><use x:href="#a"/>',
            '<image href="data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAgAAAAEA"/>',
        ),
        '<style>*{stroke: rgb(1, 2, 3)}</style><g id="f (x)" style="clip-path: url(&quot;#a&quot;)"/>',
        '<g transform="translate(1 2) rotate(9)"/>',
        "<text>GDP (million), a@b, C:\\x</text>",
        '<metadata><r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" r:about="http://x"/></metadata>',
    ],
)
def test_a_drawing_is_harmless(inside: str) -> None:
    assert is_harmless_svg(SVG.format(inside).encode())


@pytest.mark.parametrize(
    "inside",
    [
        "<script>1</script>",
        '<g onload="x"/>',
        '<image x:href="file:///etc/passwd"/>',
        '<image href="&#102;ile:x"/>',
        '<style>@import "x"</style>',
        '<rect fill="url(http://x)"/>',
        '<a href="javascript:1"/>',
        "<g>",
        '<a><animate attributeName="href" values="javascript:1"/></a>',
        '<set attributeName="href" to="javascript:1"/>',
        "<style>rect{fill:u\\72l(http://x)}</style>",
        "<style>@\\69mport 'http://x';</style>",
        "<style>rect{background:image-set('http://x' 1x)}</style>",
        "<rect style=\"fill:URL( 'http://x')\"/>",
        '<g xml:base="http://x"><use href="#a"/></g>',
        '<metadata><s:script xmlns:s="http://www.w3.org/1999/xhtml">1</s:script></metadata>',
        '<?xml-stylesheet href="http://x"?>',
        '<filter><feImage href="http://x"/></filter>',
        '<image href="data:image/svg+xml;base64,AA"/>',
        '<image href="data:image/png;base64,AA"/>',
        '<image href="data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAYAAAAGAA"/>',  # 24,576 x 24,576 pixels
    ],
)
def test_an_svg_that_runs_loads_or_is_broken_is_harmful(inside: str) -> None:
    assert not is_harmless_svg(SVG.format(inside).encode())
    assert not is_harmless_svg(SVG.format("").encode("utf-16"))


def test_a_picture_that_unpacks_to_gigabytes_is_left_out_of_every_format() -> None:
    small = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes([0, 0, 2, 0, 0, 0, 1, 0])
    pictures = {"small": small, "bomb": small[:-8] + bytes([0, 0, 0x60, 0] * 2), "cut": small[:-1]}
    figures = [Figure(id=name, caption="", alt="", media={"image/png": data}) for name, data in pictures.items()]
    report = Report(title="T", language="en", sections=(), sources=(), evidence=(), figures=tuple(figures))
    shown = {name: one.file is not None for name, one in numbered(report, ("image/png",)).items()}
    assert shown == {"small": True, "bomb": False, "cut": False}
