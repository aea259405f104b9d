"""What is told of what the evidence does not answer."""

from __future__ import annotations

from leadline.records import Evidence, Section
from leadline_plugins.stages.gaps import unanswered

GAP = "The passages give no assets under management for the funds of Kuwait and Norway."
OWN = Section(id="1", title="Size", text="x", evidence_ids=("a",), unanswered=(GAP,))


def piece(name: str, quote: str, under: str = "") -> Evidence:
    return Evidence(id=name, source_id="s", quote=quote, span=(0, 1), claim="", under=under)


def said(*evidence: Evidence) -> str:
    other = Section(id="2", title="Shares", text="x", evidence_ids=tuple(item.id for item in evidence))
    (notice,) = unanswered([OWN, other], evidence)
    return notice.removeprefix(f"section 'Size' leaves open, by the passages its writer had: {GAP[:-1]}")


def test_a_gap_that_passages_of_another_section_have_figures_on_is_told_with_them() -> None:
    assert said(piece("b", "It has 1.33 trillion in assets.", under="Funds › Kuwait")) == (
        " (yet there are passages with figures on Kuwait in 'Shares')"
    )


def test_other_passages_say_nothing_of_a_gap() -> None:
    strange = [
        piece("a", "Kuwait has 800 billion in assets."),  # its writer was shown it
        piece("b", "The assets of Kuwait are large."),
        piece("c", "In Kuwait it is 45 degrees hot."),
        piece("d", "Peru has 3 billion in assets."),
    ]
    assert said(*strange) == ""
