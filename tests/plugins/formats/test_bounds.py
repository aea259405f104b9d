from __future__ import annotations

import pytest

from leadline_plugins.formats.drawings import harmless
from leadline_plugins.formats.portions import MOST, portions
from leadline_plugins.formats.tex import tame
from leadline_plugins.formats.tree import text, words


@pytest.mark.parametrize(
    "tex",
    [
        r"\frac{a}{b}",
        r"x_1^2 \leq \sqrt{2}",
        r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}",
        r"50\% \text{ of } n",
        "E",
    ],
)
def test_mathematics_is_tame(tex: str) -> None:
    assert tame(tex)


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
    ],
)
def test_a_program_is_not_tame(tex: str) -> None:
    assert not tame(tex)


def test_long_paragraphs_are_set_in_portions_that_lose_nothing() -> None:
    said = "word " * 5000 + "x" * 20_000
    parts = list(portions(words(said)))
    assert len(parts) > 5
    assert "".join(map(text, parts)) == said
    assert max(len(text(part)) for part in parts) <= 2 * MOST
    assert list(portions([])) == [[]]
    assert len(list(portions(words("short")))) == 1


SVG = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:x="http://www.w3.org/1999/xlink">{}</svg>'


@pytest.mark.parametrize(
    "inside", ["", '<rect fill="url(#a)"/><use x:href="#a"/>', '<image href="data:image/png;base64,AA"/>']
)
def test_a_drawing_is_harmless(inside: str) -> None:
    assert harmless(SVG.format(inside).encode())


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
    ],
)
def test_what_runs_loads_or_is_broken_is_not_harmless(inside: str) -> None:
    assert not harmless(SVG.format(inside).encode())
    assert not harmless(SVG.format("").encode("utf-16"))
