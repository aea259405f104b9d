"""Inputs that exceed a model's context lose the least relevant, and never the last of it."""

from __future__ import annotations

from leadline.research_findings import Question
from leadline_plugins.prompting.numbered_passages import ShownPassage, ShownSource
from leadline_plugins.prompting.shrinking import halve_request_passages, halve_sections
from leadline_plugins.prompting.writing_tasks import AnalyzeRequest, SectionText, WriteRequest

QUESTION = Question(text="How deep is the bay?", language="en")


def test_the_better_half_of_the_passages_stays_with_its_numbers() -> None:
    passages = tuple(ShownPassage(id=str(number), number=number, text="Deep.") for number in (1, 2, 3, 4))
    sources = (
        ShownSource(id="s1", title="A", passages=passages[:2]),
        ShownSource(id="s2", title="B", passages=passages[2:]),
    )
    smaller = halve_request_passages(
        AnalyzeRequest(question=QUESTION, sources=sources, best_first=("4", "1", "2", "3"))
    )
    assert smaller
    assert [(source.id, [one.number for one in source.passages]) for source in smaller.sources] == [
        ("s1", [1]),
        ("s2", [4]),
    ]
    smallest = halve_request_passages(smaller)
    assert smallest
    assert [one.number for source in smallest.sources for one in source.passages] == [4]
    assert halve_request_passages(smallest) is None


def test_sections_that_are_shown_in_part_cannot_replace_the_whole() -> None:
    sections = (
        SectionText(id="1", title="A", text="One.\n\nTwo.\n\nThree."),
        SectionText(id="2", title="B", text="Four."),
    )
    smaller = halve_sections(WriteRequest(question=QUESTION, sections=sections))
    assert smaller
    assert [(one.id, one.text) for one in smaller.sections] == [("", "One.\n\nTwo."), ("", "Four.")]
    smallest = halve_sections(smaller)
    assert smallest
    assert [one.text for one in smallest.sections] == ["One.", "Four."]
    assert halve_sections(smallest) is None
