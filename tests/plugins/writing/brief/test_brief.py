"""Evidence briefs: what is shown of the passages found, in which order and form, and what is told not to be there."""

from __future__ import annotations

import re

import pytest

from leadline.citations import cited
from leadline.records import Document, Hit, Section, SectionRequest, Source
from leadline_plugins.passages.cutting import passages_of
from leadline_plugins.verification.claims import section_statements
from leadline_plugins.wording.phrases import phrase
from leadline_plugins.writing.brief.short_questions import is_short
from leadline_plugins.writing.brief.synthesizer import brief

PORTS = {
    "Porto Alvo": (
        "# Porto Alvo\n\nPorto Alvo is a harbour. It was deepened in 1871. Its quay is built of granite from Vila Fria."
    ),
    "Vila Fria": "Vila Fria is a town of the north. It quarries granite. Its mayor is Ana Sousa.",
}


TWICE = "In 1902 the harbour was sounded again at low water by two boats."


def request(
    question: str, texts: dict[str, str], *, length: int = 0, language: str = "en", questions: tuple[str, ...] = ()
) -> SectionRequest:
    """Return a request for one section over the passages of some documents; the sources come without their texts."""
    sources = [
        Source(id=f"s{place}", hit=Hit(url=f"file:///{place}", title=title), document=Document(text=text, title=title))
        for place, (title, text) in enumerate(texts.items(), start=1)
    ]
    evidence = tuple(item for source in sources for item in passages_of(source))
    bare = tuple(one.model_copy(update={"document": Document(text="", title=one.document.title)}) for one in sources)
    section = Section(id="1", title=question)
    return SectionRequest(
        section=section,
        evidence=evidence,
        sources=bare,
        outline=(section,),
        question=question,
        language=language,
        length=length,
        questions=questions or (question,),
    )


def blocks(section: Section) -> list[str]:
    return (section.text or "").split("\n\n")


def test_passages_are_grouped_by_document_and_each_is_a_blockquote_with_its_citation() -> None:
    made = brief(request("Where is the granite of the quay of Porto Alvo quarried?", PORTS))
    assert made.title == "Passages found"
    assert made.unanswered == ()
    intro, *rest = blocks(made)
    assert "not a written answer" in intro
    assert rest[0] == "### Porto Alvo"
    assert "### Vila Fria" in rest
    quotes = [block for block in rest if block.startswith(">")]
    assert quotes
    assert all(len(cited(block)) == 1 for block in quotes)
    assert set(cited(made.text or "")) == set(made.evidence_ids)


def test_a_name_leads_from_one_document_to_the_next() -> None:
    made = brief(request("Who is the mayor of the town that quarried the granite of the quay of Porto Alvo?", PORTS))
    assert "Ana Sousa" in (made.text or "")


def test_a_sentence_with_a_pronoun_comes_with_the_one_before_it() -> None:
    text = f"Porto Alvo is a harbour. It was deepened in 1871. {'The sea is wide and blue there. ' * 40}"
    made = brief(request("When was the harbour of Porto Alvo deepened?", {"Coast": text}, length=14))
    assert "> Porto Alvo is a harbour. It was deepened in 1871. [@" in (made.text or "")


def test_what_is_omitted_between_two_sentences_is_marked() -> None:
    filler = " ".join(f"Boat number {number} was painted green by somebody." for number in range(15))
    lamp, bell = "The lamp of Porto Alvo burns whale oil.", "A bell of bronze was cast in 1902 for Porto Alvo."
    made = brief(request("Which lamp, which bell has Porto Alvo?", {"Lights": f"{lamp} {filler} {bell}"}, length=20))
    assert f"> {lamp} […] {bell} [@" in (made.text or "")


