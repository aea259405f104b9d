"""Briefs: which passages are shown, in which order and form, and which words of the question are missing."""

from __future__ import annotations

import pytest

from leadline.citations import cited
from leadline.records import Book, Document, Evidence, Hit, Section, Source, SynthesisRequest
from leadline_plugins.verification.claims import section_statements
from leadline_plugins.writing.brief import brief as brief_of
from leadline_plugins.writing.brief import chosen

DEPTH = "How deep is the harbour of Porto Alvo?"


def passage(text: str, score: float = 1.0, source: str = "s1", at: int = 0, **more: object) -> Evidence:
    return Evidence.model_validate(
        {
            "id": f"p{source}{at}",
            "source_id": source,
            "quote": text,
            "span": (at, at + len(text)),
            "score": score,
            **more,
        }
    )


def request(*evidence: Evidence, question: str = DEPTH, length: int = 0, language: str = "en") -> SynthesisRequest:
    names = dict.fromkeys(item.source_id for item in evidence)
    sources = tuple(
        Source(id=name, hit=Hit(url=f"file:///{name}", title=f"Title {name}"), document=Document(text=""))
        for name in names
    )
    outline = Section(id="1", title=question, evidence_ids=tuple(item.id for item in evidence))
    book = Book(outline=(outline,), evidence=evidence, sources=sources)
    return SynthesisRequest(book=book, sections=("1",), question=question, language=language, length=length)


def brief(asked: SynthesisRequest) -> Section:
    return brief_of(asked, asked.wanted[0])


def lines(section: Section) -> list[str]:
    return (section.text or "").split("\n")


def test_the_best_document_comes_first_and_its_passages_in_the_order_of_the_page() -> None:
    made = brief(
        request(
            passage("Later words.", 1.0, "s2", at=90, path=("Depth",)),
            passage("Another document.", 0.9, "s1"),
            passage("Earlier words.", 0.8, "s2", at=10, page=4),
        )
    )
    shown = [line for line in lines(made) if line.startswith((">", "#"))]
    assert shown == [
        "### Title s2",
        "#### *p. 4*",
        "> Earlier words. [@ps210]",
        "#### *Depth*",
        "> Later words. [@ps290]",
        "### Title s1",
        "> Another document. [@ps10]",
    ]
    assert set(made.evidence_ids) == set(cited(made.text or ""))


def test_a_further_passage_is_shown_from_half_of_the_best_score_and_within_the_room() -> None:
    words = [passage("word " * 30, score, at=number) for number, score in enumerate((1.0, 0.5, 0.49))]
    words[1] = passage("other " * 30, 0.5, at=1)
    assert len(chosen(words, 400, 0.5)) == 2
    assert len(chosen(words, 40, 0.5)) == 1
    assert len(chosen(words, 10, 0.5)) == 1, "the best one is shown whatever its length"
    assert len(chosen([words[0], passage("word " * 30, at=9)], 400)) == 1, "the same text is shown once"


def test_a_han_character_takes_half_the_room_of_a_word() -> None:
    characters = [passage("港" * 30, at=0), passage("深" * 30, at=40)]
    assert len(chosen(characters, 30)) == 2
    assert len(chosen(characters, 29)) == 1


def test_the_first_line_names_the_words_that_no_passage_has() -> None:
    made = brief(request(passage("The harbour of Porto Alvo."), question="Which cipher has the harbour?"))
    assert made.missing_words == ("cipher",)
    assert lines(made)[0] == "These words appear in none of the passages: “cipher”."
    assert (
        brief(request(passage("Its cipher.", path=("The harbour uses",)), question="cipher harbour")).missing_words
        == ()
    )


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://port.example/a(b)", "[Title s2, End](<https://port.example/a(b)>)"),
        ("knowledge://shared/0f95/minutes.docx", "[Title s2, End](<knowledge://shared/0f95/minutes.docx>)"),
        ("https://port.example/a> b", "Title s2, End"),
        ("local://local/minutes.docx", "Title s2, End"),
    ],
)
def test_a_further_place_is_a_link_where_a_reader_can_open_it(url: str, shown: str) -> None:
    asked = request(passage("It was dredged in 1871."), passage("Rest.", 0.1, "s2", path=("End",)))
    hit = Hit(url=url, title="Title s2")
    sources = [it.model_copy(update={"hit": hit}) if it.id == "s2" else it for it in asked.book.sources]
    book = asked.book.model_copy(update={"sources": tuple(sources)})
    made = brief(asked.model_copy(update={"book": book}))
    assert lines(made)[-1] == f"- {shown}"


def test_a_brief_claims_nothing() -> None:
    made = brief(
        request(passage("It was dredged in 1871 [3]. See [@p9]."), passage("Rest.", 0.1, at=99, path=("End",)))
    )
    assert made.quotes
    found = section_statements([made])
    assert not found.claims
    assert not found.uncited
    assert cited(made.text or "") == ["ps10"], "brackets of a page are no citations"
    assert lines(made)[-2:] == ["", "- Title s1, End"], "further places have no text"


def test_a_passage_keeps_its_lead_in_and_the_head_of_its_table() -> None:
    led = brief(request(passage("- one\n- two", lead="It needs:")))
    assert "> It needs:\n>\n> - one\n> - two [@ps10]" in (led.text or "")
    row = brief(request(passage("| 9 m | 1871 |", lead="Depths\n\n| depth | year |")))
    assert "> | depth | year |\n> | --- | --- |\n> | 9 m | 1871 |\n>\n> [@ps10]" in (row.text or "")


def test_a_brief_says_in_the_language_of_the_question_what_it_is() -> None:
    made = brief(request(passage("港口有多深。"), question="港口有多深？", language="zh"))
    assert "没有人核对过" in lines(made)[0]
    assert made.title == "找到的段落"
