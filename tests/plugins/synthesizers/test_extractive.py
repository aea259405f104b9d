from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadline.citations import CITATION
from leadline.records import Evidence, Section, SectionRequest
from leadline.testing.context import FakeCall
from leadline_plugins.synthesizers.extractive import Extractive
from leadline_plugins.synthesizers.verbatim import markdown
from leadline_plugins.text import length


def piece(name: str, quote: str, source: str = "s") -> Evidence:
    return Evidence(id=name, source_id=source, quote=quote, span=(0, len(quote)), claim=quote)


def request(*evidence: Evidence, length: int = 0, language: str = "en") -> SectionRequest:
    section = Section(id="1", title="Bridge", evidence_ids=tuple(item.id for item in evidence))
    return SectionRequest(section=section, evidence=evidence, sources=(), length=length, language=language)


async def written(*evidence: Evidence, length: int = 0, language: str = "en") -> Section:
    return await Extractive().synthesize(request(*evidence, length=length, language=language), FakeCall())


def unescaped(text: str) -> str:
    return " ".join(re.sub(r"\\(?=[\\`*_\[\]<|~$&!#])", "", text).split())


async def test_quotes_of_one_source_are_one_paragraph() -> None:
    section = await written(
        piece("a", "It stands."), piece("b", "Ada built the tower."), piece("c", "Copper is soft.", "t")
    )
    assert section.text == "It stands. [@a] Ada built the tower. [@b]\n\nCopper is soft. [@c]"


async def test_list_items_and_code_stand_alone() -> None:
    section = await written(piece("a", "- the first thing"), piece("b", "It stands."), piece("c", "```\nx = 1\n```"))
    assert section.text == "- the first thing [@a]\n\nIt stands. [@b]\n\n```\nx = 1\n```\n[@c]"


async def test_near_repetitions_are_dropped() -> None:
    section = await written(
        piece("a", "Ada built the old bridge."), piece("b", "The old bridge was built by Ada.", "t")
    )
    assert section.evidence_ids == ("a",)


async def test_the_length_is_kept_in_words_and_in_characters() -> None:
    words = await written(piece("a", "One two three."), piece("b", "Four five six seven."), length=6)
    assert words.evidence_ids == ("a",)
    characters = await written(piece("a", "桥很长。"), piece("b", "塔很高也很旧。"), length=10, language="zh")
    assert characters.evidence_ids == ("a",)


async def test_a_section_without_evidence_has_no_text() -> None:
    assert (await written()).text == ""


@pytest.mark.parametrize(
    ("quote", "expected"),
    [
        ("Call __init__ with *args and snake_case.", r"Call \_\_init\_\_ with \*args and snake_case. [@e]"),
        ("Use ``a * b`` or `c_`.", "Use ``a * b`` or `c_`. [@e]"),
        ("A **bold word.**", "A **bold word.** [@e]"),
        ("See [1] and <b>.", r"See \[1\] and \<b>. [@e]"),
        ("Costs $5 &amp; R&D.", r"Costs \$5 \&amp; R&D. [@e]"),
        ("| a | b |", r"\| a \| b \| [@e]"),
        ("1. First\nthing", "1. First thing [@e]"),
    ],
)
def test_markup_in_a_quote_reads_as_it_stands(quote: str, expected: str) -> None:
    assert markdown(quote, "[@e]") == expected


QUOTES = st.lists(
    st.text(st.sampled_from("abcdef ghi jkl.*_[]`<|~$&桥塔。\\!#\n"), min_size=1, max_size=60).filter(str.strip),
    max_size=6,
)


@given(QUOTES, st.integers(0, 40))
async def test_every_sentence_is_a_quote_cited_once(quotes: list[str], room: int) -> None:
    evidence = [piece(f"e{n}", quote.strip(), f"s{n % 2}") for n, quote in enumerate(quotes)]
    section = await written(*evidence, length=room)
    by_id = {item.id: item.quote for item in evidence}
    *said, rest = CITATION.split(section.text or "")
    assert said[1::2] == list(section.evidence_ids)
    assert not rest
    for claim, name in zip(said[::2], said[1::2], strict=True):
        assert unescaped(claim) == unescaped(by_id[name])
    if room:
        assert sum(length(by_id[name], "en") for name in section.evidence_ids) <= room