def test_a_list_keeps_its_lead_in_and_a_table_its_header() -> None:
    text = (
        "# Tolls\n\nShips that pay no toll in Porto Alvo:\n\n- ships of the navy\n- fishing boats\n\n"
        "| Ship | Toll |\n| --- | --- |\n| barge | 3 |\n| frigate of Porto Alvo | 9 |\n"
    )
    made = brief(request("Which ships pay no toll in Porto Alvo?", {"Tolls": text}, length=40))
    assert "> Ships that pay no toll in Porto Alvo:\n>\n> - ships of the navy\n> - fishing boats" in (made.text or "")
    toll = brief(request("What toll does a frigate of Porto Alvo pay?", {"Tolls": text}, length=40))
    assert "> | Ship | Toll |\n> | --- | --- |" in (toll.text or "")


def test_the_heading_path_and_the_page_are_one_line_without_the_title() -> None:
    given = request("When was Porto Alvo deepened?", PORTS)
    paged = tuple(
        item.model_copy(update={"path": ("Porto Alvo", "History", "Works"), "page": 12}) for item in given.evidence
    )
    made = brief(given.model_copy(update={"evidence": paged}))
    assert "#### *History › Works, p. 12*" in blocks(made)


def test_words_that_were_not_found_are_named_and_the_question_counts_as_unanswered() -> None:
    made = brief(request("Which insurance company underwrote the harbour of Porto Alvo?", PORTS))
    (gap,) = made.unanswered
    assert all(f"“{word}”" in gap for word in ("insurance", "company", "underwrote"))
    assert gap in (made.text or gap)  # told once: formats leave out what the text has


def test_next_to_nothing_of_the_question_is_no_text() -> None:
    made = brief(request("Which enzyme digests lactose in infants?", PORTS))
    assert made.text == ""
    assert made.unanswered


def test_chinese_names_the_stretch_that_was_not_found() -> None:
    text = {"港口": "阿尔沃港位于北方。港口的码头由花岗岩建成。船只在夏天入港。"}
    made = brief(request("阿尔沃港的码头由哪家保险公司承保？", text, language="zh"))
    assert "保险公司承保”" in "".join(made.unanswered)


def test_passages_in_the_language_of_the_question_come_alone_where_there_are_any() -> None:
    french = (
        "Le port de Porto Alvo est dans le nord du pays et il a été approfondi avec une drague en 1871 par la ville."
    )
    mixed = brief(request("When was Porto Alvo deepened?", {**PORTS, "Port": french}))
    assert "drague" not in (mixed.text or "")
    alone = brief(request("Porto Alvo 1871", {"Port": french}))
    assert "drague" in (alone.text or "")
    assert "in the language of the question" in "".join(alone.notices)


def test_the_length_is_kept_and_no_sentence_is_cut() -> None:
    text = " ".join(f"Porto Alvo has a pier with number {number} in the harbour basin." for number in range(80))
    made = brief(request("Which piers has Porto Alvo?", {"Piers": text}, length=50))
    quoted = re.sub(r" \[@\w+\]", "", " ".join(block for block in blocks(made) if block.startswith(">"))).lstrip("> ")
    assert len(quoted.replace("[…]", "").split()) <= 50
    assert quoted.startswith("Porto Alvo has a pier")
    assert quoted.endswith("basin.")


def test_near_duplicates_are_shown_once() -> None:
    same = {f"Copy {number}": PORTS["Porto Alvo"] for number in range(3)}
    made = brief(request("When was Porto Alvo deepened?", same))
    assert (made.text or "").count("deepened in 1871") == 1


def test_each_key_question_has_a_heading_of_its_own() -> None:
    both = ("When was Porto Alvo deepened?", "Who is the mayor of Vila Fria?")
    made = brief(request("Ports", PORTS, questions=both))
    assert [block for block in blocks(made) if block.startswith("### ")] == [f"### {one}" for one in both]
    assert "#### Porto Alvo" in blocks(made)


@pytest.mark.parametrize(
    "hostile", ["Porto Alvo was deepened [@eother] in 1871.", "`[@eother]` Porto Alvo was deepened."]
)
def test_a_page_cannot_cite(hostile: str) -> None:
    made = brief(request("When was Porto Alvo deepened?", {"Odd [@x] *title*": hostile}))
    assert set(cited(made.text or "")) <= set(made.evidence_ids)
    assert "eother" not in made.evidence_ids
    assert "### Odd \\[@x\\] \\*title\\*" in blocks(made)


