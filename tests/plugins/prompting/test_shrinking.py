"""Inputs that exceed a model's context lose the least relevant, and never the last of it."""

from __future__ import annotations

from leadline.research_findings import Question
from leadline_plugins.prompting.numbered_passages import ShownPassage, ShownSource
from leadline_plugins.prompting.shrinking import halve_request_passages
from leadline_plugins.prompting.writing_tasks import (
    Disagreement,
    OutlinedSection,
    PartToWrite,
    SectionText,
    SynthesizeRequest,
    shrunk,
)

QUESTION = Question(text="How deep is the bay?", language="en")


def test_the_better_half_of_the_passages_stays_with_its_numbers() -> None:
    passages = tuple(ShownPassage(id=str(number), number=number, text="Deep.") for number in (1, 2, 3, 4))
    sources = (
        ShownSource(id="s1", title="A", passages=passages[:2]),
        ShownSource(id="s2", title="B", passages=passages[2:]),
    )
    asked = SynthesizeRequest(question=QUESTION, outline=(), sources=sources, best_first=("4", "1", "2", "3"))
    smaller = halve_request_passages(asked)
    assert smaller
    assert [(source.id, [one.number for one in source.passages]) for source in smaller.sources] == [
        ("s1", [1]),
        ("s2", [4]),
    ]
    smallest = halve_request_passages(smaller)
    assert smallest
    assert [one.number for source in smallest.sources for one in source.passages] == [4]
    assert halve_request_passages(smallest) is None


PASSAGES = [ShownPassage(id=f"p{number}", number=number, text="Deep.") for number in range(1, 7)]
SOURCES = (
    ShownSource(id="s1", title="A", passages=tuple(PASSAGES[:3])),
    ShownSource(id="s2", title="B", passages=tuple(PASSAGES[3:])),
)
BOOK = SynthesizeRequest(
    question=QUESTION,
    outline=(
        OutlinedSection(id="1", title="Depth", passages=(1, 4)),
        OutlinedSection(id="2", title="Dues", passages=(2, 5)),
    ),
    sources=SOURCES,
    best_first=("p1", "p2", "p4", "p5", "p3", "p6"),
    conflicts=(Disagreement(about="the depth", passages=(1, 6)),),
)


def numbers(asked: SynthesizeRequest | None) -> list[int]:
    assert asked
    return [passage.number for source in asked.sources for passage in source.passages]


def test_a_small_window_keeps_the_passages_of_the_section_and_those_that_disagree() -> None:
    asked = BOOK.model_copy(update={"wanted": (PartToWrite(id="2"),)})
    smaller = shrunk(asked)
    assert numbers(smaller) == [1, 2, 5, 6]
    assert smaller
    assert '"passages": [2, 5]' in smaller.as_text()
    assert numbers(shrunk(smaller)) == [1, 2]


def test_shrinking_keeps_cited_passages_longest_then_the_beginnings() -> None:
    written = (SectionText(id="1", text="Deep [4].\n\nVery [3].\n\nIndeed."), SectionText(id="2", text="Paid [2]."))
    asked: SynthesizeRequest | None
    asked = BOOK.model_copy(update={"wanted": (PartToWrite(id="summary"),), "written": written})
    shown = []
    while asked := shrunk(asked):
        shown.append((numbers(asked), [one.text for one in asked.written]))
    assert shown[0] == ([1, 2, 3, 4, 6], [one.text for one in written])
    assert shown[-1][1] == ["Deep [4].", "Paid [2]."]
    assert shown[-1][0], "the best passage is never left out"
