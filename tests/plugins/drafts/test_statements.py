"""Statements whose mark names no passage: they are held against no other's, and a source's id is read."""

from __future__ import annotations

import pytest

from leadline.citations import cited
from leadline.records import Document, Evidence, Hit, Report, Section, Source
from leadline_plugins.drafts import Draft, Known, left_out, normalised
from leadline_plugins.drafts.faults import cites_nothing, faults, of_use
from leadline_plugins.stages.claims import claims_of

A, B, C = "ea1b2c3d4e5", "eb1b2c3d4e5", "ec1b2c3d4e5"
ONE, TWO = "s1a1b2c3d4e", "s2a1b2c3d4e"
QUOTES = {A: "The mole keeps silt out of the bay [9].", B: "Port dues paid the dredgers of Elmford by the ton."}
QUOTES |= {C: "Pilots of Elmford sounded nine fathoms beside the lighthouse in winter."}
PIECES = tuple(
    Evidence(id=name, source_id=ONE if name == A else TWO, quote=quote, span=(0, len(quote)), claim="")
    for name, quote in QUOTES.items()
)
KNOWN = Known.of_evidence(PIECES)


def draft(text: str) -> str:
    return normalised(text, KNOWN).text


def judged(text: str) -> dict[str, tuple[str, ...]]:
    section = Section(id="1", title="Depth", text=draft(text), evidence_ids=tuple(QUOTES))
    source = Source(id=ONE, hit=Hit(url="https://example.org/a"), document=Document(text=""))
    made = Report(title="Depth", language="en", sections=(section,), sources=(source,), evidence=PIECES)
    return {claim.text: claim.cite_ids for claim in claims_of(made)}


@pytest.mark.parametrize("mark", ["[3]", "(Source 2)", "[@e0123456789]", "[@s0123456789]", "【3†source】"])
def test_a_statement_that_lost_its_mark_is_held_against_no_other(mark: str) -> None:
    text = f"The mole keeps silt out [@{A}]. Pilots lower the draught {mark}. Dues paid the dredgers [@{B}]."
    made = normalised(text, KNOWN)
    assert made.text == f"The mole keeps silt out [@{A}]. Pilots lower the draught.\n\nDues paid the dredgers [@{B}]."
    assert (made.left_out, made.lost) == (1, (mark,))
    assert judged(text) == {"The mole keeps silt out": (A,), "Dues paid the dredgers": (B,)}


def test_a_mark_that_a_page_sets_in_another_way_is_copied_and_another_number_is_not() -> None:
    pieces = [PIECES[0].model_copy(update={"quote": "It keeps silt out of the bay.[9][12] It is 95 years old."})]
    known = Known.of_evidence(pieces)
    text = f"Silt is kept out of the bay [9][12]. It is old. [@{A}]"
    assert normalised(text, known).lost == ()
    assert normalised(text.replace("[9][12]", "[1]"), known).lost == ("[1]",)


def test_a_heading_states_nothing() -> None:
    made = normalised(f"### Silt [1]\nIt is old [@{A}].\n\n### Dues [2]\n\nPort dues paid [@{B}].", KNOWN)
    assert (made.lost, made.left_out) == ((), 2)
    assert made.text == f"### Silt\nIt is old [@{A}].\n\n### Dues\n\nPort dues paid [@{B}]."


def test_statements_without_a_source_side_by_side_stay_together() -> None:
    text = f"It is wide [1]. It is deep [2]. It is old [@{A}]. It is new [3]."
    assert draft(text) == f"It is wide. It is deep.\n\nIt is old [@{A}]. It is new."


@pytest.mark.parametrize(
    ("text", "made"),
    [
        (f"It is wide [1] [@{A}]. It is old [@{B}].", f"It is wide [@{A}]. It is old [@{B}]."),
        (f"It is wide, as some say [1], and old [@{A}].", f"It is wide, as some say, and old [@{A}]."),
        (f"It keeps silt out of the bay [9]. It is old. [@{A}]", f"It keeps silt out of the bay. It is old. [@{A}]"),
        (f"- It is wide [1]\n- It is old [@{A}]", f"- It is wide\n\n- It is old [@{A}]"),
        (f"- It is wide [1]. It is old [@{A}]", f"- It is wide.\n\n  It is old [@{A}]"),
        (f"| a | b |\n|---|---|\n| x [1] | 1 |\n| y | [@{A}] |", f"| a | b |\n|---|---|\n| x | 1 |\n| y | [@{A}] |"),
        (f"> It is wide [1].\n> It is old [@{A}]", f"> It is wide.\n> It is old [@{A}]"),
        (f"**It is wide [1]. It is old** [@{A}].", f"**It is wide. It is old** [@{A}]."),
    ],
)  # fmt: skip
def test_what_is_cited_or_copied_or_no_paragraph_stays_whole(text: str, made: str) -> None:
    assert draft(text) == made


