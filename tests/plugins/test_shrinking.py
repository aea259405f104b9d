"""What is left out where inputs are over a model's context: the least relevant, and never the last of it."""

from __future__ import annotations

from leadline.findings import Digest, Plan, Question
from leadline.records import Document, Evidence, Hit, Section, Source
from leadline_plugins.shrinking import (
    fewer_claims,
    fewer_passages,
    fewer_pieces,
    first_paragraphs,
    less_evidence,
    less_to_sort,
    shorter_source,
)
from leadline_plugins.tasks.checking import ClaimToVerify, VerifyRequest
from leadline_plugins.tasks.reading import ExtractRequest, ReviewRequest
from leadline_plugins.tasks.sorting import PlaceRequest, SortRequest, Unplaced
from leadline_plugins.tasks.writing import Passage, SynthesizeRequest, WriteRequest

QUESTION = Question(text="How deep is the bay?", language="en")
PLAN = Plan(title="Depth", sections=())


def evidence(number: int) -> Evidence:
    return Evidence(
        id=f"e{number}", source_id=f"s{number}", quote="Deep.", span=(0, 5), claim="Deep.", score=float(number)
    )


def source(number: int, text: str) -> Source:
    return Source(id=f"s{number}", hit=Hit(url=f"https://example.org/{number}", title=""), document=Document(text=text))


def test_evidence_stands_best_first_and_one_piece_stays() -> None:
    pieces = tuple(evidence(number) for number in (5, 4, 3, 2, 1))
    inputs = ReviewRequest(question=QUESTION, plan=PLAN, round=1, digest=Digest(), evidence=pieces)
    smaller = less_evidence(inputs)
    assert smaller
    assert smaller.evidence == pieces[:2]
    assert less_evidence(inputs.model_copy(update={"evidence": pieces[:1]})) is None


def test_the_better_half_of_passages_and_claims_stays() -> None:
    passages = tuple(Passage(id=str(number), quote="Deep.") for number in range(3))
    asked = SynthesizeRequest(question=QUESTION, title="Depth", passages=passages)
    claims = tuple(ClaimToVerify(id=str(number), claim="Deep.", passages=()) for number in range(4))
    fewer = fewer_passages(asked)
    assert fewer
    assert fewer.passages == passages[:1]
    assert fewer_passages(fewer) is None
    checked = fewer_claims(VerifyRequest(claims=claims))
    assert checked
    assert checked.claims == claims[:2]
    assert fewer_claims(VerifyRequest(claims=claims[:1])) is None


def test_the_better_half_of_unsure_pieces_is_placed_and_one_at_least() -> None:
    pieces = tuple(Unplaced(number=number, quote="Deep.") for number in (1, 2, 3))
    smaller = fewer_pieces(PlaceRequest(question=QUESTION, sections=(), pieces=pieces))
    assert smaller
    assert smaller.pieces == pieces[:1]
    assert fewer_pieces(smaller) is None


def test_of_a_source_the_surroundings_of_what_was_found_stay() -> None:
    text = "x" * 4000 + " The bay is 40 fathoms deep. " + "y" * 2000
    inputs = ExtractRequest(
        question=QUESTION, query="bay", source=source(1, text), snippet="The bay is 40 fathoms deep."
    )
    asked = []
    while smaller := shorter_source(inputs):
        asked.append(inputs := smaller)
    assert [len(one.source.document.text) for one in asked] == [3014, 1507, 753]
    assert all("The bay is 40 fathoms deep." in one.source.document.text for one in asked)
    beginning = shorter_source(inputs.model_copy(update={"snippet": "", "source": source(1, text)}))
    assert beginning
    assert beginning.source.document.text == text[: len(text) // 2]


def test_sorting_goes_without_the_texts_first_then_with_the_best() -> None:
    pieces = tuple(evidence(number) for number in (1, 4, 2, 3))
    sources = tuple(source(number, "Deep.") for number in (1, 2, 3, 4))
    bare = less_to_sort(SortRequest(question=QUESTION, plan=PLAN, evidence=pieces, sources=sources))
    assert bare
    assert (bare.evidence, {one.document.text for one in bare.sources}) == (pieces, {""})
    best = less_to_sort(bare)
    assert best
    assert [item.id for item in best.evidence] == ["e4", "e3"]
    assert [one.id for one in best.sources] == ["s3", "s4"]
    assert less_to_sort(best.model_copy(update={"evidence": best.evidence[:1]})) is None


def test_sections_shown_in_part_cannot_come_back_for_the_whole() -> None:
    sections = (Section(id="1", title="A", text="One.\n\nTwo.\n\nThree."), Section(id="2", title="B", text="Four."))
    inputs = WriteRequest(question=QUESTION, plan=PLAN, sections=sections, evidence=())
    smaller = first_paragraphs(inputs)
    assert smaller
    assert [(one.id, one.text) for one in smaller.sections] == [("", "One.\n\nTwo."), ("", "Four.")]
    smallest = first_paragraphs(smaller)
    assert smallest
    assert [one.text for one in smallest.sections] == ["One.", "Four."]
    assert first_paragraphs(smallest) is None
