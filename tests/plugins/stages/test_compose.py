"""What stands around the sections is taken where it cites what is there."""

from __future__ import annotations

from leadline.records import Section
from leadline_plugins.stages.compose import known
from leadline_plugins.tasks import Composition

SOUND = "The bay is deep. [@e1]"


def composed(summary: str, section: str = SOUND) -> Composition:
    return known(
        Composition(title="Depth", summary=summary, sections=(Section(id="1", title="A", text=section),)), {"e1"}
    )


def test_citations_of_what_is_not_there_go_and_the_text_stays() -> None:
    assert composed("The bay is deep. [@e1][@e9]").summary == SOUND


def test_a_text_that_cites_nothing_is_not_taken() -> None:
    assert composed("This is known. This is known. This is known.").summary == ""
    assert composed("The bay is deep. [@e9]").summary == ""


def test_nor_does_it_take_the_place_of_a_section_that_stands() -> None:
    assert composed(SOUND, "The bay is shallow.").sections[0].text == ""
    assert composed(SOUND).sections[0].text == SOUND
