"""A sentence said anew that only hides whom it is false of, or says again what stands beside it, is none."""

from __future__ import annotations

import pytest

from leadline.records import Document, Evidence, Hit, Report, Section, Source
from leadline_plugins.stages.claims import claims_of
from leadline_plugins.stages.evading import nameless, repeats
from leadline_plugins.stages.library import Library


def report(text: str, quote: str, under: str = "") -> Report:
    evidence = Evidence(id="e1", source_id="s1", quote=quote, span=(0, len(quote)), claim=quote, under=under)
    return Report(
        title="T",
        language="en",
        sections=(Section(id="1", title="The Americas", text=text),),
        sources=(Source(id="s1", hit=Hit(url="https://example.org/"), document=Document(text=quote)),),
        evidence=(evidence,),
    )


SCHOOLS = "Compulsory schooling was extended and civic education promoted."
ORE = "-grade iron ore mattered most."
IMPORTS = "The country was highly dependent on imports of most raw materials."


@pytest.mark.parametrize(
    ("old", "new", "quote", "under", "refused"),
    [
        (f"In Chile compulsory{SCHOOLS[10:]}", SCHOOLS, SCHOOLS, "Germany", True),
        (f"In Chile compulsory{SCHOOLS[10:]}", f"In Germany c{SCHOOLS[1:]}", SCHOOLS, "Germany", False),
        (f"In Chile compulsory{SCHOOLS[10:]}", SCHOOLS, SCHOOLS, "Chile", False),
        ("In Chile high-grade iron ore mattered most.", f"High{ORE}", f"High{ORE}", "Sweden", True),
        (IMPORTS.replace("The country", "Brazil"), IMPORTS, IMPORTS, "Japan", True),
        ("Brazil had oil and coal of its own.", "Imports of raw materials were needed.", IMPORTS, "Japan", False),
        ("Schools were extended by 1950.", "Schools were extended.", SCHOOLS, "", False),
        ("智利的义务教育延长了。", "义务教育延长了。", "义务教育延长了。", "德国", True),
        ("义务教育在全国大幅延长了。", "义务教育延长了。", "义务教育延长了。", "德国", False),
    ],
)
def test_a_wrong_name_taken_out_mends_nothing(old: str, new: str, quote: str, under: str, refused: bool) -> None:
    made = report(f"{old} [@e1]", quote, under)
    (claim,) = claims_of(made)
    assert nameless(new, claim, Library(made)) is refused


@pytest.mark.parametrize(
    ("new", "again"),
    [("Coal was imported by ship.", True), ("Schools were extended by law.", False), ("Coal was dear.", False)],
)
def test_what_a_neighbour_says_is_not_said_again(new: str, again: bool) -> None:
    made = report("Coal was imported by ship [@e1]. Oil was found [@e1]. Prices rose [@e1].", IMPORTS)
    assert repeats(new, claims_of(made)[1]) is again