@pytest.mark.parametrize(
    "mark",
    [f"[@{ONE}]", f"[{ONE}]", f"({ONE})", f"(Source {ONE})", f"@{ONE}", f"[source_id: {ONE}]", f"[@{ONE.upper()}]"],
)
def test_the_id_of_a_source_is_its_only_passage(mark: str) -> None:
    assert draft(f"The mole keeps silt out {mark}.") == f"The mole keeps silt out [@{A}]."
    assert not cites_nothing(f"The mole keeps silt out {mark}.", KNOWN)


def test_of_several_passages_of_a_source_the_one_that_says_it() -> None:
    assert draft(f"By the lighthouse pilots sounded nine fathoms in winter [@{TWO}].").endswith(f" winter [@{C}].")
    made = normalised(f"It is in Elmford [@{TWO}]. The mole keeps silt out [@{A}].", KNOWN)
    assert (made.lost, cited(made.text)) == ((f"[@{TWO}]",), [A])


def test_the_id_of_a_source_that_a_page_says_is_none() -> None:
    known = Known.of_evidence([PIECES[0].model_copy(update={"quote": f"It says ({ONE})."})])
    assert not cited(normalised(f"It says ({ONE}).", known).text)


MIXED = f"It is wide [1]. It is deep (Source 2). The mole keeps silt out [@{A}]."


def test_statements_that_cite_by_marks_of_their_own_are_asked_again() -> None:
    (told,) = faults(MIXED, KNOWN)
    assert told == (
        f"2 statements cite by marks that name no passage ([1], (Source 2)): cite each as [@{A}] or [@{B}] or [@{C}]"
    )
    assert of_use(MIXED, KNOWN) == (MIXED, ""), "what it lost is told with the section"


@pytest.mark.parametrize(
    "text",
    [
        f"It is wide [1]. The mole keeps silt out [@{A}].",
        f"{'It is old [@' + A + ']. ' * 2}It is wide [1]. It is deep [2]. " + f"Dues paid [@{B}]. " * 20,
        f"It is wide [1] [@{A}]. It is deep [2] [@{A}].",
        f"From 1998 [sic] on, in [0, 1], it was 5 km² wide [@{A}].",
    ],
)
def test_a_trifle_is_not_asked_again(text: str) -> None:
    assert not [fault for fault in faults(text, KNOWN) if "marks" in fault]


def test_what_a_text_lost_is_told_with_its_title_and_number() -> None:
    said = "citation marks or lists of references of the model's own were left out"
    assert left_out("Depth", [normalised(MIXED, KNOWN), Draft("", 1, ())]) == (
        f"the text of 'Depth': {said} (3), for they name no passage, and 2 of its statements cite nothing without them"
    )
    assert left_out("Depth", [Draft("", 1)]) == f"the text of 'Depth': {said} (1), for they name no passage"
    assert left_out("Depth", [Draft("It is so.")]) == ""


def test_a_paragraph_that_stands_twice_stands_once() -> None:
    text = f"The mole keeps silt out of the bay [@{A}]."
    assert draft(f"{text}\n\nIt is old [@{B}].\n\n{text}") == f"{text}\n\nIt is old [@{B}]."
    assert draft(f"### Silt\n\n{text}\n\n### Silt\n\n{text}") == f"### Silt\n\n{text}"
    under = f"{text}\n\n### More\n\nIt is old [@{B}]."
    assert draft(f"### Silt\n\n{text}\n\n### More\n\n{text}\n\nIt is old [@{B}].") == f"### Silt\n\n{under}"


def test_what_is_short_or_cites_another_passage_or_is_code_may_stand_twice() -> None:
    text = "The mole keeps silt out of the bay"
    for twice in (
        f"{text} [@{A}].\n\n{text} [@{B}].",
        f"It is old.\n\nNew [@{A}].\n\nIt is old.",
        f"```\n{text}\n\n{text}\n```\n\nSo it is [@{A}].",
    ):
        assert draft(twice) == twice
