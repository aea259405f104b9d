"""Texts that a model should not have sent: refusals, talk, runaways, repeats, texts that cite nothing."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leadline_plugins.drafts import Known, normalised
from leadline_plugins.drafts.assistant import refuses, unaddressed, without_refusal
from leadline_plugins.drafts.faults import faults, of_use
from leadline_plugins.drafts.statements import cited_sentences

IDS = ("e49ee05564e", "e8fdb6267ad")
KNOWN = Known.of(IDS)
SOUND = "The harbour was sounded at nine fathoms by the mole [@e49ee05564e]."
OTHER = "Its keepers doubted the figures for many years after that [@e8fdb6267ad]."


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't write this section because the passages do not answer it [@e49ee05564e].",
        "I am sorry, I cannot help.",
        "Unfortunately, I am unable to write it.",
        "I cannot provide a section on that.",
        "As an AI language model, I cannot verify this.",
        "As an AI model I cannot give legal advice.",
        "Sure! Here is the section:\n\nI’m sorry, but I cannot write this.",
        "### Depth\n\nI'm sorry, but I cannot do that.",
        "Es tut mir leid, aber ich kann diesen Abschnitt nicht schreiben.",
        "Leider kann ich nicht helfen.",
        "Je suis désolé, mais je ne peux pas rédiger cette section.",
        "Lo siento, no puedo escribir esta sección.",
        "Mi dispiace, non posso scrivere questa sezione.",
        "К сожалению, я не могу написать этот раздел.",
        "很抱歉，我无法撰写本节。",
        "作为一个AI语言模型，我不能核实。",
        "申し訳ありませんが、この節は書けません。",
        "죄송합니다. 이 섹션을 작성할 수 없습니다.",
    ],
)
def test_a_refusal_is_seen_and_told(text: str) -> None:
    assert refuses(text)
    assert any(fault.startswith("it refuses") for fault in faults(text, KNOWN))
    assert of_use(text, KNOWN, asked=400)[0] == ""


@pytest.mark.parametrize(
    "text",
    [
        "Of course, zoos differ in size and in what they are for [@e49ee05564e].\n\nSo do aquaria [@e8fdb6267ad].",
        "Here are the main sources of income:\n\n- Fees [@e49ee05564e]\n- Gifts [@e8fdb6267ad]",
        "Here are the conclusions of the IPCC report:\n\n- It warms [@e49ee05564e].",
        "Here is the text of Article 5 of the treaty:\n\n> All shall pay [@e49ee05564e].",
        "This is the second paragraph of the treaty.\n\nIt says so [@e49ee05564e].",
        "“I'm sorry, but I can't stay,” the keeper said [@e49ee05564e].",
        "Sorry is a hard word, as keepers found [@e49ee05564e].",
        "As an AI market, China leads [@e49ee05564e].",
        "Apologies from the state came late [@e49ee05564e].",
        "It pays [@e49ee05564e].\n\nNote: figures are of 2019.",
        "It pays [@e49ee05564e].\n\nIf you need a licence, the harbour office sells one.",
        "这是该港口的历史。\n\n它很深 [@e49ee05564e]。",
        "Sure, zoos differ. They are old [@e49ee05564e].",
        "Here is the text of Article 5 of the treaty: all shall pay [@e49ee05564e].",
        "Here is the report that began it. It came in 1998 [@e49ee05564e].",
        "I have written evidence of it. So says the keeper [@e49ee05564e].",
        "Okay. It is so [@e49ee05564e].",
        "这是该港口的重要部分。它很深 [@e49ee05564e]。",
        "以下是三个原因：水深 [@e49ee05564e]。",
        "好的管理能提高效率 [@e49ee05564e]。",
        "以下是三个原因：\n\n- 水深 [@e49ee05564e]",
        "Hier sind drei Gründe zu nennen:\n\n- Die Tiefe [@e49ee05564e]",
    ],
)
def test_prose_that_sounds_alike_stays(text: str) -> None:
    assert not refuses(text)
    assert unaddressed(text) == text
    assert normalised(text, Known.of(IDS)).text == text


@pytest.mark.parametrize(
    "talk",
    [
        "Sure, here is a summary of the report.",
        "Sure! Here is the section you asked for:",
        "Certainly!",
        "Here is a summary of the main findings:",
        "Below is a short summary of the report.",
        "Natürlich! Hier ist der Abschnitt:",
        "好的，以下是关于港口的报告摘要。",
        "好的！以下为总结：",
        "以下是本节内容：",
    ],
)
def test_talk_on_the_line_of_the_text_goes(talk: str) -> None:
    said = "港口很深 [@e49ee05564e]。" if talk.endswith(("。", "：")) else SOUND
    assert unaddressed(f"{talk} {said}") == said


@pytest.mark.parametrize(
    ("before", "behind"),
    [
        ("Sure! Here is the section:", "I hope this section meets your requirements! Word count: 888."),
        ("Certainly!", "Let me know if you need anything else."),
        ("Here is the revised section you asked for:", "(Word count: 888)\n\n---\n*End of section*"),
        ("Okay, here's the text based on the passages provided:", "**Word count:** 312"),
        ("Gerne! Hier ist der Abschnitt:", "Ich hoffe, dieser Abschnitt hilft Ihnen."),
        ("Voici la section demandée :", "N'hésitez pas à me dire si cela convient."),
        ("Aquí está la sección:", "Espero que esto le sea útil."),
        ("好的，以下是该章节的正文：", "（字数：300）"),
        ("以下は本文です。", "文字数：300"),
    ],
)
def test_what_an_assistant_says_around_its_text_goes(before: str, behind: str) -> None:
    assert unaddressed(f"{before}\n\n{SOUND}\n\n{OTHER}\n\n{behind}") == f"{SOUND}\n\n{OTHER}"
    assert unaddressed(f"{before}\n{SOUND}") == SOUND
    assert normalised(f"{before}\n\n{SOUND}", Known.of(IDS)).text == SOUND


@pytest.mark.parametrize(
    "behind",
    [
        " As an AI model I cannot give legal advice.",
        " As an AI language model, I cannot verify this. I'm sorry, but I cannot say more.",
        "\n\nAs an AI model I cannot give legal advice.",
        "\n\nIn conclusion, it is important to note that harbours are a complex topic.",
        " 综上所述，值得注意的是，港口是一个复杂的话题。",
        "\n\n作为一个AI语言模型，我不能核实。",
    ],
)
def test_what_a_model_says_of_itself_at_the_end_of_a_text_goes(behind: str) -> None:
    said = f"{OTHER}\n\n{SOUND}"
    assert unaddressed(f"{said}{behind}") == said
    assert normalised(f"{said}{behind}", Known.of(IDS)).text == said


@pytest.mark.parametrize(
    "behind",
    [
        " As an AI model I cannot give legal advice [@e49ee05564e].",
        " In conclusion, it is important to note that it is 9 fathoms deep.",
        " In conclusion, it is deep.",
        " As an AI model, it leads [@e8fdb6267ad].",
    ],
)
def test_what_is_cited_or_has_a_figure_stays_at_the_end_of_a_text(behind: str) -> None:
    assert unaddressed(f"{SOUND}{behind}") == f"{SOUND}{behind}"


def test_a_refusal_before_a_text_goes_and_the_text_stays() -> None:
    said = f"As an AI language model, I cannot verify this. {SOUND}"
    assert without_refusal(said) == SOUND
    assert of_use(said, KNOWN) == (SOUND, "what the model says of itself is left out")


def test_a_text_that_cites_nothing_is_told_the_ids_and_how() -> None:
    (told,) = faults("It was sounded [1].", KNOWN)
    assert told.startswith(
        "it cites none of the passages: put the id of its passage right behind each statement, as [@e49ee05564e] or"
    )
    assert of_use("It was sounded.", KNOWN) == ("", "it cites nothing that was given")
    assert not list(faults("It was sounded (e49ee05564e).", KNOWN))


def test_a_sentence_that_stands_time_and_again_is_told_and_said_once() -> None:
    text = " ".join([SOUND, *[OTHER] * 200])
    (told,) = faults(text, KNOWN)
    assert told.startswith('it says the same 200 times ("Its keepers doubted')
    assert of_use(text, KNOWN) == (f"{SOUND} {OTHER}", "it said the same over and over, and says it once now")
    apart = "The harbour was sounded at nine fathoms. [@e49ee05564e]"
    assert of_use(" ".join([apart] * 9), KNOWN)[0] == apart
    assert not list(faults("Yes [@e49ee05564e]. Yes. Yes. Yes.\n\n| a | not told here at all |\n" * 2, KNOWN))


def test_a_runaway_is_told_and_cut_at_a_paragraph() -> None:
    paragraphs = [f"The harbour numbered {number} was sounded by its keepers [@e49ee05564e]." for number in range(400)]
    text = "\n\n".join(paragraphs)
    (told,) = faults(text, KNOWN, asked=200)
    assert told == "it is 4,000 words long, and about 200 were asked for: say it in that length"
    cut, done = of_use(text, KNOWN, asked=200)
    assert cut == "\n\n".join(paragraphs[:30])
    assert done == "it was far longer than asked, and is cut"
    (line, _), whole = of_use(text.replace("\n\n", " "), KNOWN, asked=200), paragraphs[:30]
    assert line == " ".join(whole)
    assert not list(faults(text, KNOWN, asked=0))


def test_a_line_where_many_passages_were_given_is_told_and_taken_where_it_comes_twice() -> None:
    (told,) = faults(SOUND, KNOWN, asked=400, held=300)
    assert told == "it is 11 words long, and about 400 were asked for: use more of the passages"
    assert of_use(SOUND, KNOWN, asked=400) == (SOUND, "it is shorter than asked, and was so twice")
    assert not list(faults(SOUND, KNOWN, asked=400, held=60)), "so little is told in a line"
    assert not list(faults(SOUND, KNOWN, asked=100, held=900))


@given(st.text(alphabet="ab .\n[@e1]|#-", max_size=200))
@settings(max_examples=200, deadline=None)
def test_sentences_with_their_citations_stand_in_their_order(text: str) -> None:
    spans = cited_sentences(text)
    assert all(start < end for start, end in spans)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    said, _ = of_use(text, Known.of(()))
    assert len(said) <= len(text)
