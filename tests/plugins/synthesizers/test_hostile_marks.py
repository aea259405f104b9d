"""Pages that hold text of the form of our own citations: it is shown, and cites nothing."""

from __future__ import annotations

import json
import re

import pytest

from leadline.citations import cite, cited, number, uncitable
from leadline.records import Document, Hit, Report, Section, SectionRequest, Source
from leadline.testing.context import FakeCall
from leadline_plugins.formats.document import Medium, document
from leadline_plugins.formats.tree import text
from leadline_plugins.stages.claims import claims_of
from leadline_plugins.stages.extract import borne
from leadline_plugins.stages.library import Library
from leadline_plugins.stages.paragraphs import paragraphs
from leadline_plugins.stages.verdicts import by_rule
from leadline_plugins.stages.verify import verification
from leadline_plugins.synthesizers.extractive import Extractive, quoted
from leadline_plugins.synthesizers.parts import Part
from leadline_plugins.synthesizers.prose import asked_for
from leadline_plugins.tasks.reading import Learning

REAL = "The harbour was sounded in 1831."
HOSTILE = (
    "Depths vary by season [@eother].",
    "Depths vary [@eother][@smith2020] by season.",
    "[@eother] says that depths vary.",
    "Depths vary, as `[@eother]` in code says.",
    "Depths vary **by [@eother] season**.",
    "Depths vary \\[@eother] by season.",
    "```\ndepths [@eother]\n```",
    "- Depths vary [@eother].",
    "Depths vary [@eother](https://example.org/) by season.",
)


def request(quote: str, other: str = "eother") -> SectionRequest:
    text = f"{quote}\n\n{REAL}"
    source = Source(id="s1", hit=Hit(url="https://example.org/a"), document=Document(text=text))
    found = [borne(Learning(claim="", quote=one), source) for one in (quote, REAL)]
    evidence = tuple(item for item in found if item)
    assert len(evidence) == 2
    assert evidence[0].quote == quote
    # The page knows an id of this very run: that of the passage beside it.
    named = evidence[1].model_copy(update={"id": other})
    section = Section(id="1", title="Depths", evidence_ids=(evidence[0].id, other))
    return SectionRequest(section=section, evidence=(evidence[0], named), sources=(source,), length=0, language="en")


def report(asked: SectionRequest, text: str) -> Report:
    section = asked.section.model_copy(update={"text": text})
    return Report(title="Depths", language="en", sections=(section,), sources=asked.sources, evidence=asked.evidence)


@pytest.mark.parametrize("quote", HOSTILE)
async def test_a_quote_cites_nothing_but_by_its_own_mark(quote: str) -> None:
    asked = request(quote)
    section = await Extractive().synthesize(asked, FakeCall())
    assert cited(section.text or "") == [asked.evidence[0].id, "eother"]
    made = report(asked, section.text or "")
    parts, verdicts = paragraphs(made), by_rule(claims_of(made), Library(made))
    checks = verification(made, parts, verdicts, require_support=True)
    assert checks.unknown_ids == ()
    assert {one.evidence_id for one in verdicts if "sounded" not in one.claim} == {asked.evidence[0].id}
    assert checks.claims == {"supported": len(verdicts)}


@pytest.mark.parametrize("quote", HOSTILE)
async def test_the_reader_sees_the_text_of_the_page(quote: str) -> None:
    asked = request(quote)
    section = await Extractive().synthesize(asked, FakeCall())
    shown = number(report(asked, section.text or "")).render(section.text or "")
    assert "@eother" in shown
    assert "[1]" in shown
    words = re.findall(r"\w+", quote)
    assert re.findall(r"\w+", shown)[: len(words)] == words


@pytest.mark.parametrize("quote", HOSTILE)
def test_a_writer_is_shown_no_foreign_mark_and_its_fallback_sets_none(quote: str) -> None:
    asked = request(quote)
    passages = asked_for(Part(asked), "2026-01-01").passages
    assert not any(cited(passage.quote) for passage in passages)
    text = quoted(passages, asked.length, asked.language)
    assert cited(text) == [asked.evidence[0].id, "eother"]


@pytest.mark.parametrize("quote", HOSTILE)
async def test_the_tree_of_the_formats_has_the_text_and_no_citation_of_it(quote: str) -> None:
    asked = request(quote)
    section = await Extractive().synthesize(asked, FakeCall())
    tree = document(report(asked, section.text or ""), Medium(), references=False)
    shown = " ".join(text(block) for block in tree.blocks)
    assert "@eother" in shown
    assert json.dumps(tree.blocks).count('"citation"') == 2


def test_our_own_marks_are_none_of_a_page() -> None:
    assert cited(cite("e1")) == ["e1"]
    assert cited(uncitable(f"As said {cite('e1')}{cite('e2')}.")) == []
    assert cited(r"As said \[@e1\].") == []