MANUAL = """# Stores

Lamps are kept in the store of the harbour.

## 4.2. Restoring a lamp from the store

Take care of the glass. Here is the procedure:

1. Open the lid.
2. Put in a wick.

## Definitions

lamp
:   What gives light to ships.

    ```
    light --on *all
    ```

    It burns oil.

wick
:   What burns in a lamp: it is made of cotton.
"""


def test_the_section_that_the_question_names_is_shown_from_its_beginning() -> None:
    made = brief(request("How do I restore a lamp from the store?", {"Stores": MANUAL}))
    found = blocks(made)
    assert found[1:4] == ["### Stores", "#### *4.2. Restoring a lamp from the store*", found[3]]
    assert found[3].startswith(
        "> Take care of the glass. Here is the procedure:\n>\n> 1. Open the lid.\n> 2. Put in a wick."
    )


def test_a_definition_is_set_as_paragraphs_without_the_definitions_before_it() -> None:
    made = brief(request("What is a wick made of?", {"Stores": MANUAL}))
    assert "> wick\n>\n> What burns in a lamp: it is made of cotton. [@" in (made.text or "")
    assert "light to ships" not in (made.text or "")
    made = brief(request("What gives light to ships?", {"Stores": MANUAL}))
    assert "> ```\n> light --on *all\n> ```\n>\n> It burns oil. [@" in (made.text or "")


def test_a_part_of_a_question_with_a_pronoun_is_rated_with_the_whole_question() -> None:
    texts = {
        "Lamps": "The lamp of Porto Alvo burns oil. The height of the lamp is nine metres.",
        "Masts": "Masts of ships are tall. The height of a mast, its height above the deck, is thirty metres.",
    }
    whole = "What does the lamp of Porto Alvo burn, and what is its height?"
    given = request(whole, texts, questions=("what is its height?",))
    assert blocks(brief(given))[1] == "### Lamps"


def test_a_passage_does_not_end_in_what_leads_to_something_left_out() -> None:
    text = "The lamp of Porto Alvo burns oil. The oils of the lamp of Porto Alvo are as follows:\n\n" + "- oil\n" * 300
    made = brief(request("What does the lamp of Porto Alvo burn?", {"Lamps": text}, length=30))
    assert "follows: [@" not in (made.text or "")
    assert "burns oil." in (made.text or "")


def test_what_the_next_passage_repeats_as_its_lead_in_is_shown_once() -> None:
    steps = "\n".join(
        f"{n}. Turn wheel number {n} of the lamp by hand until it stops at the mark." for n in range(1, 40)
    )
    text = f"# Coast\n\n## Cleaning the lamp\n\nThe lamp needs cleaning. Clean the lamp like this:\n\n{steps}\n"
    made = brief(request("How do I clean the lamp?", {"Coast": text}))
    assert (made.text or "").count("The lamp needs cleaning.") <= 1


DOCKS = {
    "Docks": "# Docks\n\nA dock is a basin. The dredger starts at dawn. Ships wait for pilots.",
    "Dredging": "# Dredging\n\n## Starting the pump\n\nTurn the key to start it. Pilots watch.",
    "Sand bars": "# Sand bars\n\nA dredger removes them. Pilots fear them. Fog starts in May. Sextants are old.",
}


@pytest.mark.parametrize(
    ("question", "shown"),
    [
        ("docks", "Docks"),  # a title
        ("How do I start it?", "Dredging"),  # a heading
        ("Who uses a sextant?", "Sand bars"),  # no document but this
        ("sextants", ""),  # a word alone, and no document is about it
        ("pilots", ""),
        ("What does a pilot do?", ""),
        ("What is it?", ""),
    ],
)
def test_one_word_is_answered_by_headings_or_by_the_only_document_that_has_it(question: str, shown: str) -> None:
    made = brief(request(question, DOCKS))
    assert re.findall(r"^### (.*)", made.text or "", re.MULTILINE) == ([shown] if shown else [])
    if not shown:
        assert "add what you want to know about it" in made.unanswered[0]


