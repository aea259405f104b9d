"""What counts as a paragraph without a citation in a report: not what Leadline's tell of themselves, nor pictures."""

from __future__ import annotations

import pytest

from leadline_plugins.citing import read
from leadline_plugins.wording import say, tags

SOURCES = "\n\n## Sources\n\n[1] One: https://example.org/1\n"


def of_ours(language: str, *names: str) -> str:
    """Return a report with two sections that cite nothing, under the headings that these names have."""
    told = "".join(f"\n\n## {say(name, language)}\n\nNobody cites for this. It goes on." for name in names)
    return f"# R\n\nThe bay is deep [1].{told}\n\n## {say('cited', language)}\n\n[1] One: https://example.org/1\n"


@pytest.mark.parametrize("language", tags())
def test_what_a_report_of_ours_tells_of_itself_is_no_paragraph_without_a_citation(language: str) -> None:
    assert read(of_ours(language, "method", "checks")).uncited == 0
    assert read(of_ours(language, "summary")).uncited == 1


def test_the_method_of_another_tools_report_is_one_of_its_paragraphs() -> None:
    assert read(f"# R\n\nIt is deep [1].\n\n## Method\n\nWe sounded it.{SOURCES}").uncited == 1
    assert read(of_ours("en", "method", "method")).uncited == 1


def test_a_picture_alone_states_nothing() -> None:
    picture = "![Depths: the bay, 40](figures/1.png)"
    assert read(f"It is deep [1].\n\n{picture}\n\n{picture} {picture}{SOURCES}").uncited == 0
    assert read(f"It is deep [1].\n\n{picture} So it is.{SOURCES}").uncited == 1
