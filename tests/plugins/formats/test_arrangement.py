"""Where figures stand in the text."""

from __future__ import annotations

import pytest

from leadline.records import Document, Evidence, Figure, Hit, Report, Section, Source
from leadline_plugins.formats.arrangement import with_figures_in_place

CHART = Figure(id="chart-1", caption="Yields", alt="", media={"image/png": b""}, evidence_ids=("e1", "e2"))


def report(**texts: str) -> tuple[Section, ...]:
    own = {"wheat": ("e3",), "rye": ("e1", "e2", "e4"), "oats": ("e2",)}
    return tuple(
        Section(id=name, title=name, text=text, evidence_ids=own.get(name, ())) for name, text in texts.items()
    )


def home(sections: tuple[Section, ...], figure: Figure = CHART) -> list[tuple[str, str]]:
    """Return the section that shows the figure, and the paragraph before it."""
    source = Source(id="s", hit=Hit(url="https://a.example"), document=Document(text="x"))
    passages = tuple(Evidence(id=f"e{n}", source_id="s", quote="x", span=(0, 1)) for n in range(1, 10))
    shown = with_figures_in_place(
        Report(title="", language="en", sections=sections, sources=(source,), evidence=passages, figures=(figure,))
    )
    blocks = [(section.id, (section.text or "").split("\n\n")) for section in shown.sections]
    return [
        (name, found[place - 1])
        for name, found in blocks
        for place, text in enumerate(found)
        if text.startswith("![](")
    ]


TEXTS = {"summary": "All [@e1].", "wheat": "First.\n\nSecond [@e3].", "rye": "Third.\n\nFourth.", "oats": "Fifth."}


def test_a_chart_that_no_paragraph_cites_stands_in_the_section_that_has_its_passages() -> None:
    assert home(report(**TEXTS, analysis="Sixth [@e1][@e2].", conclusion="Seventh [@e2].")) == [("rye", "Fourth.")]


def test_a_chart_stands_behind_the_paragraph_that_cites_most_of_what_it_shows() -> None:
    texts = TEXTS | {"oats": "Fifth [@e2].\n\nAgain [@e1][@e2]."}
    assert home(report(**texts, analysis="Sixth [@e1][@e2].")) == [("oats", "Again [@e1][@e2].")]


def test_a_chart_of_strange_passages_stands_at_the_end_of_the_sections() -> None:
    strange = CHART.model_copy(update={"evidence_ids": ("e9",)})
    assert home(report(**TEXTS, analysis="Sixth."), strange) == [("oats", "Fifth.")]


@pytest.mark.parametrize("around", ["summary", "analysis", "conclusion"])
def test_a_figure_stands_in_the_only_section(around: str) -> None:
    assert home(report(**{around: "One [@e1]."})) == [(around, "One [@e1].")]


def test_a_figure_follows_the_paragraph_that_shares_its_words() -> None:
    shares = CHART.model_copy(update={"caption": "Fertiliser of the rye", "alt": "Potash: 32 %; lime: 15 %"})
    texts = {"wheat": "It yields most [@e1].", "rye": "It is sown late.\n\nIt takes 32 % of potash and lime [@e1]."}
    assert home(report(**texts), shares) == [("rye", "It takes 32 % of potash and lime [@e1].")]