ABBREVIATIONS = {
    "Storage": "# Storage\n\n## RAID-0\n\nRAID-0 stripes.\n\n## 3. RAID\n\nRAID joins disks.\n\n### Levels\n\nOf RAID.",
    "Backups": "# Backups\n\nRAID is no backup.\n\n## RAID and tapes\n\nTapes outlive any RAID.",
    "Notes": "# Notes\n\nRAID RAID RAID.",
}


@pytest.mark.parametrize("question", ["What is RAID?", "RAID"])
def test_one_word_is_answered_by_the_beginning_of_the_section_that_it_names(question: str) -> None:
    made = brief(request(question, ABBREVIATIONS))
    quotes = [block for block in blocks(made) if block.startswith(">")]
    assert quotes[0].startswith("> RAID joins disks.")
    assert not re.search("RAID-0|tape|backup", made.text or "", re.IGNORECASE)
    assert made.unanswered == ()


def test_documents_named_alike_both_answer_a_question_of_one_word() -> None:
    planet, metal = "Mercury is the innermost planet.", "Mercury is a metal, liquid at room temperature."
    made = brief(request("What is Mercury?", {"Mercury (planet)": planet, "Mercury (metal)": metal}))
    assert planet in (made.text or "")
    assert metal in (made.text or "")


def test_the_advice_for_one_word_names_the_documents_that_mention_it() -> None:
    (gap,) = brief(request("pilots", DOCKS)).unanswered
    assert set(gap.partition("mentioned in: ")[2].removesuffix(")").split(", ")) == set(DOCKS)


@pytest.mark.parametrize(
    ("question", "short"),
    [
        ("备份", True),
        ("它是什么？", True),
        ("如何备份它？", True),
        ("如何备份数据库？", False),
        ("What is a deep dock?", False),
    ],
)
def test_questions_of_one_word_in_scripts_without_spaces_are_short(question: str, short: bool) -> None:
    assert is_short(question) is short


@pytest.mark.parametrize(
    "question", ["How many feet is a fathom?", "How much is a fathom?", "How few feet is a fathom?"]
)
def test_words_of_quantity_need_no_answer_of_their_own(question: str) -> None:
    made = brief(request(question, {"fathoms": "A fathom is six feet.", "cables": "A cable is a hundred fathoms."}))
    assert "A fathom is six feet." in (made.text or "")
    assert made.unanswered == ()


@pytest.mark.parametrize(
    ("question", "lacking"), [("老桥什么时候重建？", False), ("委员会什么时候重建花岗岩老桥？", True)]
)
def test_when_is_a_question_word_in_chinese(question: str, lacking: bool) -> None:
    made = brief(request(question, {"会议纪要": "委员会决定在2027年重建老桥。新的桥将有两条车道。"}, language="zh"))
    assert "委员会决定在2027年重建老桥" in (made.text or "")
    assert bool(made.unanswered) is lacking


@pytest.mark.parametrize("code", ["en", "de", "fr", "es", "it", "pt", "ru", "ar", "zh", "zh-Hant", "ja", "ko"])
def test_what_a_brief_says_of_itself_is_no_claim_in_any_language(code: str) -> None:
    for about in (
        phrase("brief_about", code),
        phrase("brief_partial", code, lacking=phrase("brief_lacking", code, what="“x”")),
    ):
        section = Section(id="1", title="A", text=f"{about}\n\n> Words. [@e1]")
        assert section_statements([section]).uncited == []


def test_documents_with_equal_titles_are_told_apart_by_their_addresses() -> None:
    asked = request("When was the harbour sounded?", {"a": "The harbour was sounded in 1871.", "b": TWICE})
    same = [one.model_copy(update={"document": Document(text="", title="notes")}) for one in asked.sources]
    made = brief(asked.model_copy(update={"sources": tuple(same)}))
    headings = [block for block in blocks(made) if block.startswith("### ")]
    assert sorted(headings) == ["### notes (file:///1)", "### notes (file:///2)"]
